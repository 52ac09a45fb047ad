"""A feed: where it is, how it behaves, when it is due, who is fetching it, and what of it was seen lately.

The columns of the specification's feed_schedules and feed_stats, flat. API sources are feeds of their own kind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from models.article import LOWEST_PRIORITY
from models.stored import StoredDocument
from models.values import Amount, Count, Flag, IdPart, Sha256, SourceKey, Text, Time, WebUrl

Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
FeedKind = Literal["feed", "tiingo", "finnhub"]
API_SOURCES = ("tiingo", "finnhub")
HOURS = 24
HASH_LENGTH = 16


def feed_id_of(url: str) -> str:
    """The specification's: stable, and no secret."""
    return hashlib.md5(url.encode(), usedforsecurity=False).hexdigest()[:16]


def _no_history_yet(value: Any) -> Any:
    return (0.0,) * HOURS if isinstance(value, (list, tuple)) and not value else value


HourlyDistribution = Annotated[
    tuple[Amount, ...], BeforeValidator(_no_history_yet), Field(min_length=HOURS, max_length=HOURS)
]
"""New articles by UTC hour of the day; the specification's empty array stands for none."""


class Feed(StoredDocument):
    """Schedule, claim, validators, statistics and health of one source.

    `next_fetch_time` is authoritative. `claim_id` (the run that claimed it) and `claimed_until` are a lease: whoever
    holds the id may save. `claim_delivery` says which delivery of the run's message took the work up; 0 is none yet.
    `unsaved_since` is when the first worker took it up of those that have not saved it, `unsaved_run` and
    `unsaved_delivery` are the run that lost its claim to it meanwhile, and which delivery of it had it last.
    `seen_at` is when its `seen` document was written, or was to be: one of another time is not the last.
    `source_name` is what people here call it, `title` what it calls itself. `credential` names the setting that holds a
    private feed's secret, and is never the secret.
    """

    CONTAINER: ClassVar[str] = "feeds"
    PARTITION_FIELD: ClassVar[str] = "feed_id"
    ID: ClassVar[str] = "feed"

    entity_type: Literal["Feed"] = "Feed"
    feed_id: SourceKey
    kind: FeedKind = "feed"
    feed_url: WebUrl
    redirect_url: WebUrl | None = None
    source_name: Text
    title: Text | None = None
    source_priority: Count = LOWEST_PRIORITY
    priority_score: float = Field(default=1.0, strict=True, gt=0)
    enabled: Flag = True
    disabled_reason: Text | None = None
    disabled_at: Time | None = None
    credential: Text | None = None

    next_fetch_time: Time
    claim_id: IdPart | None = None
    claimed_until: Time | None = None
    claim_delivery: Count = 0
    unsaved_run: IdPart | None = None
    unsaved_delivery: Count = 0
    unsaved_since: Time | None = None
    retry_after_until: Time | None = None

    etag: Text | None = None
    last_modified: Text | None = None
    body_hash: Sha256 | None = None
    validators_trusted: Flag = True
    last_unconditional_fetch: Time | None = None
    max_age_seconds: Count | None = None
    ttl_minutes: Count | None = None
    skip_hours: tuple[Annotated[int, Field(strict=True, ge=0, lt=HOURS)], ...] = ()
    skip_days: tuple[Weekday, ...] = ()

    articles_per_hour: Amount = 0.0
    hourly_distribution: HourlyDistribution = (0.0,) * HOURS
    fetches_per_hour: Amount = 0.0
    gap_articles: tuple[Amount, ...] = ()
    gap_hours: tuple[Amount, ...] = ()
    silent_hours: Amount = 0.0
    last_new_article_at: Time | None = None
    last_fetch_time: Time | None = None
    last_successful_fetch: Time | None = None
    fetch_count: Count = 0
    total_articles_fetched: Count = 0
    avg_articles_per_fetch: Amount = 0.0

    consecutive_errors: Count = 0
    last_status_code: Count | None = None
    last_error: Text | None = None
    last_error_fingerprint: Text | None = None
    last_duration_ms: Count | None = None
    parse_warnings: dict[str, Count] = Field(default_factory=dict)
    entries_skipped: dict[str, Count] = Field(default_factory=dict)
    quarantine_id: IdPart | None = None
    seen_at: Time | None = None

    @property
    def partition(self) -> str:
        return self.feed_id

    @property
    def id(self) -> str:
        return self.ID

    @property
    def fetch_url(self) -> str:
        """Where it is fetched: where a permanent redirect led, if there was one."""
        return self.redirect_url or self.feed_url

    def hour_multiplier(self, hour: int) -> float:
        """How much more than on average is published in that UTC hour; 1.0 without history."""
        total = sum(self.hourly_distribution)
        return self.hourly_distribution[hour] * HOURS / total if total else 1.0

    def is_claimed(self, now: datetime) -> bool:
        return self.claimed_until is not None and self.claimed_until > now

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.enabled == (self.disabled_reason is not None):
            raise ValueError("disabled_reason must be there if, and only if, enabled is false")
        if (self.claim_id is None) != (self.claimed_until is None):
            raise ValueError("claim_id and claimed_until must be there together, or neither")
        if self.kind != (self.feed_id if self.feed_id in API_SOURCES else "feed"):
            raise ValueError(f"feed_id: {' and '.join(API_SOURCES)} must be those API sources, and kind must say so")
        return self


class FeedSeen(StoredDocument):
    """The entries that a feed had lately, newest last, so that polling it again unchanged reads nothing per entry.

    `hashes` is 16 hexadecimal characters (8 bytes) per entry, one after the other: what each stands for is the
    caller's, as long as it changes with identity and revision.
    """

    CONTAINER: ClassVar[str] = "feeds"
    PARTITION_FIELD: ClassVar[str] = "feed_id"
    ID: ClassVar[str] = "seen"

    entity_type: Literal["FeedSeen"] = "FeedSeen"
    feed_id: SourceKey
    hashes: str = Field(default="", pattern=rf"^([0-9a-f]{{{HASH_LENGTH}}})*$")

    @property
    def partition(self) -> str:
        return self.feed_id

    @property
    def id(self) -> str:
        return self.ID

    def entries(self) -> list[str]:
        return [self.hashes[at : at + HASH_LENGTH] for at in range(0, len(self.hashes), HASH_LENGTH)]

    def having(self, hashes: Iterable[str], most: int, now: datetime) -> Self:
        """With these as the newest, each once, and at most `most` kept."""
        newest = dict.fromkeys(hashes)
        kept = [*(known for known in dict.fromkeys(self.entries()) if known not in newest), *newest]
        return self.changed(now, hashes="".join(kept[max(0, len(kept) - most) :]))
