"""Comparing analyzers: judges a tool's mentions again with an analyzer, and reports what would change."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from models.article import Article
from models.errors import InvalidInput
from models.mention import SentimentScore
from models.run import JobRun
from services.mentions.analyzers.choice import Analyzers
from services.mentions.analyzers.port import Analyzer, NotJudged
from services.mentions.judging import judge
from services.mentions.understanding import ArticleAnalysis, understand
from services.ports import Document, Query, Store
from services.runs.driver import Counted, PageResult, RunImpossible, page_after
from services.store.containers import ARTICLES, MENTIONS
from services.tools.catalog import Catalog
from services.tools.detector import Detector
from services.tools.watchlist import Watchlist
from services.workflows.comparison import Comparison, NotCompared, Rating, rating_of_confirmed

log = logging.getLogger("toolpulse.analysis")

PAGE = 100


@dataclass(frozen=True, slots=True)
class Comparing:
    """A workflow: `subject` is the tool, `parameters` name the analyzer and its version. Its pages are the tool's
    mentions by id."""

    store: Store
    catalog: Catalog
    watchlist: Watchlist
    analyzers: Analyzers

    async def page(self, run: JobRun) -> PageResult:
        tool_id, analyzer = run.subject or "", self._analyzer(run)
        tool = await self.catalog.names.tool(tool_id)
        if tool is None or tool.status == "MERGED":
            raise RunImpossible(f"tool: {tool_id} is gone, or has been merged")
        query = Query(partition=tool_id, limit=PAGE, after=page_after(run))
        page = await self.store.query(MENTIONS.name, query)
        mentions = [each for each in page.items if each.get("removed_at") is None]
        before = Comparison.model_validate((run.checkpoint or {}).get("comparison", {}))
        after = await self._compared(before, tool_id, mentions, analyzer)
        compared = after.compared - before.compared
        counts: Counted = {
            "compared": compared,
            "changed": after.changed - before.changed,
            "not_compared": len(mentions) - compared,
        }
        checkpoint = None
        if page.next is not None:
            checkpoint = {"after": page.next, "comparison": after.model_dump(mode="json")}
        return PageResult(checkpoint, len(mentions), counts, report=after.report(analyzer))

    def _analyzer(self, run: JobRun) -> Analyzer:
        """Raises RunImpossible if the app no longer has the analyzer that the run began with."""
        name, version = str(run.parameters.get("analyzer")), run.parameters.get("analyzer_version")
        try:
            analyzer = self.analyzers.get(name)
        except InvalidInput as error:
            raise RunImpossible(str(error)) from None
        if analyzer.version != version:
            raise RunImpossible(f"analyzer: {name} is of version {analyzer.version}, the run began with {version}")
        return analyzer

    async def _compared(
        self, comparison: Comparison, tool_id: str, mentions: Sequence[Document], analyzer: Analyzer
    ) -> Comparison:
        articles = await self.store.read_many(ARTICLES.name, [(each["source_id"], Article.ID) for each in mentions])
        detector = await self.watchlist.detector()

        def read() -> list[_Read | NotCompared]:
            return [_read(*pair, tool_id, detector) for pair in zip(mentions, articles, strict=True)]

        found = await asyncio.to_thread(read)
        await judge(analyzer, [each.analysis for each in found if isinstance(each, _Read)])
        for each in found:
            rating = each.rating if isinstance(each, _Read) else each
            if isinstance(each, _Read) and isinstance(rating, Rating):
                comparison = comparison.with_rating(each.mention, rating)
            elif not isinstance(rating, Rating):
                comparison = comparison.without(rating)
        return comparison


@dataclass(frozen=True, slots=True)
class _Read:
    """A mention with the analysis of its article, which names the tool."""

    mention: SentimentScore
    analysis: ArticleAnalysis

    @property
    def rating(self) -> Rating | NotCompared:
        """As the writer of mentions takes the score of a tool, or else that of the article. What a person has said of
        the sentiment stays."""
        if self.mention.corrected:
            return Rating.of_mention(self.mention)
        scores = self.analysis.scores
        assert scores is not None, "an article that names a tool is judged"
        for score in (scores.tools[self.mention.tool_id], scores.article):
            if not isinstance(score, NotJudged):
                return rating_of_confirmed(self.mention, Rating.of_score(score))
        return "NOT_JUDGED"


def _read(mention: Document, article: Document | None, tool_id: str, detector: Detector) -> _Read | NotCompared:
    """The mention with its article, or why it is not compared."""
    if article is None or article.get("deleted_at") is not None:
        return "EXPIRED"
    try:
        read = _Read(SentimentScore.from_document(mention), understand(article, detector, frozenset({tool_id})))
    except Exception:
        # A fault in one article must not stop the others; id and traceback are logged.
        log.exception("article_not_understood source_id=%s", article["source_id"])
        return "UNREADABLE"
    return read if tool_id in read.analysis.detected else "NOT_NAMED"
