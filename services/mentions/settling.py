"""Makes the stored mentions of articles be what the articles say, whatever was stored before and whoever writes too.

In an order that a crash anywhere leaves fit to be done again:
    the article lists every tool that may have a mention of it, before there is one, and for ever
    (`tool_ids_ever_detected`): whatever a stale worker wrote is found by the next;
    mentions are read, then the article is confirmed, then they are written by their ETags: a stale article never wins;
    hours are marked, also of mentions that were right already, since a crash may have come before the mark;
    the tools are looked at once more, since a merge may have come between; the article is written, or confirmed, last.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from models.article import Article
from models.errors import ChangedMeanwhile, Conflict, Unavailable
from models.mention import SentimentScore
from models.tool import Tool
from services.mentions.analyzers.port import Analyzer, NotJudged
from services.mentions.dirty_hours import mark_hours
from services.mentions.mentions import discovery, published_at
from services.mentions.scoring import conclude
from services.mentions.works import (
    MentionKey,
    Version,
    Work,
    fingerprint,
    finished,
    gone,
    listing,
    staying,
    understand,
    wanted,
)
from services.ports import Clock, Document, Page, Store
from services.store.containers import ARTICLES, CATALOG, MENTIONS
from services.store.listed import listed
from services.tools.catalog import Catalog
from services.tools.detector import Detector
from services.tools.watchlist import Watchlist

log = logging.getLogger("toolpulse.analysis")

ROUNDS = 20
"""Of settling one article that others write too; in each, somebody got on."""
WRITING_AT_ONCE = 16
UNREADABLE = fingerprint("a mention that cannot be read")
UNREADABLE_TOOL = fingerprint("a tool that cannot be read")
INLINE = 8
"""Articles that are understood in a millisecond or two; more, and the event loop is left meanwhile."""


@dataclass(slots=True)
class Settled:
    """What came of the articles, by id. `failed` has why, as a fingerprint fit for logs; `hopeless`: for good."""

    done: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    hopeless: set[str] = field(default_factory=set)
    written: int = 0
    removed: int = 0


class Settling:
    def __init__(self, store: Store, catalog: Catalog, watchlist: Watchlist, analyzer: Analyzer, clock: Clock) -> None:
        self._store = store
        self._catalog = catalog
        self._watchlist = watchlist
        self._analyzer = analyzer
        self._clock = clock

    @property
    def scored_by(self) -> str:
        """What scores are made with now: another one is a reason to offer a reanalysis."""
        return "/".join(self._version)

    async def settle(self, source_ids: Sequence[str], only: frozenset[str] | None = None) -> Settled:
        """Analyses the articles; with `only`, nothing but what they say about these tools, or those they merged into.

        An article that cannot be understood or judged fails alone. Raises Unavailable if nobody could be asked.
        """
        settled = Settled()
        waiting = list(dict.fromkeys(source_ids))
        detector = await self._watchlist.detector()
        for _ in range(ROUNDS):
            if only is not None:
                only = await self._with_targets(only)
            works = await self._understood(waiting, detector, only, settled)
            tools = await self._tools(works, settled)
            works = [work for work in works if work.id not in settled.failed]
            if gone(works, tools):
                detector = await self._watchlist.detector(anew=True)
                continue
            waiting = await self._round(works, tools, settled, whole=only is None)
            if not waiting:
                return settled
            detector = await self._watchlist.detector()
        raise Unavailable(f"{len(waiting)} articles keep changing", retry_after=1.0)

    async def _understood(
        self, source_ids: Sequence[str], detector: Detector, only: frozenset[str] | None, settled: Settled
    ) -> list[Work]:
        """Without those that are no more, and those that fail."""
        found = await self._store.read_many(ARTICLES.name, [(each, Article.ID) for each in source_ids])
        settled.done |= {source_id for source_id, document in zip(source_ids, found, strict=True) if document is None}
        there = [document for document in found if document is not None]

        def understood() -> list[Work]:
            works: list[Work] = []
            for document in there:
                try:
                    works.append(understand(document, detector, only))
                except Exception as error:
                    # One article, whatever is wrong with it, is not to hold up the others; id and traceback tell.
                    source_id = document["source_id"]
                    log.exception("article_not_understood source_id=%s", source_id)
                    settled.failed[source_id] = fingerprint(type(error).__name__)
            return works

        return understood() if len(there) <= INLINE else await asyncio.to_thread(understood)

    async def _tools(self, works: Sequence[Work], settled: Settled) -> dict[str, Tool]:
        """The tools that these works are about, as they are now. An article fails if one of its own cannot be read: to
        go by the others would take its mention away. What was deleted needs none."""
        known = await self._catalog.known(sorted({tool_id for work in works for tool_id in work.tools}))
        for work in works:
            if work.questions is not None and not work.tools.isdisjoint(known.unreadable):
                settled.failed[work.id] = UNREADABLE_TOOL
        return {tool.tool_id: tool for tool in known.items}

    async def _with_targets(self, only: frozenset[str]) -> frozenset[str]:
        """A merged tool's mentions become the other's."""
        while True:
            tools = (await self._catalog.known(sorted(only))).items
            more = only | {tool.merged_into for tool in tools if tool.merged_into is not None}
            if more == only:
                return only
            only = more

    async def _round(self, works: list[Work], tools: Mapping[str, Tool], settled: Settled, *, whole: bool) -> list[str]:
        """The ids of the articles that somebody else wrote meanwhile: to be understood anew."""
        await self._judge(works, settled)
        works = [work for work in works if work.id not in settled.failed]
        before = await self._mentions([work for work in works if work.tools], settled)
        works = [work for work in works if work.id not in settled.failed]
        concerned = [work for work in works if work.tools]
        raced = await self._confirm(concerned)
        going = [work for work in concerned if work.id not in raced]
        for work in going:
            work.staying = staying(work, tools, before)
        tools = await self._with_discoveries(going, tools)
        raced |= await self._write_mentions(going, tools, before, settled)
        going = [work for work in going if work.id not in raced]
        await self._mark(going, before)
        moved = gone(going, await self._tools(going, settled))
        works = [work for work in works if work.id not in settled.failed]
        raced |= {work.id for work in going if moved & work.detected.keys()}
        raced |= await self._finish([work for work in works if work.id not in raced], whole=whole)
        settled.done |= {work.id for work in works} - raced
        return sorted(raced)

    async def _judge(self, works: Sequence[Work], settled: Settled) -> None:
        """All texts of all articles are asked about at once."""
        asked = [(work, work.questions) for work in works if work.questions is not None]
        texts = [text for _, questions in asked for text in questions.texts]
        answers = await self._analyzer.analyze(texts) if texts else []
        begin = 0
        for work, questions in asked:
            end = begin + len(questions.texts)
            work.scores = conclude(questions, answers[begin:end])
            begin = end
            if isinstance(work.scores.article, NotJudged):
                settled.failed[work.id] = fingerprint(work.scores.article.reason)
                settled.hopeless.add(work.id)

    async def _mentions(self, works: Sequence[Work], settled: Settled) -> dict[MentionKey, SentimentScore]:
        """Those that there are. An article fails if one of its own cannot be read."""
        keys = [(tool_id, work.id) for work in works for tool_id in sorted(work.tools)]
        found = await self._store.read_many(MENTIONS.name, keys) if keys else []
        page = listed(Page([each for each in found if each is not None]), SentimentScore.from_document, "id")
        settled.failed |= dict.fromkeys(page.unreadable, UNREADABLE)
        return {(each.tool_id, each.source_id): each for each in page.items}

    async def _confirm(self, works: Sequence[Work]) -> set[str]:
        """Lists new tools in their articles; sees that the other articles are still the ones that were understood."""
        raced: set[str] = set()
        listed = [work for work in works if not work.tools <= set(work.article.tool_ids_ever_detected)]
        for work, stored in zip(listed, await self._replace_all(map(listing, listed)), strict=True):
            if stored is None:
                raced.add(work.id)
            else:
                work.article = Article.from_document(stored)
        ids = {work.id for work in listed}
        return raced | await self._changed([work for work in works if work.id not in ids])

    async def _changed(self, works: Sequence[Work]) -> set[str]:
        """The ids of the articles that are no longer the ones that were understood."""
        if not works:
            return set()
        found = await self._store.read_many(ARTICLES.name, [(work.id, Article.ID) for work in works])
        return {
            work.id
            for work, document in zip(works, found, strict=True)
            if document is None or document["_etag"] != work.article.stored_etag
        }

    async def _with_discoveries(self, works: Sequence[Work], tools: Mapping[str, Tool]) -> dict[str, Tool]:
        """The tools, each with its first reference: of those that have none yet, the earliest of these articles."""
        known = dict(tools)
        for tool_id, tool in tools.items():
            naming = [work.article for work in works if tool_id in work.detected]
            if tool.discovery_reference is None and naming:
                first = min(naming, key=lambda article: (published_at(article), article.source_id))
                day = published_at(first).date().isoformat()
                known[tool_id] = await self._catalog.note_discovery(tool_id, first.source_id, day, self.scored_by)
        now = self._clock()
        references = [
            discovery(tool_id, work.article, now).to_document()
            for work in works
            for tool_id in work.detected
            if tool_id in known and known[tool_id].discovery_reference == work.id
        ]
        if references:
            await self._store.write_many(CATALOG.name, references)
        return known

    async def _write_mentions(
        self,
        works: Sequence[Work],
        tools: Mapping[str, Tool],
        before: Mapping[MentionKey, SentimentScore],
        settled: Settled,
    ) -> set[str]:
        now = self._clock()
        new: list[SentimentScore] = []
        changed: list[SentimentScore] = []
        for work in works:
            for tool_id in sorted(work.tools):
                known = before.get((tool_id, work.id))
                after = wanted(work, tools.get(tool_id), known, self._version, now)
                if after is None or after is known:
                    continue
                (new if known is None else changed).append(after)
        raced: set[str] = set()
        if new:
            created = await self._store.create_many(MENTIONS.name, [each.to_document() for each in new])
            raced |= {each.source_id for each, won in zip(new, created, strict=True) if not won}
        stored = await self._replace_all(changed)
        raced |= {each.source_id for each, done in zip(changed, stored, strict=True) if done is None}
        settled.written += sum(each.counts for each in (*new, *changed))
        settled.removed += sum(not each.counts for each in changed)
        return raced

    @property
    def _version(self) -> Version:
        return self._analyzer.name, self._analyzer.version

    async def _mark(self, works: Sequence[Work], before: Mapping[MentionKey, SentimentScore]) -> None:
        moments: dict[str, list[datetime]] = {}
        for work in works:
            for tool_id in work.tools:
                known = before.get((tool_id, work.id))
                if known is not None:
                    moments.setdefault(tool_id, []).append(known.published_at)
                elif tool_id in work.detected:
                    moments.setdefault(tool_id, []).append(published_at(work.article))
        for tool_id in sorted(moments):
            await mark_hours(self._store, tool_id, moments[tool_id], self._clock())

    async def _finish(self, works: Sequence[Work], *, whole: bool) -> set[str]:
        """Writes the articles that are to say something else now; the ids of those that others wrote first."""
        now = self._clock()
        after = [(work, finished(work, self._version, now, whole=whole)) for work in works]
        changed = [(work, article) for work, article in after if article is not work.article]
        same = [work for work, article in after if article is work.article and work.tools]
        stored = await self._replace_all(article for _, article in changed)
        raced = {work.id for (work, _), done in zip(changed, stored, strict=True) if done is None}
        return raced | await self._changed(same)

    async def _replace_all(self, documents: Iterable[Article | SentimentScore]) -> list[Document | None]:
        """What is stored of each; None where somebody else wrote meanwhile."""
        gate = asyncio.Semaphore(WRITING_AT_ONCE)

        async def one(each: Article | SentimentScore) -> Document | None:
            async with gate:
                try:
                    return await self._store.replace(each.CONTAINER, each.to_document(), each.stored_etag or "")
                except (ChangedMeanwhile, Conflict):
                    return None

        results = await asyncio.gather(*(one(each) for each in documents), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return [result for result in results if not isinstance(result, BaseException)]
