"""Comparing analyzers: judges a tool's mentions again with an analyzer, and reports what would change.

Each mention counts with the sentiment that is stored, and with the one that the analyzer gives now, from the article as
it is now. A mention is not compared if
    EXPIRED      its article is gone,
    UNREADABLE   the mention or its article cannot be read,
    NOT_NAMED    the article does not name the tool any more, or the tool is deprecated: its mentions keep their scores,
    NOT_JUDGED   the analyzer cannot judge the text.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from models.article import Article
from models.comparison import Comparison, Rating, ReasonNotCompared
from models.errors import InvalidInput
from models.mention import SentimentScore
from models.run import JobRun
from services.mentions.analyzers.port import Analyzer, Analyzers, Judgement, NotJudged
from services.mentions.corrections import POLARITY
from services.mentions.understanding import ArticleAnalysis, judge, understand
from services.ports import Document, Query
from services.store.containers import ARTICLES, MENTIONS
from services.tools.detector import Detector
from services.work.driver import Counted, PageResult, RunImpossible, page_after
from services.workflows import Services
from services.workflows.changes import present_tool

log = logging.getLogger("toolpulse.analysis")

PAGE = 100


def rating_of(scored: SentimentScore | Judgement) -> Rating:
    return Rating(sentiment=scored.sentiment, polarity=scored.polarity)


def rating_of_confirmed(mention: SentimentScore, after: Rating) -> Rating:
    """`after`, unless a person has confirmed another sentiment: then that of the person."""
    confirmed = mention.sentiment if mention.verdict == "right" else None
    if confirmed is None or after.sentiment == confirmed:
        return after
    return Rating(sentiment=confirmed, polarity=POLARITY[confirmed])


async def compare(of: Services, run: JobRun) -> PageResult:
    """`subject` is the tool, `parameters` name the analyzer and its version. The pages are the tool's mentions by
    id."""
    analyzer, tool_id = _analyzer(of.analyzers, run), await present_tool(of, run)
    query = Query(partition=tool_id, limit=PAGE, after=page_after(run))
    page = await of.store.query(MENTIONS.name, query)
    mentions = [each for each in page.items if each.get("removed_at") is None]
    before = run.report or Comparison(analyzer=analyzer.name, analyzer_version=analyzer.version)
    after = await _compared(of, before, tool_id, mentions, analyzer)
    compared = after.compared - before.compared
    counts: Counted = {
        "compared": compared,
        "changed": after.changed - before.changed,
        "not_compared": len(mentions) - compared,
    }
    checkpoint = None if page.next is None else {"after": page.next}
    return PageResult(checkpoint, len(mentions), counts, report=after)


def _analyzer(analyzers: Analyzers, run: JobRun) -> Analyzer:
    """Raises RunImpossible if the app no longer has the analyzer that the run began with."""
    name, version = str(run.parameters.get("analyzer")), run.parameters.get("analyzer_version")
    try:
        analyzer = analyzers.get(name)
    except InvalidInput as error:
        raise RunImpossible(str(error)) from None
    if analyzer.version != version:
        raise RunImpossible(f"analyzer: {name} is of version {analyzer.version}, the run began with {version}")
    return analyzer


async def _compared(
    of: Services, comparison: Comparison, tool_id: str, mentions: Sequence[Document], analyzer: Analyzer
) -> Comparison:
    articles = await of.store.read_many(ARTICLES.name, [(each["source_id"], Article.ID) for each in mentions])
    detector = await of.watchlist.detector()

    def read() -> list[_Read | ReasonNotCompared]:
        return [_read(*pair, tool_id, detector) for pair in zip(mentions, articles, strict=True)]

    found = await asyncio.to_thread(read)
    await judge(analyzer, [each[1] for each in found if not isinstance(each, str)])
    for each in found:
        rating = each if isinstance(each, str) else _rating(*each)
        if isinstance(rating, str):
            comparison = comparison.without(rating)
        elif not isinstance(each, str):
            comparison = comparison.with_rating(each[0], rating)
    return comparison


_Read = tuple[SentimentScore, ArticleAnalysis]
"""A mention with the analysis of its article, which names the tool."""


def _rating(mention: SentimentScore, analysis: ArticleAnalysis) -> Rating | ReasonNotCompared:
    """As the writer of mentions takes the score of a tool, or else that of the article. What a person has said of the
    sentiment stays."""
    if mention.corrected:
        return rating_of(mention)
    assert analysis.scores is not None, "an article that names a tool is judged"
    for score in (analysis.scores.tools[mention.tool_id], analysis.scores.article):
        if not isinstance(score, NotJudged):
            return rating_of_confirmed(mention, rating_of(score) if isinstance(score, Judgement) else Rating())
    return "NOT_JUDGED"


def _read(mention: Document, article: Document | None, tool_id: str, detector: Detector) -> _Read | ReasonNotCompared:
    """The mention with its article, or why it is not compared."""
    if article is None or article.get("deleted_at") is not None:
        return "EXPIRED"
    try:
        analysis = understand(Article.from_document(article), detector, frozenset({tool_id}))
        read = SentimentScore.from_document(mention), analysis
    except Exception:
        # A fault in one article must not stop the others; id and traceback are logged.
        log.exception("article_not_understood source_id=%s", article["source_id"])
        return "UNREADABLE"
    return read if tool_id in read[1].detected else "NOT_NAMED"
