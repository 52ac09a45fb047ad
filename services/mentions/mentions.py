"""What a mention of a tool by an article says, given what was detected and judged. Pure; storing is intake.py's."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from models.article import Article
from models.mention import SentimentScore
from models.tool import Reference, ReferenceRole, Tool, ToolReference
from services.mentions.analyzers.port import Judgement
from services.mentions.scoring import Names
from services.mentions.sentences import Span
from services.tools.detector import Detected


def source_tickers(article: Article) -> tuple[str, ...]:
    """Those that sources gave the article; the others were found in words that may have been edited since."""
    return tuple(each for each in article.matched_tickers if each not in article.detected_tickers)


def published_at(article: Article) -> datetime:
    """What windows go by: never later than the article was first seen."""
    return min(article.timestamp, article.created_at)


def named(detected: Mapping[str, Detected]) -> dict[str, Names]:
    """In the form in which scoring asks."""
    return {
        tool_id: Names(
            tuple(Span(*span) for span in each.headline_spans), tuple(Span(*span) for span in each.text_spans)
        )
        for tool_id, each in detected.items()
    }


def role_of(tool: Tool, article: Article, detected: Detected) -> ReferenceRole:
    if tool.discovery_reference == article.source_id:
        return "DISCOVERY"
    return "TIMELINE_SOURCE" if detected.headline_spans or detected.text_spans else "OTHER"


def mention(
    before: SentimentScore | None,
    article: Article,
    tool: Tool,
    detected: Detected,
    judgement: Judgement,
    analyzer: tuple[str, str],
    now: datetime,
) -> SentimentScore:
    """The mention as it should be; `before` itself if it is so already. When it was published never changes."""
    reading = article.canonical
    says: dict[str, Any] = {
        "role": role_of(tool, article, detected),
        "sentiment": judgement.sentiment,
        "score": judgement.score,
        "polarity": judgement.polarity,
        "analyzer": analyzer[0],
        "analyzer_version": analyzer[1],
        "revision": reading.revision,
        "matches": detected.matches,
        "source": reading.source,
        "publisher": reading.publisher,
        "headline": reading.headline,
        "url": reading.url,
        "event_id": article.event_id,
        "removed_at": None,
    }
    if before is None:
        return SentimentScore(
            created_at=now,
            updated_at=now,
            tool_id=tool.tool_id,
            source_id=article.source_id,
            published_at=published_at(article),
            **says,
        )
    if all(getattr(before, name) == value for name, value in says.items()):
        return before
    return before.changed(now, **says)


def removed(before: SentimentScore, now: datetime) -> SentimentScore:
    """The tombstone; `before` itself if it is one."""
    return before if before.removed_at is not None else before.changed(now, removed_at=now)


def discovery(tool_id: str, article: Article, now: datetime) -> ToolReference:
    """That this article is the first to name the tool, and what of it outlives the article."""
    reading = article.canonical
    reference = Reference(
        reference_id=article.source_id,
        source=reading.source,
        source_identifier=article.source_attribution[reading.source].article_id,
        published_at=published_at(article),
        title=reading.headline,
    )
    return ToolReference(
        created_at=now,
        updated_at=now,
        tool_id=tool_id,
        reference_id=article.source_id,
        role="DISCOVERY",
        added_by_workflow="analyze_articles",
        reference=reference,
    )
