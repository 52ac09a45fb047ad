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

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from models.article import Article
from models.errors import ChangedMeanwhile
from models.mention import SentimentScore
from models.operations import AnalysisTotals
from models.stored import StoredDocument
from models.tool import ANALYZE, Tool
from services.mentions.analyzers.port import Analyzer, NotJudged
from services.mentions.due import ANALYSIS_STAGE, REFRESH_STAGE, mark_dirty, mark_signals_due
from services.mentions.gathering import ARCHIVE_UNAVAILABLE, Gathering, IsWanted, WriteReport
from services.mentions.scoring import Version
from services.mentions.understanding import (
    ArticleAnalysis,
    finished,
    judge,
    no_longer_active,
    wanted_mentions,
    with_first_articles,
    with_tools_listed,
)
from services.ports import Clock, Document, Store
from services.store.change import until_unchanged, write_of
from services.store.containers import ARTICLES, CATALOG, MENTIONS
from services.store.counting import CountWriter
from services.work.announcing import Announcer
from services.work.handling import Worked
from services.work.stage import parts_of

MENTIONS_AT_ONCE = 25
"""Mentions in one batch: so many are far below the limit of two megabytes."""

Invalidate = Callable[[Collection[str]], Awaitable[None]]
"""Invalidates the cache entries of these tools."""


@dataclass(frozen=True, slots=True)
class MentionWriter:
    """Analyses articles and writes what follows from it, one round for all of them; those that other writers change
    meanwhile get another round. `workflow` is the one that adds mentions."""

    store: Store
    gathering: Gathering
    analyzer: Analyzer
    announcer: Announcer
    clock: Clock
    workflow: str = ANALYZE

    @property
    def scored_by(self) -> str:
        """The present analyzer and its version. A tool whose scores are of another version can be reanalysed."""
        return "/".join(self._version)

    @property
    def _version(self) -> Version:
        return self.analyzer.name, self.analyzer.version

    async def write(
        self,
        source_ids: Sequence[str],
        only: frozenset[str] | None = None,
        invalidate: Invalidate | None = None,
        *,
        is_wanted: IsWanted = lambda _: True,
    ) -> WriteReport:
        """Analyses the articles; with `only`, nothing but their mentions of these tools, or of tools they merged into.

        `is_wanted` says which of the stored articles are analysed: its caller leaves those that are analysed already.
        `invalidate` is called with all tools that these articles mention or mentioned, before the articles are stored
        as analysed: after a crash in between, the next try calls it again.
        An article that cannot be understood or judged fails alone. Raises Unavailable if the store or the analyzer does
        not answer, or if articles keep changing.
        """
        report, waiting = WriteReport(), list(dict.fromkeys(source_ids))
        anew, wanted = False, is_wanted

        async def once() -> None:
            nonlocal waiting, anew, wanted
            analyses, tools = await self.gathering.gather(waiting, only, report, wanted, anew=anew)
            outdated = no_longer_active(analyses, tools)
            if not outdated:
                await self._round(analyses, tools, report, invalidate, whole=only is None)
            waiting = [each for each in waiting if each not in report.ended]
            # An article of an earlier round may have a mention that this worker wrote too late, also if another worker
            # has analysed it since.
            anew, wanted = bool(outdated), lambda _: True
            if waiting:
                raise ChangedMeanwhile(f"{len(waiting)} articles were changed meanwhile")

        await until_unchanged(once, f"{len(waiting)} articles")
        return report

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
        now = self.clock()
        analyses = await self._stored([(each, with_tools_listed(each)) for each in analyses])
        analyses = await self._with_first_articles(analyses, tools, now)
        for each in analyses:
            each.wanted = wanted_mentions(each, tools, self._version, now, self.workflow)
        analyses = await self._with_mentions_written(analyses, report)
        dirty = await self._mark_dirty(analyses, now)
        if invalidate is not None:
            await invalidate(frozenset().union(*(each.tool_ids for each in analyses)))
        await self.announcer.announce(REFRESH_STAGE, dirty)
        analyses = await self._with_same_tools(analyses, tools, report)
        after = [(each, finished(each, self._version, now, whole=whole)) for each in analyses]
        due = {each.source_id: each.article.analysis_due_since for each in analyses}
        for each in await self._stored(after):
            report.done.add(each.source_id)
            if (since := due[each.source_id]) is not None and each.article.analysis_due_since is None:
                report.due_since.append(since)

    async def _judged(self, analyses: list[ArticleAnalysis], report: WriteReport) -> list[ArticleAnalysis]:
        """An article that cannot be judged fails."""
        await judge(self.analyzer, analyses)
        for each in analyses:
            if each.scores is not None and isinstance(each.scores.article, NotJudged):
                report.failed[each.source_id] = each.scores.article.reason
        return report.not_failed(analyses)

    async def _with_first_articles(
        self, analyses: list[ArticleAnalysis], tools: dict[str, Tool], now: datetime
    ) -> list[ArticleAnalysis]:
        """Writes the tools that get a first article."""
        found = with_first_articles(analyses, tools, self.scored_by, now)
        etags = await self._written(CATALOG.name, [(tool_id, [tool]) for tool_id, tool in found.items()])
        tools.update(found)
        overtaken = {tool_id for tool_id, written in zip(found, etags, strict=True) if written is None}
        return [each for each in analyses if overtaken.isdisjoint(each.detected)]

    async def _with_mentions_written(
        self, analyses: list[ArticleAnalysis], report: WriteReport
    ) -> list[ArticleAnalysis]:
        by_tool: dict[str, list[SentimentScore]] = {}
        for each in analyses:
            for mention in each.changes:
                by_tool.setdefault(mention.tool_id, []).append(mention)
        portions = [(tool_id, some) for tool_id, each in by_tool.items() for some in parts_of(each, MENTIONS_AT_ONCE)]
        lost: set[str] = set()
        for (_, portion), written in zip(portions, await self._written(MENTIONS.name, portions), strict=True):
            if written is None:
                lost |= {mention.source_id for mention in portion}
            else:
                report.written += sum(mention.counts for mention in portion)
                report.removed += sum(not mention.counts for mention in portion)
        return [each for each in analyses if each.source_id not in lost]

    async def _mark_dirty(self, analyses: Sequence[ArticleAnalysis], now: datetime) -> Collection[str]:
        """The tools whose hours were marked. The signals of the stories of these articles are due, too."""
        moments: dict[str, list[datetime]] = {}
        for each in analyses:
            for mention in each.wanted.values():
                moments.setdefault(mention.tool_id, []).append(mention.published_at)
        await mark_dirty(self.store, moments, now)
        stories = {each.article.event_id for each in analyses if each.wanted and each.article.event_id is not None}
        await mark_signals_due(self.store, sorted(stories), now)
        return moments

    async def _with_same_tools(
        self, analyses: list[ArticleAnalysis], tools: Mapping[str, Tool], report: WriteReport
    ) -> list[ArticleAnalysis]:
        """Leaves out the articles with a tool that is no longer active, and those with a correction that has changed. A
        tool that was merged after it was read may have got a mention that the merge did not see: from this worker, or
        from one that died before this check. So may a mention that was corrected."""
        present = await self.gathering.tools(analyses, report)
        inactive = no_longer_active(analyses, present)
        known = {tool_id: tool.corrections for tool_id, tool in tools.items()}
        more = [tool_id for tool_id, tool in present.items() if tool.corrections != known.get(tool_id, 0)]
        corrections = await self.gathering.corrections(analyses, more)
        found = {(each.source_id, each.tool_id): each for each in corrections.items}
        return [
            each
            for each in report.not_failed(analyses)
            if inactive.isdisjoint(each.detected)
            and each.source_id not in corrections.unreadable
            and all(each.corrections.get(tool_id) == found.get((each.source_id, tool_id)) for tool_id in more)
        ]

    async def _stored(self, articles: Sequence[tuple[ArticleAnalysis, Article]]) -> list[ArticleAnalysis]:
        """Stores each article as it should be. An article with tools that stays the same is read again.

        Returns the analyses whose article no other writer has changed.
        """
        changing = [(each, after) for each, after in articles if after is not each.article]
        etags = await self._written(ARTICLES.name, [(each.source_id, [after]) for each, after in changing])
        same = [each for each, after in articles if after is each.article and each.tool_ids]
        found = await self.store.read_many(ARTICLES.name, [(each.source_id, Article.ID) for each in same])
        overtaken: set[str] = set()
        for (each, after), written in zip(changing, etags, strict=True):
            if written is None:
                overtaken.add(each.source_id)
            else:
                each.article = after.with_etag(written[0])
        for each, document in zip(same, found, strict=True):
            if document is None or document["_etag"] != each.article.stored_etag:
                overtaken.add(each.source_id)
        return [each for each, _ in articles if each.source_id not in overtaken]

    async def _written(
        self, container: str, batches: Sequence[tuple[str, Sequence[StoredDocument]]]
    ) -> list[list[str | None] | None]:
        """The ETags of each batch of documents; None if another writer has changed one of them."""
        operations = [(partition, list(map(write_of, documents))) for partition, documents in batches]
        outcomes = await self.store.batch_many(container, operations)
        return [outcome if isinstance(outcome, list) else None for outcome in outcomes]


@dataclass(frozen=True, slots=True)
class Analysis:
    """Analyses articles that are due. `on_analyzed` is told since when the analyses that are done were due."""

    writer: MentionWriter
    clock: Clock
    on_analyzed: Callable[[Sequence[datetime]], None] = lambda due_since: None

    async def work(self, source_ids: Sequence[str], *, alone: bool) -> Worked:
        now, kill = self.clock(), list[str]()

        def is_wanted(document: Document) -> bool:
            if ANALYSIS_STAGE.due_at(document) is None or document.get("deleted_at") is not None:
                return False
            wanted, killing = ANALYSIS_STAGE.turns([document], now, alone=alone)
            kill.extend(killing)
            return bool(wanted)

        report = await self.writer.write(source_ids, is_wanted=is_wanted)
        self.on_analyzed(report.due_since)
        # An article whose text the archive does not give now stays due: no try of it counts.
        failed = {key: why for key, why in report.failed.items() if why != ARCHIVE_UNAVAILABLE}
        counts = {"analyzed": len(report.done), "mentions": report.written, "removed": report.removed}
        return Worked(len(report.done), failed, kill=kill, counts=counts)


def count_delays(counts: CountWriter, clock: Clock, due_since: Sequence[datetime]) -> None:
    """Counts, for `GET metrics`, how long articles waited whose analysis had been due since these times and is done
    now."""
    now, amounts = clock(), Counter[str]()
    for since in due_since:
        seconds = max(0, int((now - since).total_seconds()))
        within = [f"within_{bound}_s" for bound in AnalysisTotals.BOUNDS_SECONDS if seconds <= bound]
        amounts.update(["articles", *within])
        amounts["seconds"] += seconds
    if amounts:
        counts.add(AnalysisTotals.at(now), amounts)
