"""Handles the messages of `analyze-articles`, and decides when an article that fails is tried again.

An article that fails beside others gets a message of its own. A message of one article that fails is delivered again by
the queue; at the fifth delivery, the article becomes an error that can be seen. `clean_up` retries errors until
MOST_ATTEMPTS are used up.

The articles of a message are analysed in portions, of which a worker works on a few at once: the Functions host gives
it 24 messages at once, which would slow each other down until none ends in time. What has no turn before the deadline
is near is sent again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isqrt
from typing import cast

from models.article import Article, ArticleDocument
from models.errors import ChangedMeanwhile, ToolpulseError, Unavailable
from models.values import format_time
from services import deadline
from services.logs import log_event
from services.mentions.messages import MOST_ARTICLES, article_messages
from services.mentions.understanding import fingerprint
from services.mentions.writing import MentionWriter, WriteReport, is_analysed
from services.ports import Clock, Document, Query, Replace, Store, Where
from services.store.containers import ARTICLES
from services.topology import LAST_DELIVERY

log = logging.getLogger("toolpulse.analysis")

SPLIT_AT_DELIVERY = 3
"""From this delivery on, a message of several articles is split into about as many messages as each of them then has
articles; after a second time, an article that kills the process does so alone. The messages of a host that was killed
are split too, so they must not become too many."""
PORTION = 50
PORTIONS_AT_ONCE = 4
"""Of all messages that a worker handles."""
MOST_ATTEMPTS = 15
ERRORS_RETRIED_AFTER = timedelta(hours=1)
MOST_AT_ONCE = 500
_TRIES = 8


class AnalysisFailed(ToolpulseError):
    """One article could not be analysed. The queue must deliver its message again."""


@dataclass(frozen=True, slots=True)
class Handled:
    """How many articles were analysed, and the messages to send: for articles that are tried again alone, and for
    those that had no turn in time."""

    analyzed: int
    alone: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def _handled(analyzed: int, again: Sequence[str], left: Sequence[str] = (), most: int = MOST_ARTICLES) -> Handled:
    return Handled(analyzed, tuple(article_messages(again, 1)), tuple(article_messages(left, most)))


class AnalysisHandler:
    """`on_analyzed` is told since when the analyses that are done were due."""

    def __init__(
        self,
        store: Store,
        writer: MentionWriter,
        clock: Clock,
        on_analyzed: Callable[[Sequence[datetime]], None] = lambda due_since: None,
    ) -> None:
        self._store = store
        self._writer = writer
        self._on_analyzed = on_analyzed
        self._clock = clock
        self._turns = asyncio.Semaphore(PORTIONS_AT_ONCE)

    async def handle(self, source_ids: Sequence[str], delivery: int = 1) -> Handled:
        """Raises AnalysisFailed if the article of a message with one article failed, and Unavailable if the store or
        the analyzer did not answer."""
        if not source_ids:
            return Handled(0)
        if len(source_ids) > 1 and delivery >= SPLIT_AT_DELIVERY:
            return Handled(0, tuple(article_messages(source_ids, isqrt(len(source_ids)))))
        if delivery >= LAST_DELIVERY:
            await self._note_failure(source_ids[0], None, last=True)
            return Handled(0)
        analyzed, again = 0, list[str]()
        for start in range(0, len(source_ids), PORTION):
            portion, rest = source_ids[start : start + PORTION], source_ids[start:]
            try:
                report = await self._analyzed(portion)
            except Unavailable:
                if not deadline.is_near() or len(source_ids) == 1:
                    raise
                # It was waiting for a busy store. In smaller messages it ends in time.
                return _handled(analyzed, again, rest, most=max(1, len(portion) // 2))
            if report is None:
                log_event(log, logging.DEBUG, "articles_left_for_later", articles=len(rest), reason="deadline")
                return _handled(analyzed, again, rest)
            analyzed += len(report.done)
            again += [each for each in report.failed if each not in report.permanent]
            if again and len(source_ids) == 1:
                await self._note_failure(again[0], report.failed[again[0]], last=False)
                raise AnalysisFailed(f"article {again[0]}: {report.failed[again[0]]}")
        return _handled(analyzed, again)

    async def _analyzed(self, portion: Sequence[str]) -> WriteReport | None:
        """None if the deadline was near before the portion had its turn."""
        async with deadline.turn(self._turns) as has_turn:
            if not has_turn:
                return None
            report = await self._writer.write(portion, only_due=True)
        self._on_analyzed(report.due_since)
        log_event(
            log,
            logging.WARNING if report.failed else logging.INFO,
            "articles_analyzed",
            articles=len(report.done),
            mentions=report.written,
            removed=report.removed,
            failed=len(report.failed),
        )
        for source_id, article in report.permanent.items():
            await self._note_failure(source_id, report.failed[source_id], last=True, permanent=article)
        return report

    async def retry_errors(self, now: datetime) -> list[str]:
        """Makes articles pending that have been errors for ERRORS_RETRIED_AFTER and have attempts left.

        The caller must send messages for the returned articles.
        """
        long_ago = Where("updated_at", "le", format_time(now - ERRORS_RETRIED_AFTER))
        left = Where("analysis_attempts", "lt", MOST_ATTEMPTS)
        return await self._make_pending((long_ago, left), MOST_AT_ONCE, {}, now)

    async def reset_errors(self, limit: int) -> list[str]:
        """Makes articles that are errors pending as if they had never been tried.

        The caller must send messages for the returned articles.
        """
        return await self._make_pending((), limit, {"analysis_attempts": 0}, self._clock())

    async def _make_pending(
        self, which: tuple[Where, ...], limit: int, more: ArticleDocument, now: datetime
    ) -> list[str]:
        where = (Where("status", "eq", "error"), Where("deleted_at", "missing"), *which)
        page = await self._store.query(ARTICLES.name, Query(where, order="by_status", limit=limit))
        at = format_time(now)
        pending: ArticleDocument = {"status": "pending", "updated_at": at, "resent_at": at, "analysis_due_since": at}
        after: list[ArticleDocument] = [
            {**each, **pending, **more} for each in cast("list[ArticleDocument]", page.items)
        ]
        replaced = await self._replace(after)
        return [each["source_id"] for each, is_replaced in zip(after, replaced, strict=True) if is_replaced]

    async def _note_failure(
        self, source_id: str, why: str | None, *, last: bool, permanent: Article | None = None
    ) -> None:
        """Counts the attempt; after the `last` of a message, the article becomes an error, and keeps the scores and
        mentions that it has. An article that another message has had analysed meanwhile stays as it is; and so does one
        that changed since it was `permanent`: another try is due."""
        for _ in range(_TRIES):
            document = await self._store.read(ARTICLES.name, source_id, Article.ID)
            if document is None or document.get("deleted_at") or is_analysed(document):
                return
            if permanent is not None and _words_of(document) != _words_of(permanent.to_document()):
                return
            after = cast("ArticleDocument", document)
            attempts = MOST_ATTEMPTS if permanent is not None else (after.get("analysis_attempts") or 0) + 1
            after["analysis_attempts"] = attempts
            after["last_error_fingerprint"] = why or after.get("last_error_fingerprint") or fingerprint("process died")
            if last:
                after["updated_at"] = format_time(self._clock())
                after["status"] = "error"
                after.pop("analysis_due_since", None)
            if await self._replace([after]) == [True]:
                if last:
                    log_event(log, logging.ERROR, "article_given_up", source_id=source_id, attempts=attempts)
                return
        raise ChangedMeanwhile(f"article {source_id} keeps changing")

    async def _replace(self, articles: Sequence[ArticleDocument]) -> list[bool]:
        """False for an article that another writer changed first. Takes documents instead of models, since an article
        that its model cannot read is written too."""
        batches = [(each["source_id"], [Replace(each, each["_etag"])]) for each in articles]
        return [isinstance(outcome, list) for outcome in await self._store.batch_many(ARTICLES.name, batches)]


def _words_of(article: Document) -> tuple[object, object]:
    """What names the words that are judged."""
    return article["canonical"].get("revision"), article.get("full_text")
