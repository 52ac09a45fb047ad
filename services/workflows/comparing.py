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
from typing import Any, Literal, get_args

from pydantic import Field

from models.article import Article
from models.errors import InvalidInput
from models.mention import SentimentScore
from models.run import JobRun
from models.tally import Tally
from models.values import Count, Polarity, Sentiment, Text, Value
from services.mentions.analyzers.port import Analyzer, Analyzers, Judgement, NotJudged
from services.mentions.corrections import POLARITY
from services.mentions.scoring import Score
from services.mentions.understanding import ArticleAnalysis, judge, understand
from services.ports import Document, Query
from services.store.containers import ARTICLES, MENTIONS
from services.tools.detector import Detector
from services.work.driver import Counted, PageResult, RunImpossible, page_after
from services.workflows import Services
from services.workflows.backfill import present_tool

log = logging.getLogger("toolpulse.analysis")

PAGE = 100
MAX_SAMPLES = 20
LONGEST_HEADLINE = 200

Label = Literal["positive", "negative", "neutral", "unscored"]
LABELS: tuple[Label, ...] = get_args(Label)
NotCompared = Literal["EXPIRED", "UNREADABLE", "NOT_NAMED", "NOT_JUDGED"]


class Rating(Value):
    """The sentiment of a mention, stored or as an analyzer gives it; null if it is unscored."""

    sentiment: Sentiment | None = None
    polarity: Polarity | None = None

    @classmethod
    def of_mention(cls, mention: SentimentScore) -> Rating:
        return cls(sentiment=mention.sentiment, polarity=mention.polarity)

    @classmethod
    def of_score(cls, score: Score) -> Rating:
        return cls(sentiment=score.sentiment, polarity=score.polarity) if isinstance(score, Judgement) else cls()

    @property
    def label(self) -> Label:
        return self.sentiment or "unscored"

    @property
    def tally(self) -> Tally:
        return Tally.of(self.sentiment, self.polarity)


def rating_of_confirmed(mention: SentimentScore, after: Rating) -> Rating:
    """`after`, unless a person has confirmed another sentiment: then that of the person."""
    confirmed = mention.sentiment if mention.verdict == "right" else None
    if confirmed is None or after.sentiment == confirmed:
        return after
    return Rating(sentiment=confirmed, polarity=POLARITY[confirmed])


class Sample(Value):
    """A mention whose sentiment would change."""

    source_id: Text
    headline: Text
    before: Rating
    after: Rating

    @property
    def rank(self) -> tuple[float, str]:
        """Samples that change most come first."""
        return -abs((self.after.polarity or 0.0) - (self.before.polarity or 0.0)), self.source_id


class Comparison(Value):
    """What was found so far. `labels` counts compared mentions by their stored and their new label, `scored_by` by the
    analyzer and version that had scored them."""

    before: Tally = Tally()
    after: Tally = Tally()
    labels: dict[Label, dict[Label, Count]] = Field(default_factory=dict)
    not_compared: dict[NotCompared, Count] = Field(default_factory=dict)
    scored_by: dict[Text, Count] = Field(default_factory=dict)
    samples: tuple[Sample, ...] = ()

    @property
    def compared(self) -> int:
        return sum(sum(row.values()) for row in self.labels.values())

    @property
    def changed(self) -> int:
        return sum(count for old, row in self.labels.items() for new, count in row.items() if new != old)

    def with_rating(self, mention: SentimentScore, after: Rating) -> Comparison:
        """With this mention compared."""
        before = Rating.of_mention(mention)
        row = self.labels.get(before.label, {})
        version = f"{mention.analyzer}/{mention.analyzer_version}"
        samples = self.samples
        if after.label != before.label:
            headline = (mention.headline or "")[:LONGEST_HEADLINE] or mention.source_id
            sample = Sample(source_id=mention.source_id, headline=headline, before=before, after=after)
            samples = tuple(sorted((*samples, sample), key=lambda each: each.rank)[:MAX_SAMPLES])
        return Comparison(
            before=self.before.plus(before.tally),
            after=self.after.plus(after.tally),
            labels={**self.labels, before.label: {**row, after.label: row.get(after.label, 0) + 1}},
            not_compared=self.not_compared,
            scored_by={**self.scored_by, version: self.scored_by.get(version, 0) + 1},
            samples=samples,
        )

    def without(self, reason: NotCompared) -> Comparison:
        """With one more mention that is not compared."""
        return self.model_copy(
            update={"not_compared": {**self.not_compared, reason: self.not_compared.get(reason, 0) + 1}}
        )

    def report(self, analyzer: Analyzer) -> dict[str, Any]:
        """As the run shows it."""
        return {
            "analyzer": analyzer.name,
            "analyzer_version": analyzer.version,
            "compared": self.compared,
            "changed": self.changed,
            "share_changed": round(self.changed / self.compared, 4) if self.compared else None,
            "before": self.before.figures(),
            "after": self.after.figures(),
            "labels": {old: {new: self.labels.get(old, {}).get(new, 0) for new in LABELS} for old in LABELS},
            "not_compared": {reason: self.not_compared.get(reason, 0) for reason in get_args(NotCompared)},
            "scored_by": self.scored_by,
            "samples": [each.model_dump() for each in self.samples],
        }


async def compare(of: Services, run: JobRun) -> PageResult:
    """`subject` is the tool, `parameters` name the analyzer and its version. The pages are the tool's mentions by
    id."""
    analyzer, tool_id = _analyzer(of.analyzers, run), await present_tool(of, run)
    query = Query(partition=tool_id, limit=PAGE, after=page_after(run))
    page = await of.store.query(MENTIONS.name, query)
    mentions = [each for each in page.items if each.get("removed_at") is None]
    before = Comparison.model_validate((run.checkpoint or {}).get("comparison", {}))
    after = await _compared(of, before, tool_id, mentions, analyzer)
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

    def read() -> list[_Read | NotCompared]:
        return [_read(*pair, tool_id, detector) for pair in zip(mentions, articles, strict=True)]

    found = await asyncio.to_thread(read)
    await judge(analyzer, [each[1] for each in found if not isinstance(each, str)])
    for each in found:
        mention, rating = (None, each) if isinstance(each, str) else (each[0], _rating(*each))
        if mention is not None and isinstance(rating, Rating):
            comparison = comparison.with_rating(mention, rating)
        elif not isinstance(rating, Rating):
            comparison = comparison.without(rating)
    return comparison


_Read = tuple[SentimentScore, ArticleAnalysis]
"""A mention with the analysis of its article, which names the tool."""


def _rating(mention: SentimentScore, analysis: ArticleAnalysis) -> Rating | NotCompared:
    """As the writer of mentions takes the score of a tool, or else that of the article. What a person has said of the
    sentiment stays."""
    if mention.corrected:
        return Rating.of_mention(mention)
    assert analysis.scores is not None, "an article that names a tool is judged"
    for score in (analysis.scores.tools[mention.tool_id], analysis.scores.article):
        if not isinstance(score, NotJudged):
            return rating_of_confirmed(mention, Rating.of_score(score))
    return "NOT_JUDGED"


def _read(mention: Document, article: Document | None, tool_id: str, detector: Detector) -> _Read | NotCompared:
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
