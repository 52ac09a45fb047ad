"""What an analysis stores: the mentions of an article, the first references of tools, and the article itself. Pure.

Which texts count for which tool is decided in scoring.py. Reading and writing, in an order that stays right under races
and crashes, is in writing.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from models.article import Article
from models.correction import Correction
from models.mention import SentimentScore
from models.tool import Reference, ReferenceRole, Tool, ToolReference
from models.values import UNKNOWN_LANGUAGE
from services.mentions.analyzers.port import NotJudged
from services.mentions.corrections import corrected, judged_passages, removes, with_verdict
from services.mentions.prose import Prose, prose_of
from services.mentions.scoring import Questions, Score, Scores, Unscored, ask
from services.parse.language import decide
from services.ports import Document
from services.tools.detector import Detected, Detector

LANGUAGE_OF_OLDER_ARTICLES = "en"
"""Articles that an earlier version stored have no language, and were all scored as English. They stay so, unless their
text tells another language."""

Version = tuple[str, str]
"""The analyzer's name and version."""


@dataclass(slots=True)
class ArticleAnalysis:
    """The state of the analysis of one article.

    `detected` are the tools that the article names. `tool_ids` are all tools that have, had or get a mention by the
    article. `muted` are the tools that it names and does not mention, since all its sources are muted for them.
    `corrections` are those of its mentions, by tool. `questions` is None for a deleted article. `stored` are its
    mentions by tool as they were read, `wanted` its mentions as they should be. A mention that is right already is the
    same object in both.
    """

    article: Article
    detected: Mapping[str, Detected]
    tool_ids: frozenset[str]
    questions: Questions | None
    scores: Scores | None = None
    muted: frozenset[str] = frozenset()
    corrections: dict[str, Correction] = field(default_factory=dict)
    stored: dict[str, SentimentScore] = field(default_factory=dict)
    wanted: dict[str, SentimentScore] = field(default_factory=dict)

    @property
    def source_id(self) -> str:
        return self.article.source_id

    @property
    def changes(self) -> list[SentimentScore]:
        """The mentions to be written."""
        return [mention for tool_id, mention in self.wanted.items() if mention is not self.stored.get(tool_id)]


def understand(document: Document, detector: Detector, only: frozenset[str] | None = None) -> ArticleAnalysis:
    """The analysis of an article; with `only`, of its mentions of these tools only.

    Raises UnreadableDocument for a document that is not an article.
    """
    article = Article.from_document(document)
    is_deleted = article.deleted_at is not None
    prose = prose_of(article)
    named = {} if is_deleted else _named(article, prose, detector)
    muted = frozenset(tool_id for tool_id in named if is_muted(detector.tools[tool_id], article))
    detected = {tool_id: each for tool_id, each in named.items() if tool_id not in muted}
    tool_ids = frozenset({*detected, *article.detected_tool_ids, *article.tool_ids_ever_detected})
    questions = None
    if not is_deleted:
        questions = ask(prose.headline, prose.text, detected, only, article.language or _language(prose))
    if only is not None:
        detected = {tool_id: each for tool_id, each in detected.items() if tool_id in only}
        tool_ids &= only
        # The article keeps the tools that this analysis is not about.
        muted = (frozenset(article.muted_tool_ids or ()) - only) | (muted & only)
    return ArticleAnalysis(article, detected, tool_ids, questions, muted=muted)


def detect(article: Article, detector: Detector) -> dict[str, Detected]:
    """The tools that the article names, without those for which all its sources are muted."""
    named = _named(article, prose_of(article), detector)
    return {tool_id: each for tool_id, each in named.items() if not is_muted(detector.tools[tool_id], article)}


def is_muted(tool: Tool, article: Article) -> bool:
    """Whether only muted sources published the article. Further sources are not known here, and count as not muted."""
    muted = tool.muted_sources
    return bool(muted) and not article.has_further_sources and set(article.sources) <= set(muted)


def _named(article: Article, prose: Prose, detector: Detector) -> dict[str, Detected]:
    return detector.find(prose.headline, prose.text, article.tags, source_tickers(article))


def _language(prose: Prose) -> str:
    """The language of an article that an earlier version stored."""
    language = decide(prose.headline, prose.text, "", {}).language
    return LANGUAGE_OF_OLDER_ARTICLES if language == UNKNOWN_LANGUAGE else language


def source_tickers(article: Article) -> tuple[str, ...]:
    """The tickers that sources gave the article. The analysis found the other tickers in
    the text, which may have been edited since."""
    return tuple(each for each in article.matched_tickers if each not in article.detected_tickers)


def published_at(article: Article) -> datetime:
    """The time that decides which windows count the article: its publication, or when it was first seen if earlier."""
    return min(article.timestamp, article.created_at)


def with_tools_listed(analysis: ArticleAnalysis) -> Article:
    """The article with all of `tool_ids` in `tool_ids_ever_detected`; the same object if all are listed."""
    article = analysis.article
    if analysis.tool_ids <= set(article.tool_ids_ever_detected):
        return article
    listed = tuple(sorted({*article.tool_ids_ever_detected, *analysis.tool_ids}))
    return article.changed(article.updated_at, tool_ids_ever_detected=listed)


def no_longer_active(analyses: Sequence[ArticleAnalysis], tools: Mapping[str, Tool]) -> set[str]:
    """The tools that were detected and are not active: the detector is outdated."""
    detected = {tool_id for analysis in analyses for tool_id in analysis.detected}
    return {tool_id for tool_id in detected & tools.keys() if tools[tool_id].status != "ACTIVE"}


def first_references(
    analyses: Sequence[ArticleAnalysis], tools: Mapping[str, Tool], scored_by: str, now: datetime
) -> dict[str, tuple[Tool, ToolReference]]:
    """The tools whose first reference is one of these articles, with that reference.

    A tool without a first reference gets the earliest of the articles that name it. Other tools stay the same object.
    """
    found: dict[str, tuple[Tool, ToolReference]] = {}
    for tool_id, tool in tools.items():
        naming = {
            each.source_id: each.article
            for each in analyses
            if tool_id in each.detected and not removes(each.corrections.get(tool_id))
        }
        after = tool
        if naming and tool.discovery_reference is None:
            first = min(naming.values(), key=lambda article: (published_at(article), article.source_id))
            day = published_at(first).date().isoformat()
            after = tool.changed(now, discovery_reference=first.source_id, discovery_date=day, scored_by=scored_by)
        if after.discovery_reference in naming:
            found[tool_id] = after, _first_reference(tool_id, naming[after.discovery_reference], now)
    return found


def _first_reference(tool_id: str, article: Article, now: datetime) -> ToolReference:
    reading = article.canonical
    return ToolReference(
        created_at=now,
        updated_at=now,
        tool_id=tool_id,
        reference_id=article.source_id,
        role="DISCOVERY",
        added_by_workflow="analyze_articles",
        reference=Reference(
            reference_id=article.source_id,
            source=reading.source,
            source_identifier=reading.article_id or article.source_attribution[reading.source].article_id,
            published_at=published_at(article),
            title=reading.headline,
        ),
    )


def wanted_mentions(
    analysis: ArticleAnalysis, tools: Mapping[str, Tool], analyzer: Version, now: datetime
) -> dict[str, SentimentScore]:
    """The article's mentions as they should be, by tool."""
    wanted: dict[str, SentimentScore] = {}
    for tool_id in sorted(analysis.tool_ids):
        tool, stored = tools.get(tool_id), analysis.stored.get(tool_id)
        correction = analysis.corrections.get(tool_id)
        if tool is not None and tool_id in analysis.detected and not removes(correction):
            wanted[tool_id] = mention(analysis, tool, analyzer, now)
        elif stored is not None:
            # A deprecated tool is not detected any more, and keeps the mentions that it has.
            keeps = tool is not None and tool.status == "DEPRECATED" and analysis.article.deleted_at is None
            if keeps and not removes(correction):
                wanted[tool_id] = stored if correction is None else corrected(stored, correction, now)
            else:
                wanted[tool_id] = removed(stored, now)
    return wanted


def mention(analysis: ArticleAnalysis, tool: Tool, analyzer: Version, now: datetime) -> SentimentScore:
    """The mention of a tool that the article names. The publication time of a stored mention never changes."""
    article, detected = analysis.article, analysis.detected[tool.tool_id]
    reading, stored = article.canonical, analysis.stored.get(tool.tool_id)
    assert analysis.scores is not None, "an article that names tools is scored first"
    judgement = analysis.scores.tools[tool.tool_id]
    if isinstance(judgement, NotJudged):
        judgement = analysis.scores.article
    correction = analysis.corrections.get(tool.tool_id)
    assert analysis.questions is not None
    said = judged_passages(analysis.questions, tool.tool_id) if correction is not None else ()
    fields: dict[str, Any] = {
        **with_verdict(_judged(judgement, analyzer), correction, reading.revision, said),
        "role": role_of(tool, article, detected),
        "revision": reading.revision,
        "matches": detected.matches,
        "source": reading.source,
        "publisher": reading.publisher,
        "headline": reading.headline,
        "url": reading.url,
        "event_id": article.event_id,
        "removed_at": None,
    }
    if stored is not None:
        return stored if _has(stored, fields) else stored.changed(now, **fields)
    return SentimentScore(
        created_at=now,
        updated_at=now,
        tool_id=tool.tool_id,
        source_id=article.source_id,
        published_at=published_at(article),
        **fields,
    )


def role_of(tool: Tool, article: Article, detected: Detected) -> ReferenceRole:
    if tool.discovery_reference == article.source_id:
        return "DISCOVERY"
    return "TIMELINE_SOURCE" if detected.headline_spans or detected.text_spans else "OTHER"


def removed(stored: SentimentScore, now: datetime) -> SentimentScore:
    """The mention as a tombstone; the same object if it is one already."""
    return stored.changed(now, removed_at=now) if stored.counts else stored


def finished(analysis: ArticleAnalysis, analyzer: Version, now: datetime, *, whole: bool) -> Article:
    """The article after its mentions were written; the same object if nothing changes.

    `whole`: the article itself was analysed, not only some tools. Its analysis is then no longer due. Its own score is
    always that of its last analysis, also of one of some tools only.
    """
    article = analysis.article
    others = [each for each in article.detected_tool_ids if each not in analysis.tool_ids]
    counting = [tool_id for tool_id, mention in analysis.wanted.items() if mention.counts]
    fields: dict[str, Any] = {"detected_tool_ids": tuple(sorted({*others, *counting}))}
    fields["muted_tool_ids"] = tuple(sorted(analysis.muted)) or None
    if whole:
        fields["analysis_due_since"] = None
    if analysis.scores is not None and (whole or article.analyzed_at is not None):
        fields |= _judged(analysis.scores.article, analyzer)
        fields["scored_headline"] = article.canonical.headline
        if whole:
            fields |= _analyzed(analysis)
    if _has(article, fields):
        return article
    if "scored_headline" in fields:
        fields["analyzed_at"] = now
    if whole and article.status == "error":
        article = article.changed(now, status="pending")
    return article.changed(now, **fields)


def _analyzed(analysis: ArticleAnalysis) -> dict[str, Any]:
    """The fields of an article that was analysed as a whole."""
    sourced = source_tickers(analysis.article)
    tickers = dict.fromkeys(one for each in analysis.detected.values() for one in each.tickers if one not in sourced)
    assert analysis.questions is not None, "a deleted article is not analysed"
    return {
        "status": "analyzed",
        "language": analysis.article.language or analysis.questions.language,
        "analyzed_revision": analysis.article.canonical.revision,
        "matched_tickers": (*sourced, *tickers),
        "detected_tickers": tuple(tickers),
        "analysis_attempts": 0,
        "last_error_fingerprint": None,
    }


def _judged(score: Score, analyzer: Version) -> dict[str, Any]:
    """The fields that mentions and articles have in common."""
    assert not isinstance(score, NotJudged), "an article that cannot be judged has failed before"
    name, version = analyzer
    fields: dict[str, Any] = {"analyzer": name, "analyzer_version": version}
    if isinstance(score, Unscored):
        return {**fields, "sentiment": None, "score": None, "polarity": None, "unscored_reason": score.reason}
    return {
        **fields,
        "sentiment": score.sentiment,
        "score": score.score,
        "polarity": score.polarity,
        "unscored_reason": None,
    }


def _has(document: Article | SentimentScore, fields: Mapping[str, Any]) -> bool:
    return all(getattr(document, name) == value for name, value in fields.items())


def fingerprint(failure: str) -> str:
    """A short name for a failure, the same for the same failure, without the text of an article."""
    return f"{failure[:40]}:{hashlib.sha256(failure.encode()).hexdigest()[:8]}"
