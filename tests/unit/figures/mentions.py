"""Mentions as they are stored, with the fields that are counted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from models.values import format_time
from services.figures.counting import MentionCount
from services.ports import Document


def a_mention(
    at: datetime = datetime(2026, 2, 21, 20, 17, tzinfo=UTC), polarity: float | None = 0.5, **changes: Any
) -> Document:
    """Without a polarity, it is unscored."""
    said: Document = {"polarity": polarity, "sentiment": "positive" if polarity and polarity > 0 else "neutral"}
    if polarity is None:
        said = {"unscored_reason": "LANGUAGE"}
    elif polarity < 0:
        said["sentiment"] = "negative"
    own = {"id": "m", "published_at": format_time(at), "analyzer": "embedded", "analyzer_version": "1"}
    return {**own, "source": "feed-a", **said, **changes}


def counted(*mentions: Document) -> MentionCount:
    count = MentionCount()
    for mention in mentions:
        count.add(mention)
    return count
