"""Signals: what a story suggests for a tool. Also the stories whose signals are due to be decided.

services/signals decides them.
"""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar, Literal

from pydantic import Field

from models.article import ARTICLE_KEPT
from models.stored import StoredDocument
from models.story import Topic
from models.values import Count, Day, IdPart, Polarity, Text, Time, UnixSeconds, Value, lives, optional

SignalKind = Literal["NEW", "GROWING", "REVERSED", "FIRST_OF_ITS_KIND"]
MAX_NAMED = 20
"""The articles, and the publishers, that a signal names as evidence."""
SIGNAL_KEPT = timedelta(days=90)


class Side(Value):
    """Articles that mention the tool."""

    articles: Count = Field(default=0, description="How many articles mention the tool.")
    publishers: Count | None = optional("How many publishers these are of; null if that is not known.")
    average_sentiment: Polarity | None = optional("Mean `polarity` of their scored mentions; null if none was scored.")


NOBODY = Side(articles=0, publishers=0)


class Signal(StoredDocument):
    """What one story suggests for one tool. Its id follows from kind and story: deciding again writes nothing new.

    services/signals/rules.py says how `before` and `after` are compared. A signal with `withdrawn_at` does not hold any
    more: articles were deleted, split off or corrected.
    """

    CONTAINER: ClassVar[str] = "signals"
    PARTITION_FIELD: ClassVar[str] = "tool_id"

    entity_type: Literal["Signal"] = "Signal"
    ttl_timestamp: UnixSeconds | None = lives(days=SIGNAL_KEPT.days)
    tool_id: IdPart = Field(description="The tool.")
    event_id: IdPart = Field(description="The story.")
    kind: SignalKind = Field(
        description="`NEW`, `GROWING`, `REVERSED` or `FIRST_OF_ITS_KIND`; docs/api.md says when each is made."
    )
    timestamp: Time = Field(description="When it happened: the publication time of the article that made it so.")
    story_published_at: Time = Field(description="When the first article of the story was published.")
    reason: Text = Field(description="A sentence that says why.")
    before: Side = Field(default=NOBODY, description="What `after` is compared with.")
    after: Side = Field(default=NOBODY, description="The articles that made it so.")
    compared_with: Literal["STORY", "WEEK"] | None = optional(
        "Of a reversal, what is before: `STORY` (earlier articles of the story) or `WEEK` (the scored mentions of "
        "the seven days before the story); else null."
    )
    topic: Topic | None = optional("Of the first story of its kind, the topic; else null.")
    days: Count | None = optional("Of the first story of its kind, the days before it that were looked at; else null.")
    publishers: tuple[Text, ...] = Field(
        default=(), max_length=MAX_NAMED, description="The first 20 publishers that made it so."
    )
    articles: tuple[IdPart, ...] = Field(
        default=(), max_length=MAX_NAMED, description="The first 20 articles that made it so."
    )
    withdrawn_at: Time | None = optional("Since when it does not hold any more; null while it holds.")

    @property
    def id(self) -> str:
        return signal_id(self.kind, self.topic, self.event_id)


def signal_id(kind: SignalKind, topic: Topic | None, event_id: str) -> str:
    return f"{kind}:{event_id}" if topic is None else f"{kind}:{topic}:{event_id}"


class SignalsDue(StoredDocument):
    """The mark of a story whose signals are due.

    The signals of a story are due to be decided: its articles, or what they say of tools, have changed.

    It is written after the change, by whoever makes it, and deleted after the signals were written. `tries` counts the
    failures; a story that was given up has no `signals_due_at`.
    """

    CONTAINER: ClassVar[str] = "stories"
    PARTITION_FIELD: ClassVar[str] = "day"

    entity_type: Literal["SignalsDue"] = "SignalsDue"
    ttl_timestamp: UnixSeconds | None = lives(days=ARTICLE_KEPT.days)
    day: Day
    event_id: IdPart
    signals_due_at: Time | None = None
    tries: Count = 0
    error: Text | None = None

    @property
    def id(self) -> str:
        return due_id(self.event_id)


def due_id(event_id: str) -> str:
    return f"signals-due:{event_id}"
