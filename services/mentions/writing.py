"""Analyses articles and writes their mentions, until the stored mentions match the articles.

The order of writes lets the next analysis repair a crash, and never lets an outdated article win:
    1. the article lists every tool that may get a mention (`tool_ids_ever_detected`, which never shrinks), so that the
       next analysis finds a mention that a crash left behind;
    2. mentions are read, then the corrections of people, so that a correction that is made later finds the mention that
       is written here, or changes the ETag of the one that was read; then the article is checked to be unchanged, then
       mentions are written by their ETags. Corrections are read for tools that have some;
    3. the hours of all these mentions are marked dirty, also of mentions that were right already: an earlier analysis
       may have crashed before this step. The signals of their stories are due. Then the cache entries of their tools
       are invalidated, if the caller wants that, and the tools are announced;
    4. tools are read again, also if nothing was written: one may have been merged meanwhile, or have got a correction;
    5. the article is replaced by its ETag, or read again if nothing of it changes.
An article that another writer changed in between is analysed again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from models.article import Article
from models.errors import ToolpulseError, Unavailable
from models.mention import SentimentScore
from models.observation import Observation
from models.tool import Tool
from services.documents.texts import FullTexts
from services.mentions.analyzers.port import Analyzer, NotJudged
from services.mentions.correction_documents import MentionCorrections, corrections_of_mentions
from services.mentions.dirty_hours import mark_dirty_by_tool
from services.mentions.finishing import finished
from services.mentions.own_words import observations_of_other_words
from services.mentions.refresh_due import REFRESH_STAGE
from services.mentions.scoring import Version
from services.mentions.signals_due import mark_signals_due
from services.mentions.understanding import (
    ArticleAnalysis,
    fingerprint,
    judge,
    no_longer_active,
    understand,
    wanted_mentions,
    with_first_articles,
    with_tools_listed,
)
from services.ports import Clock, Create, Document, Operation, Replace, Store, listed_documents
from services.store.containers import ARTICLES, CATALOG, MENTIONS
from services.tools.catalog import Catalog
from services.tools.watchlist import Watchlist
from services.work.announcing import Announcer

log = logging.getLogger("toolpulse.analysis")

ROUNDS = 20
"""How often an article that other writers change meanwhile is analysed again. In each round one writer succeeds."""
MENTIONS_AT_ONCE = 25
"""Mentions in one batch: so many are far below the limit of two megabytes."""
UNREADABLE_MENTION = fingerprint("a mention that cannot be read")
UNREADABLE_TOOL = fingerprint("a tool that cannot be read")
ARCHIVE_UNAVAILABLE = fingerprint("the archive of full texts does not answer")
UNREADABLE_CORRECTION = fingerprint("a correction that cannot be read")
INLINE = 8
"""Up to so many articles are understood on the event loop, in a millisecond or two; more in a thread."""


class AnalysisFailed(ToolpulseError):
    """An article could not be analysed, so that the work which needs it must be tried again."""


IsWanted = Callable[[Document], bool]
Invalidate = Callable[[Collection[str]], Awaitable[None]]
"""Invalidates the cache entries of these tools."""


@dataclass(slots=True)
class WriteReport:
    """The results by article. `failed` has the fingerprint of each failure; the articles in `permanent`, as they were
    read, would fail at every further try. `left` are articles that are gone or not wanted. `due_since` is since when
    the analyses that are done were due. `written` and `removed` count mentions."""

    done: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)
    due_since: list[datetime] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    permanent: dict[str, Article] = field(default_factory=dict)
    written: int = 0
    removed: int = 0

    @property
    def ended(self) -> set[str]:
        return self.done | self.left | self.failed.keys()

    def require_all(self) -> None:
        """Raises AnalysisFailed if an article failed: while its mentions are as they were, figures count it so."""
        for source_id, why in self.failed.items():
            raise AnalysisFailed(f"article {source_id}: {why}")

    def not_failed(self, analyses: Iterable[ArticleAnalysis]) -> list[ArticleAnalysis]:
        return [each for each in analyses if each.source_id not in self.failed]


class MentionWriter:
    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        watchlist: Watchlist,
        analyzer: Analyzer,
        announcer: Announcer,
        clock: Clock,
        full_texts: FullTexts | None = None,
    ) -> None:
        self._full_texts = full_texts
        self._store = store
        self._catalog = catalog
        self._watchlist = watchlist
        self._analyzer = analyzer
        self._announcer = announcer
        self._clock = clock

    @property
    def scored_by(self) -> str:
        """The present analyzer and its version. A tool whose scores are of another version can be reanalysed."""
        return "/".join(self._version)

    @property
    def _version(self) -> Version:
        return self._analyzer.name, self._analyzer.version

    async def write(
        self,
        source_ids: Sequence[str],
        only: frozenset[str] | None = None,
        invalidate: Invalidate | None = None,
        *,
        is_wanted: IsWanted = lambda document: True,
    ) -> WriteReport:
        """Analyses the articles; with `only`, nothing but their mentions of these tools, or of tools they merged into.

        `is_wanted` says which of the stored articles are analysed: its caller leaves those that are analysed already.
        `invalidate` is called with all tools that these articles mention or mentioned, before the articles are stored
        as analysed: after a crash in between, the next try calls it again.
        An article that cannot be understood or judged fails alone. Raises Unavailable if the store or the analyzer does
        not answer, or if articles keep changing.
        """
        report = WriteReport()
        waiting = list(dict.fromkeys(source_ids))
        anew = False
        for round_no in range(ROUNDS):
            # An article of an earlier round may have a mention that this worker wrote too late, also if another worker
            # has analysed it since.
            wanted = is_wanted if round_no == 0 else None
            analyses = await self._understood(waiting, only, report, wanted, anew=anew)
            analyses = await self._with_stored_mentions(analyses, report)
            tools = await self._tools(analyses, report)
            analyses = await self._with_corrections(report.not_failed(analyses), tools, report)
            outdated = no_longer_active(analyses, tools)
            if not outdated:
                await self._round(analyses, tools, report, invalidate, whole=only is None)
            waiting = [each for each in waiting if each not in report.ended]
            if not waiting:
                return report
            anew = bool(outdated)
        raise Unavailable(f"{len(waiting)} articles keep changing", retry_after=1.0)

    async def _understood(
        self,
        source_ids: Sequence[str],
        only: frozenset[str] | None,
        report: WriteReport,
        is_wanted: IsWanted | None,
        *,
        anew: bool,
    ) -> list[ArticleAnalysis]:
        """An article that is gone is left; one that cannot be understood has failed. `anew`: with a detector that is
        built anew."""
        found = await self._store.read_many(ARTICLES.name, [(each, Article.ID) for each in source_ids])
        documents = [each for each in found if each is not None and (is_wanted is None or is_wanted(each))]
        report.left |= set(source_ids) - {document["source_id"] for document in documents}
        other_words = await self._other_words(documents)
        full_texts = await self._read_full_texts(documents, report)
        documents = [each for each in documents if each["source_id"] not in report.failed]
        # After the articles were read: a backfill of names that this detector lacks is yet to come, and changes them.
        detector = await self._watchlist.detector(anew=anew)
        wanted = None if only is None else await self._with_merge_targets(only)

        def understood() -> list[ArticleAnalysis]:
            analyses: list[ArticleAnalysis] = []
            for document in documents:
                try:
                    name = document["source_id"]
                    others, text = other_words.get(name, ()), full_texts.get(name)
                    analyses.append(understand(document, detector, wanted, others, text))
                except Exception as error:
                    # A fault in one article must not stop the others; id and traceback are logged.
                    source_id = document["source_id"]
                    log.exception("article_not_understood source_id=%s", source_id)
                    report.failed[source_id] = fingerprint(type(error).__name__)
            return analyses

        return understood() if len(documents) <= INLINE else await asyncio.to_thread(understood)

    async def _other_words(self, documents: Sequence[Document]) -> dict[str, list[Observation]]:
        """The observations with the own words of sources, by article. A source that has changed its words since the
        article was read has changed the article too; an observation that cannot be read is not judged."""
        wanted = [
            (each["source_id"], *pair) for each in documents for pair in observations_of_other_words(each).items()
        ]
        if not wanted:
            return {}
        found = await self._store.read_many(ARTICLES.name, [(source_id, name) for source_id, _, name in wanted])
        read = listed_documents(found, Observation.from_document, "id")
        by_words = {(each.source_id, each.revision): each for each in read.items if each.deleted_at is None}
        own: dict[str, list[Observation]] = {}
        for source_id, revision, _ in wanted:
            if (observation := by_words.get((source_id, revision))) is not None:
                own.setdefault(source_id, []).append(observation)
        return own

    async def _read_full_texts(self, documents: Sequence[Document], report: WriteReport) -> dict[str, str]:
        """The full texts that are to be scored, by article. An article whose text the archive does not give now
        fails."""
        naming = [each for each in documents if each.get("full_text") and each.get("deleted_at") is None]
        if not naming or self._full_texts is None:
            return {}
        texts: dict[str, str] = {}
        articles = listed_documents(naming, Article.from_document, "source_id").items
        for source_id, text in (await self._full_texts.read(articles)).items():
            if isinstance(text, str):
                texts[source_id] = text
            else:
                report.failed[source_id] = ARCHIVE_UNAVAILABLE
        return texts

    async def _tools(self, analyses: Sequence[ArticleAnalysis], report: WriteReport) -> dict[str, Tool]:
        """The tools of these articles as they are now.

        An article fails if one of its tools cannot be read: the mention of a tool that seems to be gone would be
        removed. Removing the mentions of a deleted article needs no tool.
        """
        known = await self._catalog.known(sorted({tool_id for each in analyses for tool_id in each.tool_ids}))
        for each in analyses:
            if each.questions is not None and not each.tool_ids.isdisjoint(known.unreadable):
                report.failed[each.source_id] = UNREADABLE_TOOL
        return {tool.tool_id: tool for tool in known.items}

    async def _with_merge_targets(self, only: frozenset[str]) -> frozenset[str]:
        """The tools, and the tools that they were merged into, which get their mentions."""
        while True:
            tools = (await self._catalog.known(sorted(only))).items
            more = only | {tool.merged_into for tool in tools if tool.merged_into is not None}
            if more == only:
                return only
            only = more

    async def _round(
        self,
        analyses: list[ArticleAnalysis],
        tools: dict[str, Tool],
        report: WriteReport,
        invalidate: Invalidate | None,
        *,
        whole: bool,
    ) -> None:
        """Each step returns the articles for the next one. An article that another writer changed meanwhile is left
        out: after the round it is neither done nor failed."""
        analyses = await self._judged(analyses, report)
        now = self._clock()
        analyses = await self._stored([(each, with_tools_listed(each)) for each in analyses])
        analyses = await self._with_first_articles(analyses, tools, now)
        for each in analyses:
            each.wanted = wanted_mentions(each, tools, self._version, now)
        analyses = await self._with_mentions_written(analyses, report)
        dirty = await self._mark_dirty(analyses, now)
        if invalidate is not None:
            await invalidate(frozenset().union(*(each.tool_ids for each in analyses)))
        await self._announcer.announce(REFRESH_STAGE, dirty)
        analyses = await self._with_same_tools(analyses, tools, report)
        after = [(each, finished(each, self._version, now, whole=whole)) for each in analyses]
        due = {each.source_id: each.article.analysis_due_since for each in analyses}
        for each in await self._stored(after):
            report.done.add(each.source_id)
            if (since := due[each.source_id]) is not None and each.article.analysis_due_since is None:
                report.due_since.append(since)

    async def _judged(self, analyses: list[ArticleAnalysis], report: WriteReport) -> list[ArticleAnalysis]:
        """An article that cannot be judged fails."""
        await judge(self._analyzer, analyses)
        for each in analyses:
            if each.scores is not None and isinstance(each.scores.article, NotJudged):
                report.failed[each.source_id] = fingerprint(each.scores.article.reason)
                report.permanent[each.source_id] = each.article
        return report.not_failed(analyses)

    async def _with_stored_mentions(
        self, analyses: list[ArticleAnalysis], report: WriteReport
    ) -> list[ArticleAnalysis]:
        """An article fails if one of its mentions cannot be read."""
        keys = [(tool_id, each.source_id) for each in analyses for tool_id in sorted(each.tool_ids)]
        found = await self._store.read_many(MENTIONS.name, keys)
        mentions = listed_documents(found, SentimentScore.from_document, "id")
        report.failed |= dict.fromkeys(mentions.unreadable, UNREADABLE_MENTION)
        by_id = {each.source_id: each for each in analyses}
        for mention in mentions.items:
            by_id[mention.source_id].stored[mention.tool_id] = mention
        return report.not_failed(analyses)

    async def _with_first_articles(
        self, analyses: list[ArticleAnalysis], tools: dict[str, Tool], now: datetime
    ) -> list[ArticleAnalysis]:
        """Writes the tools that get a first article."""
        found = with_first_articles(analyses, tools, self.scored_by, now)
        batches: list[tuple[str, list[Operation]]] = [
            (tool_id, [Replace(tool.to_document(), tool.stored_etag or "")]) for tool_id, tool in found.items()
        ]
        results = await self._store.batch_many(CATALOG.name, batches)
        changed = set()
        for (tool_id, tool), result in zip(found.items(), results, strict=True):
            if isinstance(result, list):
                tools[tool_id] = tool
            else:
                changed.add(tool_id)
        return [each for each in analyses if changed.isdisjoint(each.detected)]

    async def _with_mentions_written(
        self, analyses: list[ArticleAnalysis], report: WriteReport
    ) -> list[ArticleAnalysis]:
        by_tool: dict[str, list[SentimentScore]] = {}
        for each in analyses:
            for mention in each.changes:
                by_tool.setdefault(mention.tool_id, []).append(mention)
        portions = [
            (tool_id, mentions[start : start + MENTIONS_AT_ONCE])
            for tool_id, mentions in by_tool.items()
            for start in range(0, len(mentions), MENTIONS_AT_ONCE)
        ]
        batches = [(tool_id, [operation_of(mention) for mention in portion]) for tool_id, portion in portions]
        results = await self._store.batch_many(MENTIONS.name, batches)
        lost: set[str] = set()
        for (_, portion), result in zip(portions, results, strict=True):
            if isinstance(result, list):
                report.written += sum(mention.counts for mention in portion)
                report.removed += sum(not mention.counts for mention in portion)
            else:
                lost |= {mention.source_id for mention in portion}
        return [each for each in analyses if each.source_id not in lost]

    async def _mark_dirty(self, analyses: Sequence[ArticleAnalysis], now: datetime) -> Collection[str]:
        """The tools whose hours were marked. The signals of the stories of these articles are due, too."""
        moments: dict[str, list[datetime]] = {}
        for each in analyses:
            for mention in each.wanted.values():
                moments.setdefault(mention.tool_id, []).append(mention.published_at)
        await mark_dirty_by_tool(self._store, moments, now)
        stories = {each.article.event_id for each in analyses if each.wanted and each.article.event_id is not None}
        await mark_signals_due(self._store, sorted(stories), now)
        return moments

    async def _with_corrections(
        self, analyses: list[ArticleAnalysis], tools: Mapping[str, Tool], report: WriteReport
    ) -> list[ArticleAnalysis]:
        """An article fails if a correction of one of its mentions cannot be read."""
        found = await self._corrections(analyses, [tool_id for tool_id, tool in tools.items() if tool.corrections])
        for each in analyses:
            each.corrections = found.items.get(each.source_id, {})
        report.failed |= dict.fromkeys(found.unreadable, UNREADABLE_CORRECTION)
        return report.not_failed(analyses)

    async def _corrections(self, analyses: Sequence[ArticleAnalysis], tool_ids: Collection[str]) -> MentionCorrections:
        """The corrections of these articles' mentions of these tools."""
        of_article = [(each.source_id, each.tool_ids.intersection(tool_ids)) for each in analyses if each.questions]
        keys = [(tool_id, source_id) for source_id, found in of_article for tool_id in sorted(found)]
        return await corrections_of_mentions(self._store, keys)

    async def _with_same_tools(
        self, analyses: list[ArticleAnalysis], tools: Mapping[str, Tool], report: WriteReport
    ) -> list[ArticleAnalysis]:
        """Leaves out the articles with a tool that is no longer active, and those with a correction that has changed. A
        tool that was merged after it was read may have got a mention that the merge did not see: from this worker, or
        from one that died before this check. So may a mention that was corrected."""
        present = await self._tools(analyses, report)
        inactive = no_longer_active(analyses, present)
        known = {tool_id: tool.corrections for tool_id, tool in tools.items()}
        more = [tool_id for tool_id, tool in present.items() if tool.corrections != known.get(tool_id, 0)]
        corrections = await self._corrections(analyses, more)
        return [
            each
            for each in report.not_failed(analyses)
            if inactive.isdisjoint(each.detected)
            and each.source_id not in corrections.unreadable
            and {key: value for key, value in each.corrections.items() if key in more}
            == corrections.items.get(each.source_id, {})
        ]

    async def _stored(self, articles: Sequence[tuple[ArticleAnalysis, Article]]) -> list[ArticleAnalysis]:
        """Stores each article as it should be. An article with tools that stays the same is read again.

        Returns the analyses whose article no other writer has changed.
        """
        changing = [(each, after) for each, after in articles if after is not each.article]
        batches = [(each.source_id, [operation_of(after)]) for each, after in changing]
        results = await self._store.batch_many(ARTICLES.name, batches)
        same = [each for each, after in articles if after is each.article and each.tool_ids]
        found = await self._store.read_many(ARTICLES.name, [(each.source_id, Article.ID) for each in same])
        overtaken: set[str] = set()
        for (each, after), result in zip(changing, results, strict=True):
            if isinstance(result, list):
                each.article = after.with_etag(result[0])
            else:
                overtaken.add(each.source_id)
        for each, document in zip(same, found, strict=True):
            if document is None or document["_etag"] != each.article.stored_etag:
                overtaken.add(each.source_id)
        return [each for each, _ in articles if each.source_id not in overtaken]


def operation_of(document: Article | SentimentScore) -> Operation:
    """Creates a document that was not stored yet, and replaces the version that was read."""
    if document.stored_etag is None:
        return Create(document.to_document())
    return Replace(document.to_document(), document.stored_etag)
