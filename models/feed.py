"""A feed: its schedule, statistics, health, verdict and coverage, its known entries, its address, and the price of a
fetch; a host that fails, and an outage of the web.

`Feed` has the columns of the specification's feed_schedules and feed_stats. A news API is a feed too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, NewType, Self, get_args
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
    internal,
    lives,
    optional,
)

KEPT_HOURS = 48
"""In the document of a feed. Whole numbers of more bits would not survive every store."""

Bits = Annotated[int, Field(strict=True, ge=0, lt=2**KEPT_HOURS)]


class FetchHours(Value):
    """The hours of a feed up to `last`, the hour of its last fetch, as bits: the lowest is for `last`, the next for the
    hour before."""

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

    PARTITION: ClassVar[str] = "FETCHES"
    ID_OF: ClassVar[str] = "day"

    entity_type: Literal["FetchDay"] = "FetchDay"
    ttl_timestamp: UnixSeconds | None = lives(days=34)
    day: Annotated[str, Field(pattern=r"^\d{8}$")]
    feeds: dict[SourceKey, FetchesOfDay] = Field(default_factory=dict)


class FetchDaysProgress(StoredDocument):
    """Up to which feed the days were written, if there are more feeds than are looked at in one go."""

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

PROBED_CAUSES: frozenset[DisabledCause] = frozenset({"not_found", "duplicate", "errors", "worker_died"})
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
ShortHash = NewType("ShortHash", str)
"""HASH_LENGTH hexadecimal characters."""
UNCONDITIONAL: Mapping[str, None] = {"etag": None, "last_modified": None, "body_hash": None}
"""Set on a feed whose next fetch is to bring the whole feed document, changed or not."""
CREDENTIAL_NAME = re.compile(r"FEED_CREDENTIAL_[A-Z0-9_]{1,80}")
"""The only settings that a feed may name: any other could be a secret of the app, which the feed would send out."""
_WORD = re.compile(r"[^\W_]+")


def feed_id_of(url: str) -> str:
    """The specification's id of a feed. MD5 is no risk here: the id is not a secret."""
    return hashlib.md5(url.encode(), usedforsecurity=False).hexdigest()[:16]


@lru_cache(maxsize=4096)  # feeds are fetched again and again
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
    """Schedule, validators, statistics and health of one source. `next_fetch_time` is authoritative.

    services/feeds decides: volume.py has the volumes and gaps, verdicts.py the
    verdict, which is written with every change. The secret that `credential` names is never stored.
    `address` is a hash of the normalized URL, by which the registry finds the feed; that of a news API has none.
    `host`, `name_key` and `words` are stored too: feeds are filtered and sorted by them (services/feeds/registry.py).
    """

    CONTAINER: ClassVar[str] = "feeds"
    PARTITION_FIELD: ClassVar[str] = "feed_id"
    ID: ClassVar[str] = "feed"
    COMPUTED: ClassVar[tuple[str, ...]] = ("host", "name_key", "words")

    entity_type: Literal["Feed"] = "Feed"
    feed_id: SourceKey = Field(description="The id; articles name their sources by it.")
    kind: SourceKey = Field(
        default=FEED_KIND,
        description="`feed` for an RSS, Atom or JSON feed; otherwise the name of the news API, which is the id too.",
    )
    feed_url: WebUrl = Field(
        description="The URL that was registered: of a feed, or of a web page that names its feed."
    )
    address: str = ""
    redirect_url: WebUrl | None = optional(
        "The URL that is fetched instead of `url`: the target of permanent redirects, the feed that the registered "
        "web page names, or the new URL that the feed document names, once there is a feed. After three errors in a "
        "row, and after the feed was enabled or its `url` was posted again, `url` is tried first. Null: none."
    )
    moved_at: Time | None = optional(
        "When the feed moved to `redirect_url`; null if it did not, or if a web page named that URL."
    )
    source_name: Text = Field(description="The name that people gave the source.")
    title: Text | None = optional("The feed's own title.")
    site_url: WebUrl | None = optional(
        "The web site that the feed document, or at first its OPML outline (`htmlUrl`), names; null if none does."
    )
    source_priority: Count = Field(
        default=LOWEST_PRIORITY,
        description="Rank of the source when an article's canonical reading is chosen; the lowest wins.",
    )
    priority_score: float = Field(
        default=1.0,
        strict=True,
        gt=0,
        description="Of the feeds that are due, those with the highest priority are claimed first.",
    )
    enabled: Flag = Field(default=True, description="Whether the feed is fetched.")
    disabled_reason: Text | None = optional("Why the feed is disabled, in words.")
    disabled_at: Time | None = optional("Since when the feed is disabled.")
    disabled_by: DisabledBy | None = optional("`person` or `app`; null if the feed is enabled.")
    disabled_cause: DisabledCause | None = optional(
        "Why the app disabled it: `gone` (410), `not_found` (404), `duplicate` (its address leads to "
        f"another registered feed), `errors` ({MAX_ERRORS} in a row), `worker_died`."
    )
    probes: Count = Field(default=0, description="How often trying it again has failed.")
    probe_at: Time | None = optional("When a feed that the app disabled is tried again; null: never.")
    credential: Text | None = optional("The name of the setting with the feed's credential, never the credential.")
    daily_limit: Count | None = optional(
        "The new articles that the feed may bring in a day; null: ten times the usual day, at least 1,000 and at "
        "most 20,000, and in the first three days 20,000 in all."
    )
    full_text: FullTextChoice = Field(
        default="never",
        description="For which entries the text of the page is acquired: `never`, `short` (those with fewer "
        f"than {SHORT_TEXT} characters of text) or `always`.",
    )
    tags: tuple[Text, ...] = Field(
        default=(), description="Tags, sorted, each once. A slash separates levels, as in `News/World`."
    )

    verdict: FeedVerdict | None = optional("The feed's condition in one word; docs/operations.md lists the verdicts.")
    verdict_since: Time | None = optional("When the condition in `verdict` began.")
    verdict_reason: Text | None = optional("Why the feed has this verdict.")

    next_fetch_time: Time = Field(description="When the feed is due.")
    retry_after_until: Time | None = optional(
        "Until when the server asked not to be fetched (`Retry-After`, at most one day)."
    )
    fetch_hours: FetchHours | None = internal(
        "The hours up to `last` as bits, the lowest for `last`, of the last two days: those in which a fetch was "
        "`expected`, and those in which one `succeeded`. Null before the first fetch."
    )

    etag: Text | None = internal("The `ETag` of the last response, sent with the next request.")
    last_modified: Text | None = internal("The `Last-Modified` of the last response, sent with the next request.")
    body_hash: Sha256 | None = internal("SHA-256 of the last body; a body with the same hash is not parsed again.")
    validators_trusted: Flag = internal(
        "False once the server called a changed body unmodified; from then on requests send no validators.",
        default=True,
    )
    max_age_seconds: Count | None = internal(
        "For how long the last response stays fresh: `Cache-Control: max-age` less `Age`, or `Expires`."
    )
    ttl_minutes: Count | None = optional(
        "Minutes between fetches that the document asks for: RSS `ttl`, or `sy:updatePeriod` and `sy:updateFrequency`."
    )
    skip_hours: tuple[Annotated[int, Field(strict=True, ge=0, lt=HOURS)], ...] = Field(
        default=(), description="UTC hours (0 to 23) in which the document asks not to be fetched."
    )
    skip_days: tuple[Weekday, ...] = Field(
        default=(), description="Days (`monday` …) in UTC on which the document asks not to be fetched."
    )

    articles_per_hour: Amount = Field(
        default=0.0, description="New articles per hour, a running average of about 24 hours."
    )
    hourly_distribution: HourlyDistribution = Field(
        default=(0.0,) * HOURS, description="24 numbers: new articles by UTC hour of the day. Counts fade over 28 days."
    )
    fetches_per_hour: Amount = internal(
        "Successful fetches per hour, a running average of about 24 hours.", default=0.0
    )
    gap_articles: tuple[Amount, ...] = internal(
        "12 numbers, by the time since the newest article (up to 15 minutes, … over 26 hours): articles "
        "that came after such a gap.",
        default=(),
    )
    gap_hours: tuple[Amount, ...] = internal(
        "12 numbers, by the same times: hours that passed in such a gap.", default=()
    )
    silent_hours: Amount = internal("Hours between the newest article and the last successful fetch.", default=0.0)
    last_new_article_at: Time | None = optional("When a fetch last brought an article that was new to the feed.")
    last_fetch_time: Time | None = optional("When an attempt at the feed last ended, successful or not.")
    last_successful_fetch: Time | None = optional(
        "When the feed was last fetched and read successfully. A 304 is a success."
    )
    fetch_count: Count = Field(default=0, description="Number of successful fetches.")
    total_articles_fetched: Count = Field(default=0, description="Number of articles that were new to the feed.")
    avg_articles_per_fetch: Amount = Field(default=0.0, description="`total_articles_fetched` / `fetch_count`.")
    daily_volume: Amount = Field(
        default=0.0,
        description="New articles of about the last day: each raises the volume, and time lowers it by the limit in "
        "a day. What exceeds the limit is quarantined.",
    )
    articles_per_day: Amount | None = optional(
        "New articles on a usual day: a running average of 28 days without the first feed document."
    )
    first_fetched_at: Time | None = optional("When the feed was first fetched successfully.")
    newest_article_at: Time | None = optional(
        "When the newest article appeared: its date at the first fetch, later between that and the fetch before."
    )
    longest_gaps: tuple[Amount, ...] = internal(
        "Hours: the longest gap between articles on each of the last 33 days with one.", default=()
    )
    empty_since: Time | None = optional("Since when the feed document has no entries; null if it has some.")
    average_duration_ms: Count | None = optional("The average of `last_duration_ms` over about ten successful fetches.")

    consecutive_errors: Count = Field(
        default=0, description=f"Failed fetches since the last success; at {MAX_ERRORS} the feed is disabled."
    )
    failing_since: Time | None = optional("When the first of the failures in a row was.")
    blocked_since: Time | None = optional(
        "When the first failure in a row was refused by 403 or by a page that keeps programs out."
    )
    last_status_code: Count | None = optional("HTTP status of the last response; null if there was none.")
    last_error: Text | None = optional("The reason why the last fetch failed; null after a success.")
    last_error_fingerprint: Text | None = internal("A short name of `last_error`, the same for the same kind of error.")
    last_duration_ms: Count | None = optional(
        "How long the servers took in the last fetch, without waiting for a slot or between tries."
    )
    parse_warnings: dict[str, Count] = Field(
        default_factory=dict,
        description="Repairs in the last document that was parsed: number by kind, such as `date_missing`, `text_cut`.",
    )
    languages: dict[Language, Count] = Field(
        default_factory=dict,
        description="The languages that texts of the feed were clearly in, with the number of texts; older ones "
        "count for less.",
    )
    entries_skipped: dict[str, Count] = Field(
        default_factory=dict,
        description="Entries of the last document that were left out: number by reason. `over_budget`: the next "
        "polls ingest them; `awaits_review`: a batch of the feed must be reviewed first.",
    )
    quarantine_id: IdPart | None = optional(
        "The feed's last batch in quarantine; null once that batch was reviewed and ingested or dropped."
    )

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

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.enabled == (self.disabled_reason is not None):
            raise ValueError("disabled_reason must be there if, and only if, enabled is false")
        if self.kind not in (FEED_KIND, self.feed_id):
            raise ValueError("kind must be feed, or the name of a news API, whose feed has that name as its feed_id")
        return self


_USUAL: Mapping[str, Any] = {
    "kind": FEED_KIND,
    "source_priority": LOWEST_PRIORITY,
    "full_text": "never",
    "tags": [],
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


class FetchPrice(StoredDocument):
    """The price of a fetch, which keeps all feeds together within the budget (services/feeds/schedule.py).

    One document for all feeds. `fetches_per_feed_hour` is the mean that led to the last correction, at `updated_at`.
    """

    PARTITION: ClassVar[str] = "SCHEDULE"
    ID: ClassVar[str] = "fetch-price"

    entity_type: Literal["FetchPrice"] = "FetchPrice"
    factor: Amount = 1.0
    fetches_per_feed_hour: Amount = 0.0


class HostState(StoredDocument):
    """The failures of one host in a row, counted over all workers; the first success deletes it.

    `open_until` is when the last cool-down ends or ended; `openings` is how many cool-downs there were. All hosts are
    in one partition, so that one cheap query lists them.
    `answers`: the host answers, but with an error or a page instead of a feed that it had before. One such host is its
    feeds' own matter; if most begin at once, a proxy or a page to log in to answers for them.
    """

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
