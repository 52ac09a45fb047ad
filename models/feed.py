"""A feed: its schedule, statistics, health, verdict and coverage, its known entries, its address, and the price of a
fetch; a host that fails, and an outage of the web.

`Feed` has the columns of the specification's feed_schedules and feed_stats. A news API is a feed too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, ClassVar, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, model_validator

from models.article import LOWEST_PRIORITY
from models.stored import StoredDocument
from models.values import (
    Amount,
    Count,
    Flag,
    Hour,
    IdPart,
    Language,
    Sha256,
    SourceKey,
    Text,
    Time,
    UnixSeconds,
    Value,
    WebUrl,
    lives,
)

KEPT_HOURS = 48
"""In the document of a feed. Whole numbers of more bits would not survive every store."""

Bits = Annotated[int, Field(strict=True, ge=0, lt=2**KEPT_HOURS)]


class FetchHours(Value):
    """The hours of a feed up to `last`, the hour of its last fetch, as bits: the lowest is for `last`, the next for the
    hour before. `expected`: a fetch was made, or was due and not made. `succeeded`: a fetch succeeded. `attempted`: a
    fetch was made.
    """

    last: Hour = Field(description="The UTC hour of the last fetch.")
    expected: Bits = Field(
        description="As bits, the lowest for `last`: the hours in which a fetch was made, or was due and not made."
    )
    succeeded: Bits = Field(description="As bits: the hours in which a fetch succeeded.")
    attempted: Bits = Field(description="As bits: the hours in which a fetch was made.")


FetchesOfDay = tuple[Count, Count, Count]
"""Of a feed on one UTC day, the hours in which a fetch was expected, those in which one succeeded, and those in which
one was made, as bits, the lowest for hour 0."""


class FetchDay(StoredDocument):
    """The fetches of all feeds on one UTC day, by feed. Bits are only added."""

    CONTAINER: ClassVar[str] = "catalog"
    PARTITION: ClassVar[str] = "FETCHES"

    entity_type: Literal["FetchDay"] = "FetchDay"
    ttl_timestamp: UnixSeconds | None = lives(days=34)
    day: Annotated[str, Field(pattern=r"^\d{8}$")]
    feeds: dict[SourceKey, FetchesOfDay] = Field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.day


class FetchDaysProgress(StoredDocument):
    """Up to which feed the days were written, if there are more feeds than are looked at in one go."""

    CONTAINER: ClassVar[str] = "catalog"
    PARTITION: ClassVar[str] = "FETCHES_PROGRESS"
    ID: ClassVar[str] = "progress"

    entity_type: Literal["FetchDaysProgress"] = "FetchDaysProgress"
    after: Text | None = None


FeedVerdict = Literal[
    "disabled", "gone", "moved", "blocked", "failing", "new", "empty", "stale", "silent", "lying", "slow", "ok"
]
VERDICTS: tuple[FeedVerdict, ...] = get_args(FeedVerdict)

DisabledBy = Literal["person", "app"]
DisabledCause = Literal["gone", "not_found", "duplicate", "errors", "worker_died"]
"""Why the app disabled a feed: 410; 404; its address leads to another registered feed; too many errors in a row; its
workers died."""

PROBED_CAUSES: frozenset[DisabledCause] = frozenset({"not_found", "duplicate", "errors"})
"""The app fetches such a feed now and then, and enables it when there is a feed again."""

ADVICE: Mapping[FeedVerdict, str] = {
    "disabled": "Enable it with PATCH and enabled true once the cause is repaired, or delete it.",
    "gone": "Look for the new address and PATCH url, or delete the feed.",
    "moved": "PATCH url with the new address; delete the feed if another one is registered there.",
    "blocked": "Ask the site to allow this app's user agent, give a credential, or use another feed of the site.",
    "failing": "Nothing yet: it is tried again. If it lasts, correct the url or the credential.",
    "new": "Nothing: wait for the first fetches.",
    "empty": "Open the address: if the site publishes elsewhere, PATCH url, else delete the feed.",
    "stale": "Look whether the site still publishes here: PATCH url with its present feed, or delete this one.",
    "silent": "Open the site: if it has newer articles, its feed is broken or has moved; PATCH url.",
    "lying": "Nothing: it is fetched whole each time. Tell the site if the traffic matters.",
    "slow": "Nothing, unless fetches fail: a slow server may need a larger REQUEST_TIMEOUT_SECONDS.",
    "ok": "Nothing.",
}


Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
FullTextChoice = Literal["never", "short", "always"]
"""For which entries the full text of the page is acquired: none, those with a short text, or all."""
SHORT_TEXT = 600
"""A feed with `full_text` short asks for the text of the page if the entry has fewer characters of text. Summaries have
some hundreds; a text of two or three paragraphs has more."""
MAX_ERRORS = 10
"""After so many errors in a row the feed is disabled."""
FEED_KIND = "feed"
MAX_WORDS = 50
HOURS = 24
HASH_LENGTH = 16
UNCONDITIONAL: Mapping[str, None] = {"etag": None, "last_modified": None, "body_hash": None}
"""Set on a feed whose next fetch is to bring the whole feed document, changed or not."""
_WORD = re.compile(r"[^\W_]+")


def feed_id_of(url: str) -> str:
    """The specification's id of a feed. MD5 is no risk here: the id is not a secret."""
    return hashlib.md5(url.encode(), usedforsecurity=False).hexdigest()[:16]


def host_of_address(url: str) -> str:
    """The host in lower case, with a port that is not the usual one of the scheme: `example.com`, `127.0.0.1:8080`.
    Empty for a text that is not a URL."""
    try:
        parts = urlsplit(url)
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    with suppress(UnicodeError):
        name = name.encode("idna").decode()
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    return name if port in (None, usual) else f"{name}:{port}"


def words_of_name(name: str) -> list[str]:
    """The words by which a feed is found, each once, sorted."""
    return sorted(set(_WORD.findall(name.casefold())))


def hour_multiplier(distribution: Sequence[float], hour: int) -> float:
    """The articles of that UTC hour relative to the mean of all hours; 1.0 without history."""
    total = sum(distribution)
    return distribution[hour] * HOURS / total if total else 1.0


def _no_history_yet(value: Any) -> Any:
    return (0.0,) * HOURS if isinstance(value, (list, tuple)) and not value else value


HourlyDistribution = Annotated[
    tuple[Amount, ...], BeforeValidator(_no_history_yet), Field(min_length=HOURS, max_length=HOURS)
]
"""New articles by UTC hour of the day; the specification's empty array stands for 24 zeros."""


class Feed(StoredDocument):
    """Schedule, validators, statistics and health of one source.

    `next_fetch_time` is authoritative. `worker_deaths` counts the workers in a row that died while they worked on this
    feed alone (services/feeds/saving.py).
    `kind` is `feed`, or the name of the news API whose articles the feed has; that name
    is then its `feed_id` too. `source_name` is the name that people gave the feed, `title` the feed's own,
    `site_url` the web site that the feed names as its own.
    `daily_volume` is the number of new articles lately, as of `last_fetch_time`, `articles_per_day` the usual number;
    `daily_limit` is a person's limit instead of the one that follows from these (services/feeds/volume.py).
    `verdict`, `verdict_since` and `verdict_reason` are written with every change of the feed
    (services/feeds/verdicts.py); null before the first fetch. `newest_article_at` and `longest_gaps`
    (hours; the longest of each day) are when its articles appeared (services/feeds/volume.py).
    The app fetches a feed that it disabled itself at `probe_at`, if that is set; `probes` is how often that failed.
    `tags` are a person's own, sorted; a slash separates the levels of a tag: `News/World`.
    `full_text` says for which entries the text of the page is acquired (services/documents).
    `fetch_hours` has the hours of the last two days in which a fetch was expected, was made, and succeeded.
    `credential` names the setting with a private feed's secret; the secret itself is never stored.
    `host`, `name_key` and `words` are stored too: feeds are filtered and sorted by them (services/feeds/listing.py).
    """

    CONTAINER: ClassVar[str] = "feeds"
    PARTITION_FIELD: ClassVar[str] = "feed_id"
    ID: ClassVar[str] = "feed"
    COMPUTED: ClassVar[tuple[str, ...]] = ("host", "name_key", "words")

    entity_type: Literal["Feed"] = "Feed"
    feed_id: SourceKey
    kind: SourceKey = FEED_KIND
    feed_url: WebUrl
    redirect_url: WebUrl | None = None
    moved_at: Time | None = None
    source_name: Text
    title: Text | None = None
    site_url: WebUrl | None = None
    source_priority: Count = LOWEST_PRIORITY
    priority_score: float = Field(default=1.0, strict=True, gt=0)
    enabled: Flag = True
    disabled_reason: Text | None = None
    disabled_at: Time | None = None
    disabled_by: DisabledBy | None = None
    disabled_cause: DisabledCause | None = None
    probes: Count = 0
    probe_at: Time | None = None
    credential: Text | None = None
    daily_limit: Count | None = None
    full_text: FullTextChoice = "never"
    tags: tuple[Text, ...] = ()

    verdict: FeedVerdict | None = None
    verdict_since: Time | None = None
    verdict_reason: Text | None = None

    next_fetch_time: Time
    worker_deaths: Count = 0
    retry_after_until: Time | None = None
    fetch_hours: FetchHours | None = None

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
    daily_volume: Amount = 0.0
    articles_per_day: Amount | None = None
    first_fetched_at: Time | None = None
    newest_article_at: Time | None = None
    longest_gaps: tuple[Amount, ...] = ()
    empty_since: Time | None = None
    average_duration_ms: Count | None = None

    consecutive_errors: Count = 0
    failing_since: Time | None = None
    blocked_since: Time | None = None
    last_status_code: Count | None = None
    last_error: Text | None = None
    last_error_fingerprint: Text | None = None
    last_duration_ms: Count | None = None
    parse_warnings: dict[str, Count] = Field(default_factory=dict)
    languages: dict[Language, Count] = Field(default_factory=dict)
    entries_skipped: dict[str, Count] = Field(default_factory=dict)
    quarantine_id: IdPart | None = None

    @property
    def partition(self) -> str:
        return self.feed_id

    def to_document(self) -> dict[str, Any]:
        """Without fields that most feeds have alike: a feed is written at each poll, and its size is paid for."""
        document = super().to_document()
        return {name: value for name, value in document.items() if name not in _USUAL or value != _USUAL[name]}

    @property
    def is_of_news_api(self) -> bool:
        return self.kind != FEED_KIND

    @property
    def fetch_url(self) -> str:
        """The target of a permanent redirect if there was one, else `feed_url`."""
        return self.redirect_url or self.feed_url

    @property
    def host(self) -> str:
        """The host that the feed is fetched from."""
        return host_of_address(self.fetch_url)

    @property
    def name_key(self) -> str:
        """Feeds are sorted by it: the name, whatever its case."""
        return self.source_name.casefold()

    @property
    def words(self) -> list[str]:
        """Feeds are found by them."""
        return words_of_name(f"{self.source_name} {self.title or ''}")[:MAX_WORDS]

    def hour_multiplier(self, hour: int) -> float:
        return hour_multiplier(self.hourly_distribution, hour)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.enabled == (self.disabled_reason is not None):
            raise ValueError("disabled_reason must be there if, and only if, enabled is false")
        if self.kind not in (FEED_KIND, self.feed_id):
            raise ValueError("kind must be feed, or the name of a news API, whose feed has that name as its feed_id")
        return self


_USUAL: Mapping[str, Any] = {
    "kind": FEED_KIND,
    "site_url": None,
    "full_text": "never",
    "tags": [],
    "worker_deaths": 0,
    "validators_trusted": True,
    "skip_hours": [],
    "skip_days": [],
    "longest_gaps": [],
    "probes": 0,
    "parse_warnings": {},
    "languages": {},
    "entries_skipped": {},
}
"""The fields that are not stored if they have this value, which is the default of the model."""


class FeedSeen(StoredDocument):
    """The entries that a feed had lately, newest last: polling an unchanged feed then reads no document per entry.

    `hashes` is 16 hexadecimal characters (8 bytes) for each hash, one after the other. services/articles/matching.py
    decides what is hashed.
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


def address_key(url: str) -> str:
    """Hashed, since a URL may have characters that ids must not have. The colon sets the key apart from feed ids."""
    return f"url:{hashlib.sha256(url.encode()).hexdigest()[:32]}"


class FeedAddress(StoredDocument):
    """The feed that is registered under a URL, so that two feeds cannot have the same URL in two spellings.

    Callers normalize the URL. Created before the feed is written: after a crash, `holder` may not exist or may have
    another URL.
    """

    CONTAINER: ClassVar[str] = "feeds"
    PARTITION_FIELD: ClassVar[str] = "feed_id"
    ID: ClassVar[str] = "address"

    entity_type: Literal["FeedAddress"] = "FeedAddress"
    url: Text
    holder: SourceKey

    @property
    def partition(self) -> str:
        return address_key(self.url)


class FetchPrice(StoredDocument):
    """The price of a fetch, which keeps all feeds together within the budget (services/feeds/schedule.py).

    One document for all feeds. `fetches_per_feed_hour` is the mean that led to the last correction, at `updated_at`.
    """

    CONTAINER: ClassVar[str] = "catalog"
    PARTITION: ClassVar[str] = "SCHEDULE"
    ID: ClassVar[str] = "fetch-price"

    entity_type: Literal["FetchPrice"] = "FetchPrice"
    factor: Amount = 1.0
    fetches_per_feed_hour: Amount = 0.0


class HostState(StoredDocument):
    """The failures of one host (name and port) in a row, counted over all workers; the first success deletes it.

    `open_until` is when the last cool-down ends or ended; `openings` is how many cool-downs there were. All hosts are
    in one partition, so that one cheap query lists them.
    `answers`: the host answers, but with an error or a page instead of a feed that it had before. One such host is its
    feeds' own matter; if most begin at once, a proxy or a page to log in to answers for them.
    """

    CONTAINER: ClassVar[str] = "catalog"
    PARTITION: ClassVar[str] = "HOSTS"

    entity_type: Literal["HostState"] = "HostState"
    ttl_timestamp: UnixSeconds | None = lives(days=1)
    host: Text
    failures: Count
    openings: Count = 0
    open_until: Time | None = None
    reason: Text
    answers: Flag = False

    @property
    def id(self) -> str:
        return f"{'wrong:' if self.answers else ''}{host_id(self.host)}"


def host_id(host: str) -> str:
    """Hashed, since the name of a host may have characters that ids must not have."""
    return hashlib.sha256(host.encode()).hexdigest()[:32]


class Outage(StoredDocument):
    """The last time at which this installation could not reach the web, as services/feeds/outages.py decides.

    Of the hosts that were tried lately, `failing` failed and `answering` did not; `reasons` counts the failures by
    kind. `until` is null while it lasts; `updated_at` is when the evidence was last counted.
    """

    CONTAINER: ClassVar[str] = "catalog"
    PARTITION: ClassVar[str] = HostState.PARTITION
    ID: ClassVar[str] = "web"

    entity_type: Literal["Outage"] = "Outage"
    ttl_timestamp: UnixSeconds | None = lives(days=1)
    since: Time
    until: Time | None = None
    failing: Count
    answering: Count
    reasons: dict[str, Count] = Field(default_factory=dict)

    @property
    def lasts(self) -> bool:
        return self.until is None
