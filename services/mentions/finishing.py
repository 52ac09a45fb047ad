"""The article after its mentions were written: its score, its tools, and what is due next. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from models.article import Article
from models.scored import WordsJudgement
from services.articles.words import article_words
from services.mentions.analyzers.port import NotJudged
from services.mentions.scoring import Version, has_fields, judged_fields, words_judgement
from services.mentions.understanding import ArticleAnalysis, source_tickers

_READ_BY_GROUPING = ("analyzed_revision", "language", "detected_tool_ids", "publisher_id")


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
        fields |= judged_fields(analysis.scores.article, analyzer)
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
    found = {}
    for own in analysis.own_words:
        if own.scores is not None and not isinstance(own.scores.article, NotJudged):
            found[own.revision] = words_judgement(judged_fields(own.scores.article, analyzer))
    return found or None


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
    sourced = source_tickers(analysis.article)
    tickers = dict.fromkeys(one for each in analysis.detected.values() for one in each.tickers if one not in sourced)
    assert analysis.questions is not None, "a deleted article is not analysed"
    return {
        "status": "analyzed",
        "language": analysis.article.language or analysis.questions.language,
        "publisher_id": analysis.publisher_id,
        "analyzed_revision": analysis.article.canonical.revision,
        "words": article_words(analysis.article),
        "matched_tickers": (*sourced, *tickers),
        "detected_tickers": tuple(tickers),
        "analysis_attempts": 0,
        "last_error_fingerprint": None,
    }
