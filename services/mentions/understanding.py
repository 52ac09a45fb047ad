"""What an analysis stores: the mentions of an article, the first articles of tools, and the article afterwards. Pure,
but for the asking of an analyzer.

Which texts count for which tool is decided in scoring.py. Reading and writing, in an order that stays right under races
and crashes, is in writing.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any

from models.article import LISTED_SOURCES, Article, Observation, ScoredText
from models.correction import Correction
from models.mention import SentimentScore
from models.stored import WordsJudgement
from models.tool import ANALYZE, ReferenceRole, Tool
from models.values import format_time
from services.articles.reading import article_words
from services.articles.sources import observation_id
from services.mentions.analyzers.port import Analyzer, NotJudged
from services.mentions.corrections import judged_passages, removes, with_verdict
from services.mentions.prose import Prose, prose_of, prose_of_reading
from services.mentions.scoring import (
    Questions,
    Scores,
    Version,
    ask,
    conclude,
    has_fields,
    judged_fields,
    unscored,
    words_judgement,
)
from services.parse.publisher_id import publisher_id
from services.parse.text import folded
from services.tools.detector import Detected, Detector
from services.tools.matching import normalize, tokens

KEY = "#"
"""The mark in the words of an article before what searches do not find it by: keys that are none of its words, and the
tools ever detected. Alone, it says that a full text was analysed, whose keys are too many."""
DEFAULT_LANGUAGE = "en"
"""Of words whose language nobody has decided."""


@dataclass(kw_only=True)
class Words:
    """Words of one revision, with the tools that they name and what is asked about them. `scores` are there once they
    are judged."""

    revision: str
    detected: Mapping[str, Detected]
    questions: Questions
    scores: Scores | None = None

    def judged(self, analyzer: Version) -> dict[str, Any] | None:
        """What they say in general; None if they are not judged, or cannot be."""
        if self.scores is None or isinstance(self.scores.article, NotJudged):
            return None
        return judged_fields(self.scores.article, analyzer)

    def judged_of(self, tool_id: str, analyzer: Version, correction: Correction | None) -> dict[str, Any] | None:
        """What they say of a tool that they name, or else in general; None if they cannot be judged."""
        assert self.scores is not None, "words that name tools are judged first"
        score = self.scores.tools[tool_id]
        fields = self.judged(analyzer) if isinstance(score, NotJudged) else judged_fields(score, analyzer)
        if fields is None:
            return None
        said = judged_passages(self.questions, tool_id) if correction is not None else ()
        return with_verdict(fields, correction, self.revision, said)


_READ_BY_GROUPING = ("analyzed_revision", "language", "detected_tool_ids", "publisher_id")


@dataclass(kw_only=True)
class ArticleAnalysis(Words):
    """The state of the analysis of one article, and the words of its canonical reading.

    `detected` are the tools that the article names. `tool_ids` are all tools that have, had or get a mention by the
    article. `muted` are the tools that it names and does not mention, since all its sources are muted for them.
    `own_words` are what the first sources say in other words, each revision once; a source with the same words as the
    canonical reading has its judgement, and so has one that is not among the first, unless one of them has its words.
    `corrections` are those of its mentions, by tool. `stored` are its mentions by tool as they were read, `wanted` its
    mentions as they should be. A mention that is right already is the same object in both.
    """

    article: Article
    prose: Prose
    tool_ids: frozenset[str]
    muted: frozenset[str] = frozenset()
    own_words: tuple[Words, ...] = ()
    scored_text: ScoredText = "feed"
    corrections: dict[str, Correction] = field(default_factory=dict)
    stored: dict[str, SentimentScore] = field(default_factory=dict)
    wanted: dict[str, SentimentScore] = field(default_factory=dict)

    @property
    def is_deleted(self) -> bool:
        return self.article.deleted_at is not None

    @cached_property
    def publisher_id(self) -> str | None:
        return publisher_of(self.article)

    @property
    def source_id(self) -> str:
        return self.article.source_id

    @property
    def changes(self) -> list[SentimentScore]:
        """The mentions to be written."""
        return [mention for tool_id, mention in self.wanted.items() if mention is not self.stored.get(tool_id)]


def understand(
    article: Article,
    detector: Detector,
    only: frozenset[str] | None = None,
    other_words: Iterable[Observation] = (),
    full_text: str | None = None,
) -> ArticleAnalysis:
    """The analysis of an article; with `only`, of its mentions of these tools only. `other_words` are observations of
    sources that say it in other words. `full_text` is the text of its page, if that is to be scored.
    """
    prose = prose_of(article, full_text)
    detected, muted = _named(article, prose, detector) if article.deleted_at is None else ({}, frozenset())
    tool_ids = frozenset({*detected, *article.detected_tool_ids, *article.tool_ids_ever_detected})
    questions = ask(prose.headline, prose.text, detected, only, article.language or DEFAULT_LANGUAGE)
    if only is not None:
        detected = {tool_id: each for tool_id, each in detected.items() if tool_id in only}
        tool_ids &= only
        # The article keeps the tools that this analysis is not about.
        muted = (frozenset(article.muted_tool_ids or ()) - only) | (muted & only)
    return ArticleAnalysis(
        revision=article.canonical.revision,
        detected=detected,
        questions=questions,
        article=article,
        prose=prose,
        tool_ids=tool_ids,
        muted=muted,
        own_words=tuple(understand_own_words(article, each, detector, detected, only) for each in other_words),
        scored_text="feed" if full_text is None else "document",
    )


def observations_of_other_words(article: Article) -> dict[str, str]:
    """The revisions of the first sources that differ from the canonical one, each with the id of an observation that
    has its words. Empty for an article that was deleted."""
    found: dict[str, str] = {}
    for source in article.sources[:LISTED_SOURCES] if article.deleted_at is None else ():
        own = article.source_attribution[source]
        if own.revision and own.scraped_at and own.revision != article.canonical.revision:
            found.setdefault(own.revision, observation_id(source, format_time(own.scraped_at)))
    return found


def understand_own_words(
    article: Article,
    observation: Observation,
    detector: Detector,
    tool_ids: Collection[str],
    only: Collection[str] | None = None,
) -> Words:
    """The words of an observation, to be judged in general and for those of `tool_ids` that they name."""
    publishers = {observation.publisher, *(each.source_name for each in article.source_attribution.values())}
    identifying = article.normalized_headline if observation.headline == article.headline else ""
    prose = prose_of_reading(observation.headline, observation.text or "", publishers, observation.url, identifying)
    named = detector.find(prose.headline, prose.text, observation.tags, observation.tickers)
    detected = {tool_id: each for tool_id, each in named.items() if tool_id in tool_ids}
    language = observation.language or DEFAULT_LANGUAGE
    questions = ask(prose.headline, prose.text, detected, only, language)
    return Words(revision=observation.revision, detected=detected, questions=questions)


def detect(article: Article, detector: Detector) -> dict[str, Detected]:
    """The tools that the article names, without those for which all its sources are muted."""
    return _named(article, prose_of(article), detector)[0]


def is_muted(tool: Tool, article: Article) -> bool:
    """Whether only muted sources published the article."""
    muted = tool.muted_sources
    return bool(muted) and set(article.sources) <= set(muted)


def _named(article: Article, prose: Prose, detector: Detector) -> tuple[dict[str, Detected], frozenset[str]]:
    """The tools that the article names, without those for which all its sources are muted; and these."""
    named = detector.find(prose.headline, prose.text, article.tags, article.source_tickers)
    muted = frozenset(tool_id for tool_id in named if is_muted(detector.tools[tool_id], article))
    return {tool_id: each for tool_id, each in named.items() if tool_id not in muted}, muted


def publisher_of(article: Article) -> str | None:
    """The publisher of the canonical reading, the same for all outlets of one owner; None if it is unknown."""
    reading = article.canonical
    text = article.text_for_analysis or ""
    return publisher_id(reading.url, reading.publisher, reading.publisher_url, reading.headline, text)


def published_at(article: Article) -> datetime:
    """The time that decides which windows count the article: its publication, or when it was first seen if earlier."""
    return min(article.timestamp, article.created_at)


def with_tools_listed(analysis: ArticleAnalysis) -> Article:
    """The article with all of `tool_ids` in `tool_ids_ever_detected`; the same object if all are listed."""
    article = analysis.article
    if analysis.tool_ids <= set(article.tool_ids_ever_detected):
        return article
    listed = tuple(sorted({*article.tool_ids_ever_detected, *analysis.tool_ids}))
    words = tuple(dict.fromkeys((*(article.words or ()), *(KEY + each for each in listed))))
    return article.changed(article.updated_at, tool_ids_ever_detected=listed, words=words)


def no_longer_active(analyses: Sequence[ArticleAnalysis], tools: Mapping[str, Tool]) -> set[str]:
    """The tools that were detected and are not active: the detector is outdated."""
    detected = {tool_id for analysis in analyses for tool_id in analysis.detected}
    return {tool_id for tool_id in detected & tools.keys() if tools[tool_id].status != "ACTIVE"}


def with_first_articles(
    analyses: Sequence[ArticleAnalysis], tools: Mapping[str, Tool], scored_by: str, now: datetime
) -> dict[str, Tool]:
    """The tools that have no first article and get one: the earliest of the articles that name them."""
    found: dict[str, Tool] = {}
    for tool_id, tool in tools.items():
        naming = [
            each.article for each in analyses if tool_id in each.detected and not removes(each.corrections.get(tool_id))
        ]
        if naming and tool.discovery_reference is None:
            first = min(naming, key=lambda article: (published_at(article), article.source_id))
            day = published_at(first).date().isoformat()
            found[tool_id] = tool.changed(
                now, discovery_reference=first.source_id, discovery_date=day, scored_by=scored_by
            )
    return found


def wanted_mentions(
    analysis: ArticleAnalysis, tools: Mapping[str, Tool], analyzer: Version, now: datetime, workflow: str = ANALYZE
) -> dict[str, SentimentScore]:
    """The article's mentions as they should be, by tool. The workflow adds those that are new."""
    wanted: dict[str, SentimentScore] = {}
    for tool_id in sorted(analysis.tool_ids):
        tool, stored = tools.get(tool_id), analysis.stored.get(tool_id)
        correction = analysis.corrections.get(tool_id)
        if tool is not None and tool_id in analysis.detected and not removes(correction):
            wanted[tool_id] = mention(analysis, tool, analyzer, now, workflow)
        elif stored is not None:
            # A deprecated tool is not detected any more, and keeps the mentions that it has.
            keeps = tool is not None and tool.status == "DEPRECATED" and not analysis.is_deleted
            wanted[tool_id] = stored if keeps and not removes(correction) else stored.removed(now)
    return wanted


def mention(
    analysis: ArticleAnalysis, tool: Tool, analyzer: Version, now: datetime, workflow: str = ANALYZE
) -> SentimentScore:
    """The mention of a tool that the article names. The publication time of a stored mention never changes."""
    article, detected = analysis.article, analysis.detected[tool.tool_id]
    reading, stored = article.canonical, analysis.stored.get(tool.tool_id)
    present = stored if stored is not None and stored.counts else None
    judged = analysis.judged_of(tool.tool_id, analyzer, analysis.corrections.get(tool.tool_id))
    assert judged is not None, "an article that cannot be judged has failed before"
    fields: dict[str, Any] = {
        **judged,
        "role": role_of(tool, article, detected, analysis.scored_text),
        "revision": reading.revision,
        "other_words": _of_other_words(analysis, tool.tool_id, analyzer),
        "matches": detected.matches,
        "source": reading.source,
        "publisher": reading.publisher,
        "publisher_id": analysis.publisher_id,
        "headline": reading.headline,
        "url": reading.url,
        # The grouping changes the story of a mention that there is. It writes mentions before their article, so what is
        # read here of the article may be older.
        "event_id": (present.event_id if present is not None else None) or article.event_id,
        "added_by_workflow": workflow if present is None else present.added_by_workflow,
        "removed_at": None,
    }
    if stored is not None:
        return stored if has_fields(stored, fields) else stored.changed(now, **fields)
    return SentimentScore(
        created_at=now,
        tool_id=tool.tool_id,
        source_id=article.source_id,
        published_at=published_at(article),
        **fields,
    )


def _of_other_words(
    analysis: ArticleAnalysis, tool_id: str, analyzer: Version
) -> dict[str, WordsJudgement | None] | None:
    """What the own words of sources say of the tool, by revision. Words that cannot be judged are left out."""
    found: dict[str, WordsJudgement | None] = {}
    for own in analysis.own_words:
        if tool_id not in own.detected:
            found[own.revision] = None
        elif (judged := own.judged_of(tool_id, analyzer, analysis.corrections.get(tool_id))) is not None:
            found[own.revision] = words_judgement(judged)
    return found or None


def role_of(tool: Tool, article: Article, detected: Detected, scored_text: ScoredText = "feed") -> ReferenceRole:
    """DOCUMENT_SOURCE: the full text of the article's page names the tool, and its headline does not."""
    if tool.discovery_reference == article.source_id:
        return "DISCOVERY"
    if scored_text == "document" and detected.text_spans and not detected.headline_spans:
        return "DOCUMENT_SOURCE"
    return "TIMELINE_SOURCE" if detected.headline_spans or detected.text_spans else "OTHER"


async def judge(analyzer: Analyzer, analyses: Iterable[ArticleAnalysis]) -> None:
    """Gives each analysis its scores. Words in a language that the analyzer does not know are unscored. Raises
    Unavailable if the analyzer does not answer."""
    asked: list[Words] = []
    for words in [words for each in analyses if not each.is_deleted for words in (each, *each.own_words)]:
        if words.questions.language in analyzer.languages:
            asked.append(words)
        else:
            words.scores = unscored(words.questions, "LANGUAGE")
    passages = [passage for words in asked for passage in words.questions.passages]
    judgements = iter(await analyzer.analyze(passages) if passages else ())
    for words in asked:
        words.scores = conclude(words.questions, list(islice(judgements, len(words.questions.passages))))


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
    judged = analysis.judged(analyzer)
    if judged is not None and (whole or article.analyzed_at is not None):
        fields |= judged
        fields["scored_headline"] = article.canonical.headline
        fields["scored_text"] = "document" if analysis.scored_text == "document" else None
        fields["other_words"] = _other_words(analysis, analyzer)
        if whole:
            fields |= _analyzed(analysis)
    if has_fields(article, fields):
        return article
    if _concerns_grouping(article, fields):
        fields["grouping_due_since"] = article.grouping_due_since or now
    if "scored_headline" in fields:
        fields["analyzed_at"] = now
    if whole and article.status == "error":
        article = article.changed(now, status="pending")
    return article.changed(now, **fields)


def _other_words(analysis: ArticleAnalysis, analyzer: Version) -> dict[str, WordsJudgement] | None:
    """What the own words of sources say in general, by revision."""
    judged = {own.revision: own.judged(analyzer) for own in analysis.own_words}
    return {revision: words_judgement(fields) for revision, fields in judged.items() if fields is not None} or None


def _concerns_grouping(article: Article, after: Mapping[str, Any]) -> bool:
    """Whether the grouping must see the analysed article: it has no story yet, or what the grouping reads of it has
    changed. Of a deleted article, its tombstone says so."""
    if article.deleted_at is not None or ("analyzed_revision" not in after and article.analyzed_at is None):
        return False
    return article.event_id is None or any(
        name in after and after[name] != getattr(article, name) for name in _READ_BY_GROUPING
    )


def _analyzed(analysis: ArticleAnalysis) -> dict[str, Any]:
    """The fields of an article that was analysed as a whole."""
    sourced = analysis.article.source_tickers
    tickers = dict.fromkeys(one for each in analysis.detected.values() for one in each.tickers if one not in sourced)
    return {
        "status": "analyzed",
        "language": analysis.article.language or analysis.questions.language,
        "publisher_id": analysis.publisher_id,
        "analyzed_revision": analysis.article.canonical.revision,
        "words": words_of_analysis(analysis),
        "matched_tickers": (*sourced, *tickers),
        "detected_tickers": tuple(tickers),
        "analysis_attempts": 0,
        "last_error_fingerprint": None,
    }


def words_of_analysis(analysis: ArticleAnalysis) -> tuple[str, ...]:
    """The words by which searches find the article, and what backfills find it by."""
    article, is_document = analysis.article, analysis.scored_text == "document"
    words, text = article_words(article), "" if is_document else analysis.prose.text
    keys = keys_of(article.canonical.headline, text, *article.tags, *article.source_tickers).difference(words)
    marked = (*sorted(keys), *article.tool_ids_ever_detected, *([""] if is_document else ()))
    return (*words, *(KEY + each for each in marked))


def keys_of(*texts: str) -> set[str]:
    """The words by which stored texts are found: a name is only in texts that have all its keys. A letter alone, a
    short number and a script without spaces give none."""
    words = tokens(normalize(" ".join(texts)).text, unspaced=False)
    return {word if word.isascii() else folded(word) for word in words if len(word) > (3 if word.isdigit() else 1)}
