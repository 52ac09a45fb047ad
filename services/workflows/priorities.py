"""Applies a feed's changed source priority to its stored articles, as if the feed had always had the present one.

Each article keeps a copy of the priorities of its sources, so that its canonical reading can be chosen without reading
feeds. Articles that are written while a priority changes get the present one from services/articles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from models.article import Article, ArticleDocument
from models.errors import Unavailable, UnreadableDocument
from models.feed import Feed
from models.run import JobRun
from models.values import format_time
from services.articles.merge import priority_of, with_priority
from services.mentions.understanding import fingerprint
from services.mentions.writing import MentionWriter
from services.ports import Clock, Query, Replace, Store, Where
from services.runs.driver import PageResult, page_after
from services.store.containers import ARTICLES, FEEDS

PAGE = 200
ROUNDS = 20
"""How often articles that other writers change are tried. In each round at least one of the writers succeeds."""


@dataclass(frozen=True, slots=True)
class Priorities:
    """A workflow: `subject` is the feed. Its pages are the feed's articles by their published time.

    Each page reads the feed's present priority, so that of two changes the later one wins. If the priority changes
    during the run, the run begins again at the first article.
    """

    store: Store
    writer: MentionWriter
    clock: Clock

    async def page(self, run: JobRun) -> PageResult:
        feed_id = run.subject or ""
        priority = await self._priority_of(feed_id)
        if priority is None:
            return PageResult(None)  # the feed is gone; its articles keep the priority that it had
        after = page_after(run) if (run.checkpoint or {}).get("priority") == priority else None
        where = (Where("sources", "contains", feed_id), Where("deleted_at", "missing"))
        page = await self.store.query(ARTICLES.name, Query(where, order="by_time", limit=PAGE, after=after))
        found = cast("list[ArticleDocument]", page.items)
        articles, failed = await self._rewritten(found, feed_id, priority)
        # An earlier try may have rewritten articles and died before their analysis: these are found here too.
        outdated = [each["source_id"] for each in articles if has_outdated_figures(each)]
        report = await self.writer.write(outdated)
        counts = {"articles": len(page.items), "analyzed": len(report.done)}
        is_last = page.next is None and await self._priority_of(feed_id) in (priority, None)
        checkpoint = None if is_last else {"priority": priority, "after": page.next}
        return PageResult(checkpoint, len(page.items), counts, {**report.failed, **failed})

    async def _priority_of(self, feed_id: str) -> int | None:
        """None if the feed is gone."""
        feed = await self.store.read(FEEDS.name, feed_id, Feed.ID)
        return None if feed is None else Feed.from_document(feed).source_priority

    async def _rewritten(
        self, articles: Sequence[ArticleDocument], feed_id: str, priority: int
    ) -> tuple[list[ArticleDocument], dict[str, str]]:
        """The articles as stored with this priority; and by id, the reason for each that could not be rewritten."""
        now = format_time(self.clock())
        done: list[ArticleDocument] = []
        failed: dict[str, str] = {}
        waiting = {each["source_id"]: each for each in articles}
        for _ in range(ROUNDS):
            changed: dict[str, ArticleDocument] = {}
            for source_id, article in waiting.items():
                try:
                    after = with_present_priority(article, feed_id, priority, now)
                except (UnreadableDocument, KeyError) as error:
                    failed[source_id] = fingerprint(type(error).__name__)
                    continue
                if after is article:
                    done.append(article)
                else:
                    changed[source_id] = await self._with_text(article, after)
            if not changed:
                return done, failed
            batches = [(name, [Replace(after, waiting[name]["_etag"])]) for name, after in changed.items()]
            outcomes = dict(zip(changed, await self.store.batch_many(ARTICLES.name, batches), strict=True))
            done += [after for name, after in changed.items() if isinstance(outcomes[name], list)]
            raced = [(name, Article.ID) for name, outcome in outcomes.items() if not isinstance(outcome, list)]
            found = cast("list[ArticleDocument | None]", await self.store.read_many(ARTICLES.name, raced))
            waiting = {each["source_id"]: each for each in found if each is not None}
        raise Unavailable(f"{len(waiting)} articles kept changing", retry_after=1.0)

    async def _with_text(self, article: ArticleDocument, after: ArticleDocument) -> ArticleDocument:
        """`after` with the text of its canonical reading, if its source is another than before."""
        reading = after["canonical"]
        if reading["source"] == article["canonical"]["source"]:
            return after
        observed = await self.store.read(ARTICLES.name, article["source_id"], reading["observation_id"])
        with_text: ArticleDocument = {**after, "text_for_analysis": observed.get("text") if observed else None}
        # Without `analyzed_revision` the article is analysed again even if its last analysis was of this reading: a
        # worker that has died since may have written mentions of another reading.
        with_text.pop("analyzed_revision", None)
        return with_text


def with_present_priority(article: ArticleDocument, feed_id: str, priority: int, now: str) -> ArticleDocument:
    """The article with this priority; the same object if nothing changes. Raises UnreadableDocument, and KeyError if a
    source lacks a field by which readings are chosen."""
    is_deleted = Article.from_document(article).deleted_at is not None
    if is_deleted or priority_of(article["source_attribution"][feed_id]) == priority:
        return article
    return with_priority(article, feed_id, priority, now)


def has_outdated_figures(article: ArticleDocument) -> bool:
    """Whether the last analysis read another reading than the present one. A pending article has a message for its
    analysis already."""
    is_analyzed = article["status"] == "analyzed" and not article.get("deleted_at")
    return is_analyzed and article.get("analyzed_revision") != article["canonical"]["revision"]
