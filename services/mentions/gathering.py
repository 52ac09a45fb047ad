"""Reads what the analysis of articles needs: the articles with their words and full texts, their tools, their mentions,
and the corrections of people. An article of which something cannot be read fails alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from models.article import Article, Observation
from models.correction import Correction
from models.errors import ToolpulseError, UnreadableDocument
from models.mention import SentimentScore
from models.tool import Tool
from services.documents.archived import FullTexts
from services.mentions.corrections import corrections_of_mentions
from services.mentions.understanding import ArticleAnalysis, observations_of_other_words, understand
from services.ports import Document, Listed, Store, listed_documents
from services.store.containers import ARTICLES, MENTIONS
from services.tools.catalog import Catalog
from services.tools.detector import Watchlist

log = logging.getLogger("toolpulse.analysis")

ARCHIVE_UNAVAILABLE = "the archive of full texts does not answer"

IsWanted = Callable[[Document], bool]


class AnalysisFailed(ToolpulseError):
    """An article could not be analysed, so that the work which needs it must be tried again."""


@dataclass(slots=True)
class WriteReport:
    """The results by article. `failed` says why, in a few words that are none of a text. `left` are articles that are
    gone or not wanted. `due_since` is since when the analyses that are done were due. `written` and `removed` count
    mentions."""

    done: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)
    due_since: list[datetime] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
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


@dataclass(frozen=True, slots=True)
class Gathering:
    """Reads what an analysis needs. Articles are read first, then mentions, tools and corrections: so a change that is
    made later changes what is read here, or finds what is written after it."""

    store: Store
    catalog: Catalog
    watchlist: Watchlist
    full_texts: FullTexts

    async def gather(
        self,
        source_ids: Sequence[str],
        only: frozenset[str] | None,
        report: WriteReport,
        is_wanted: IsWanted,
        *,
        anew: bool,
    ) -> tuple[list[ArticleAnalysis], dict[str, Tool]]:
        """The analyses of these articles, and their tools. An article that is gone is left; one that cannot be
        understood has failed. `anew`: with a detector that is built anew."""
        found = await self.store.read_many(ARTICLES.name, [(each, Article.ID) for each in source_ids])
        documents = [each for each in found if each is not None and is_wanted(each)]
        report.left |= set(source_ids) - {document["source_id"] for document in documents}
        read = await asyncio.to_thread(listed_documents, documents, Article.from_document, "source_id")
        report.failed |= dict.fromkeys(read.unreadable, UnreadableDocument.__name__)
        analyses = await self._understood(read.items, only, report, anew=anew)
        await self._read_mentions(analyses, report)
        tools = await self.tools(analyses, report)
        await self._read_corrections(analyses, tools, report)
        return report.not_failed(analyses), tools

    async def _understood(
        self, articles: Sequence[Article], only: frozenset[str] | None, report: WriteReport, *, anew: bool
    ) -> list[ArticleAnalysis]:
        other_words = await self._other_words(articles)
        full_texts = await self._read_full_texts(articles, report)
        # After the articles were read: a backfill of names that this detector lacks is yet to come, and changes them.
        detector = await self.watchlist.detector(anew=anew)

        wanted = None if only is None else await self._with_merge_targets(only)

        def understood() -> list[ArticleAnalysis]:
            analyses: list[ArticleAnalysis] = []
            for article in articles:
                source_id = article.source_id
                if source_id in report.failed:
                    continue
                others, text = other_words.get(source_id, ()), full_texts.get(source_id)
                try:
                    analyses.append(understand(article, detector, wanted, others, text))
                except Exception as error:
                    # A fault in one article must not stop the others; id and traceback are logged.
                    log.exception("article_not_understood source_id=%s", source_id)
                    report.failed[source_id] = type(error).__name__
            return analyses

        return await asyncio.to_thread(understood)

    async def _other_words(self, articles: Sequence[Article]) -> dict[str, list[Observation]]:
        """The observations with the own words of sources, by article. A source that has changed its words since the
        article was read has changed the article too; an observation that cannot be read is not judged."""
        wanted = [(each.source_id, *pair) for each in articles for pair in observations_of_other_words(each).items()]
        if not wanted:
            return {}
        found = await self.store.read_many(ARTICLES.name, [(source_id, name) for source_id, _, name in wanted])
        read = listed_documents(found, Observation.from_document, "id")
        by_words = {(each.source_id, each.revision): each for each in read.items if each.deleted_at is None}
        own: dict[str, list[Observation]] = {}
        for source_id, revision, _ in wanted:
            if (observation := by_words.get((source_id, revision))) is not None:
                own.setdefault(source_id, []).append(observation)
        return own

    async def _read_full_texts(self, articles: Sequence[Article], report: WriteReport) -> dict[str, str]:
        """The full texts that are to be scored, by article. An article whose text the archive does not give now
        fails."""
        naming = [each for each in articles if each.full_text is not None and each.deleted_at is None]
        texts: dict[str, str] = {}
        for source_id, text in (await self.full_texts.read(naming)).items():
            if isinstance(text, str):
                texts[source_id] = text
            else:
                report.failed[source_id] = ARCHIVE_UNAVAILABLE
        return texts

    async def tools(self, analyses: Sequence[ArticleAnalysis], report: WriteReport) -> dict[str, Tool]:
        """The tools of these articles as they are now.

        An article fails if one of its tools cannot be read: the mention of a tool that seems to be gone would be
        removed. Removing the mentions of a deleted article needs no tool.
        """
        known = await self.catalog.known(sorted({tool_id for each in analyses for tool_id in each.tool_ids}))
        for each in analyses:
            if not each.is_deleted and not each.tool_ids.isdisjoint(known.unreadable):
                report.failed[each.source_id] = "a tool that cannot be read"
        return {tool.tool_id: tool for tool in known.items}

    async def _with_merge_targets(self, only: frozenset[str]) -> frozenset[str]:
        """The tools, and the tools that they were merged into, which get their mentions."""
        while True:
            tools = (await self.catalog.known(sorted(only))).items
            more = only | {tool.merged_into for tool in tools if tool.merged_into is not None}
            if more == only:
                return only
            only = more

    async def _read_mentions(self, analyses: Sequence[ArticleAnalysis], report: WriteReport) -> None:
        """An article fails if one of its mentions cannot be read."""
        keys = [(tool_id, each.source_id) for each in analyses for tool_id in sorted(each.tool_ids)]
        found = await self.store.read_many(MENTIONS.name, keys)
        mentions = listed_documents(found, SentimentScore.from_document, "id")
        report.failed |= dict.fromkeys(mentions.unreadable, "a mention that cannot be read")
        by_id = {each.source_id: each for each in analyses}
        for mention in mentions.items:
            by_id[mention.source_id].stored[mention.tool_id] = mention

    async def _read_corrections(
        self, analyses: Sequence[ArticleAnalysis], tools: Mapping[str, Tool], report: WriteReport
    ) -> None:
        """An article fails if a correction of one of its mentions cannot be read."""
        found = await self.corrections(analyses, [tool_id for tool_id, tool in tools.items() if tool.corrections])
        by_id = {each.source_id: each for each in analyses}
        for correction in found.items:
            by_id[correction.source_id or ""].corrections[correction.tool_id] = correction
        report.failed |= dict.fromkeys(found.unreadable, "a correction that cannot be read")

    async def corrections(self, analyses: Sequence[ArticleAnalysis], tool_ids: Collection[str]) -> Listed[Correction]:
        """The corrections of these articles' mentions of these tools."""
        of_article = [
            (each.source_id, each.tool_ids.intersection(tool_ids)) for each in analyses if not each.is_deleted
        ]
        keys = [(tool_id, source_id) for source_id, found in of_article for tool_id in sorted(found)]
        return await corrections_of_mentions(self.store, keys)
