"""Stories: articles about one event, and what is stored of each article to find its story and its near-duplicates; and
signals: what a story suggests for a tool, with the stories whose signals are due.

services/stories decides which articles belong together, services/signals what they suggest.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Literal

from pydantic import Field

from models.article import ARTICLE_KEPT, source_id
from models.stored import StoredDocument
from models.values import (
    Count,
    Day,
    Hex32,
    IdPart,
    Language,
    Polarity,
    Share,
    SourceKey,
    Text,
    Time,
    UnixSeconds,
    Value,
    lives,
    optional,
)

_PREFIX = "story:"
STORY_ID = "^story:[0-9]{8}:[0-9a-f]{32}$"
"""The form of the ids of stories."""
Topic = Literal["OUTAGE", "SECURITY", "PRICING", "ACQUISITION"]
"""What a headline names."""
KEY_KEPT = ARTICLE_KEPT + timedelta(days=3)
"""Longer than articles, so that whatever may depend on an article is found until the article expires."""
SILENCE = timedelta(hours=72)
"""An article that is published later than this after another one neither repeats it nor joins its story: after such a
silence, a story is closed."""
LEASE = timedelta(seconds=30)
"""How long a worker may group without renewing its lease. Afterwards another one goes on."""


def event_id(first: str, published_at: datetime) -> str:
    """The id of the story that this article begins: it follows from the article, so that grouping the same articles
    again, in any order, gives the same ids."""
    return f"{_PREFIX}{published_at.astimezone(UTC):%Y%m%d}:{first.removeprefix('dedup:')}"


def day_of(event: str) -> str:
    """The partition of a story, of its first article and of its members of that day. Raises ValueError for a text that
    is not an event_id."""
    prefix, day, key = (*event.split(":"), "", "")[:3]
    if f"{prefix}:" != _PREFIX or len(day) != 8 or not day.isdigit() or len(key) != 32:
        raise ValueError("must be the id of a story, such as story:20260221:<32 hexadecimal characters>")
    return f"{day[:4]}-{day[4:6]}-{day[6:]}"


def first_article(event: str) -> str:
    """The source_id of the article that begins the story."""
    return source_id(event.rsplit(":", 1)[1])


class Reason(Value):
    """Why an article was put with another: an entry of the merge ledger."""

    rule: Text = Field(description="The rule that put them together; `person`: a person did.")
    score: Share | None = optional("How alike they are by this rule, 0 to 1; null if the rule has no such figure.")
    fields: dict[Text, float | str | None] = Field(default_factory=dict, description="What the rule compared, by name.")
    with_article: IdPart | None = optional("The article that it was compared with.")
    correction_id: IdPart | None = optional("The correction, if a person said so.")


class _OfStories(StoredDocument):
    """A document of the container `stories`."""

    CONTAINER: ClassVar[str] = "stories"
    PARTITION_FIELD: ClassVar[str] = "day"

    day: Day


class StoryMember(_OfStories):
    """What the grouping knows of one article, in the partition of the day on which it was published.

    * `signature`: what similarities are computed from (services/stories/signature.py), without the article's text.
    * `detected_tool_ids`, `article_sources`: as the article had them when it was grouped, so that its story is counted
      from members alone. `words` are those of its headlines, `topics` what they name.
    * `event_id`, `story_reason`: its story, and why; null for the article that begins the story. `opening`: the article
      that stands for the story when further articles are compared with it.
    * `near_duplicate_of`, `near_duplicate_reason`: the first of the articles that it repeats, and why.
    """

    ID_OF: ClassVar[str] = "source_id"

    entity_type: Literal["StoryMember"] = "StoryMember"
    ttl_timestamp: UnixSeconds | None = lives(days=ARTICLE_KEPT.days)
    source_id: IdPart = Field(description="The article.")
    published_at: Time = Field(description="When it was published, as it was grouped.")
    language: Language | None = optional("Its language, as it was grouped.")
    publisher_id: Text | None = optional("Its publisher, as it was grouped.")
    signature: dict[str, Any]
    detected_tool_ids: tuple[IdPart, ...] = ()
    article_sources: tuple[SourceKey, ...] = ()
    words: tuple[Text, ...] = ()
    topics: tuple[Topic, ...] = ()
    event_id: IdPart | None = None
    opening: IdPart | None = None
    story_reason: Reason | None = None
    near_duplicate_of: IdPart | None = optional(
        "The article that it repeats in almost the same words; null if it repeats none."
    )
    near_duplicate_reason: Reason | None = optional("Why these are near-duplicates; null if it repeats none.")


class Story(_OfStories):
    """A story of two articles or more, counted from its members: in the partition of the day of the article that began
    it, which names it. An article that was published earlier and found later may join it.

    `words` are those of the headlines of all its articles: searches find the story by them. A story of one article has
    no document: its article's StoryMember says all. The document expires with the first of its articles to expire, so
    that it never counts an article that is gone.
    """

    ID_OF: ClassVar[str] = "event_id"
    HIDDEN: ClassVar[frozenset[str]] = frozenset({"words"})

    entity_type: Literal["Story"] = "Story"
    ttl_timestamp: UnixSeconds | None = lives(days=ARTICLE_KEPT.days)
    event_id: IdPart = Field(
        description="The id. It names the article that begins the story: if this article leaves the story, or an "
        "earlier one joins it, the story gets another id."
    )
    headline: Text = Field(description="The headline of its first article.")
    published_at: Time = Field(description="When its first article was published.")
    timestamp: Time = Field(description="When its last article was published.")
    language: Language | None = optional("The language of its first article.")
    article_count: Count = Field(description="The number of its articles.")
    near_duplicate_count: Count = Field(description="How many of them repeat another article.")
    publisher_ids: tuple[Text, ...] = Field(
        default=(),
        description="Its publishers, at most 100; where the publisher of an article is not known, its first source "
        "stands for it (`source:` and the source's id).",
    )
    publisher_count: Count = Field(
        description="The number of its publishers, also those that `publisher_ids` leaves out."
    )
    tool_ids: tuple[IdPart, ...] = Field(default=(), description="The tools that its articles mention, at most 100.")
    sources: tuple[SourceKey, ...] = Field(default=(), description="The first 20 sources of each article, at most 100.")
    topics: tuple[Topic, ...] = Field(
        default=(),
        description="What at least half of the headlines name: `OUTAGE`, `SECURITY`, `PRICING`, `ACQUISITION`.",
    )
    words: tuple[Text, ...] = ()


def key_id(key: str) -> str:
    """The partition and the id of the document of a key."""
    return f"group:{key}"


class GroupingKey(StoredDocument):
    """Articles with one key of their signatures: each with the minute of its publication, counted from 1970."""

    CONTAINER: ClassVar[str] = "locators"
    PARTITION_FIELD: ClassVar[str] = "locator"

    entity_type: Literal["GroupingKey"] = "GroupingKey"
    ttl_timestamp: UnixSeconds | None = lives(days=KEY_KEPT.days)
    key: IdPart
    articles: dict[Hex32, int]

    @property
    def id(self) -> str:
        return self.partition

    @property
    def partition(self) -> str:
        return key_id(self.key)


class GroupingLease(StoredDocument):
    """The lease of the grouping. Which worker groups articles, until `ttl_timestamp`: one at a time."""

    PARTITION: ClassVar[str] = "GROUPING"
    ID: ClassVar[str] = "lease"

    entity_type: Literal["GroupingLease"] = "GroupingLease"
    ttl_timestamp: UnixSeconds | None = lives(seconds=LEASE.total_seconds())
    holder: IdPart


class RemovedStory(_OfStories):
    """The mark of a story that was removed.

    Says that a story has no document any more: it has fewer than two articles. An export reads it.
    """

    COMPUTED: ClassVar[tuple[str, ...]] = ("removed_id",)
    KIND: ClassVar[str] = "RemovedStory"

    entity_type: Literal["RemovedStory"] = "RemovedStory"
    ttl_timestamp: UnixSeconds | None = lives(days=ARTICLE_KEPT.days)
    event_id: IdPart
    removed_at: Time

    @property
    def removed_id(self) -> str:
        return self.event_id

    @property
    def id(self) -> str:
        return f"removed:{self.event_id}"


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


class SignalsDue(_OfStories):
    """The mark of a story whose signals are due.

    The signals of a story are due to be decided: its articles, or what they say of tools, have changed.

    It is written after the change, by whoever makes it, and deleted after the signals were written. `tries` counts the
    failures; a story that was given up has no `signals_due_at`.
    """

    entity_type: Literal["SignalsDue"] = "SignalsDue"
    ttl_timestamp: UnixSeconds | None = lives(days=ARTICLE_KEPT.days)
    event_id: IdPart
    signals_due_at: Time | None = None
    tries: Count = 0
    error: Text | None = None

    @property
    def id(self) -> str:
        return due_id(self.event_id)


def due_id(event_id: str) -> str:
    return f"signals-due:{event_id}"
