"""A feed, what is found at a URL before it is registered as one, and a host of feeds, as the API shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import Field

from models.feed import (
    ADVICE,
    MAX_ERRORS,
    SHORT_TEXT,
    DisabledBy,
    DisabledCause,
    Feed,
    FeedVerdict,
    FetchHours,
    FullTextChoice,
    HourlyDistribution,
    Weekday,
)
from models.resources.base import Resource, Shape, Stored, View, added, internal, links, path
from models.values import Amount, Count, Flag, IdPart, Language, Sha256, SourceKey, Text, Time, WebUrl


class FeedResource(Stored):
    """A source of articles: its schedule, statistics and health."""

    STORED_AS: ClassVar[Mapping[str, str]] = {"url": "feed_url", "priority": "priority_score"}

    feed_id: SourceKey = Field(description="The id; articles name their sources by it.")
    kind: SourceKey = Field(
        description="`feed` for an RSS, Atom or JSON feed; otherwise the name of the news API, which is the id too."
    )
    url: WebUrl = Field(description="The URL that was registered: of a feed, or of a web page that names its feed.")
    host: str = Field(
        description="The host that the feed is fetched from, with its port, if that is not the usual one."
    )
    redirect_url: WebUrl | None = Field(
        description="The URL that is fetched instead of `url`: the target of permanent redirects, the feed "
        "that the registered web page names, or the new URL that the feed document names, once "
        "there is a feed. After three errors in a row, and after the feed was enabled or its "
        "`url` was posted again, `url` is tried first. Null: none."
    )
    moved_at: Time | None = Field(
        description="When the feed moved to `redirect_url`; null if it did not, or if a web page named that URL."
    )
    source_name: Text = Field(description="The name that people gave the source.")
    title: Text | None = Field(description="The feed's own title.")
    site_url: WebUrl | None = Field(
        description="The web site that the feed document, or at first its OPML outline (`htmlUrl`), names; null "
        "if none does."
    )
    source_priority: Count = Field(
        description="Rank of the source when an article's canonical reading is chosen; the lowest wins."
    )
    priority: float = Field(description="Of the feeds that are due, those with the highest priority are claimed first.")
    enabled: Flag = Field(description="Whether the feed is fetched.")
    verdict: FeedVerdict | None = Field(
        description="The feed's condition in one word; docs/operations.md lists the verdicts."
    )
    verdict_reason: Text | None = Field(description="Why the feed has this verdict.")
    verdict_advice: str | None = Field(description="What to do next.")
    verdict_since: Time | None = Field(description="When the condition in `verdict` began.")
    disabled_reason: Text | None = Field(description="Why the feed is disabled, in words.")
    disabled_at: Time | None = Field(description="Since when the feed is disabled.")
    disabled_by: DisabledBy | None = Field(description="`person` or `app`; null if the feed is enabled.")
    disabled_cause: DisabledCause | None = Field(
        description="Why the app disabled it: `gone` (410), `not_found` (404), `duplicate` (its address leads to "
        f"another registered feed), `errors` ({MAX_ERRORS} in a row), `worker_died`."
    )
    probe_at: Time | None = Field(description="When a feed that the app disabled is tried again; null: never.")
    probes: Count = Field(description="How often trying it again has failed.")
    credential: Text | None = Field(
        description="The name of the setting with the feed's credential, never the credential."
    )
    full_text: FullTextChoice = Field(
        description="For which entries the text of the page is acquired: `never`, `short` (those with fewer "
        f"than {SHORT_TEXT} characters of text) or `always`."
    )
    tags: tuple[Text, ...] = Field(description="Tags, sorted, each once. A slash separates levels, as in `News/World`.")
    daily_limit: Count | None = Field(
        description="The new articles that the feed may bring in a day; null: ten times the usual day, at "
        "least 1,000 and at most 20,000, and in the first three days 20,000 in all."
    )
    next_fetch_time: Time = Field(description="When the feed is due.")
    last_fetch_time: Time | None = Field(description="When an attempt at the feed last ended, successful or not.")
    last_successful_fetch: Time | None = Field(
        description="When the feed was last fetched and read successfully. A 304 is a success."
    )
    last_new_article_at: Time | None = Field(
        description="When a fetch last brought an article that was new to the feed."
    )
    newest_article_at: Time | None = Field(
        description="When the newest article appeared: its date at the first fetch, later between that and the "
        "fetch before."
    )
    first_fetched_at: Time | None = Field(description="When the feed was first fetched successfully.")
    empty_since: Time | None = Field(description="Since when the feed document has no entries; null if it has some.")
    retry_after_until: Time | None = Field(
        description="Until when the server asked not to be fetched (`Retry-After`, at most one day)."
    )
    ttl_minutes: Count | None = Field(
        description="Minutes between fetches that the document asks for: RSS `ttl`, or `sy:updatePeriod` and "
        "`sy:updateFrequency`."
    )
    skip_hours: tuple[int, ...] = Field(description="UTC hours (0 to 23) in which the document asks not to be fetched.")
    skip_days: tuple[Weekday, ...] = Field(
        description="Days (`monday` …) in UTC on which the document asks not to be fetched."
    )
    articles_per_hour: Amount = Field(description="New articles per hour, a running average of about 24 hours.")
    articles_per_day: Amount | None = Field(
        description="New articles on a usual day: a running average of 28 days without the first feed document."
    )
    hourly_distribution: HourlyDistribution = Field(
        description="24 numbers: new articles by UTC hour of the day. Counts fade over 28 days."
    )
    daily_volume: Amount = Field(
        description="New articles of about the last day: each raises the volume, and time lowers it by the limit "
        "in a day. What exceeds the limit is quarantined."
    )
    fetch_count: Count = Field(description="Number of successful fetches.")
    total_articles_fetched: Count = Field(description="Number of articles that were new to the feed.")
    avg_articles_per_fetch: Amount = Field(description="`total_articles_fetched` / `fetch_count`.")
    languages: dict[Language, Count] = Field(
        description="The languages that texts of the feed were clearly in, with the number of texts; older ones "
        "count for less."
    )
    consecutive_errors: Count = Field(
        description=f"Failed fetches since the last success; at {MAX_ERRORS} the feed is disabled."
    )
    failing_since: Time | None = Field(description="When the first of the failures in a row was.")
    blocked_since: Time | None = Field(
        description="When the first failure in a row was refused by 403 or by a page that keeps programs out."
    )
    last_status_code: Count | None = Field(description="HTTP status of the last response; null if there was none.")
    last_error: Text | None = Field(description="The reason why the last fetch failed; null after a success.")
    last_duration_ms: Count | None = Field(
        description="How long the servers took in the last fetch, without waiting for a slot or between tries."
    )
    average_duration_ms: Count | None = Field(
        description="The average of `last_duration_ms` over about ten successful fetches."
    )
    parse_warnings: dict[str, Count] = Field(
        description="Repairs in the last document that was parsed: number by kind, such as `date_missing`, `text_cut`."
    )
    entries_skipped: dict[str, Count] = Field(
        description="Entries of the last document that were left out: number by reason. `over_budget`: the "
        "next polls ingest them; `awaits_review`: a batch of the feed must be reviewed first."
    )
    quarantine_id: IdPart | None = Field(
        description="The feed's last batch in quarantine; null once that batch was reviewed and ingested or dropped."
    )
    links: dict[str, str] = Field(description="Paths: the feed itself, its history, its articles, its runs.")
    run_id: str | None = added("The run that this request began, in the response to a change; null if it needed none.")
    worker_deaths: Count | None = internal(
        "How many workers in a row died while they worked on this feed alone; after three the feed is disabled."
    )
    fetch_hours: FetchHours | None = internal(
        "The hours up to `last` as bits, the lowest for `last`, of the last two days: those in which a fetch was "
        "`expected`, and those in which one `succeeded`. Null before the first fetch."
    )
    etag: Text | None = internal("The `ETag` of the last response, sent with the next request.")
    last_modified: Text | None = internal("The `Last-Modified` of the last response, sent with the next request.")
    body_hash: Sha256 | None = internal("SHA-256 of the last body; a body with the same hash is not parsed again.")
    validators_trusted: Flag | None = internal(
        "False once the server called a changed body unmodified; from then on requests send no validators."
    )
    last_unconditional_fetch: Time | None = internal("When the feed was last fetched without validators.")
    max_age_seconds: Count | None = internal(
        "For how long the last response stays fresh: `Cache-Control: max-age` less `Age`, or `Expires`."
    )
    fetches_per_hour: Amount | None = internal("Successful fetches per hour, a running average of about 24 hours.")
    gap_articles: tuple[Amount, ...] | None = internal(
        "12 numbers, by the time since the newest article (up to 15 minutes, … over 26 hours): "
        "articles that came after such a gap."
    )
    gap_hours: tuple[Amount, ...] | None = internal("12 numbers, by the same times: hours that passed in such a gap.")
    silent_hours: Amount | None = internal("Hours between the newest article and the last successful fetch.")
    longest_gaps: tuple[Amount, ...] | None = internal(
        "Hours: the longest gap between articles on each of the last 33 days with one."
    )
    last_error_fingerprint: Text | None = internal("A short name of `last_error`, the same for the same kind of error.")

    @classmethod
    def of(cls, feed: Feed, view: View = "default") -> Self:
        own = path("feeds", feed.feed_id)
        return cls.made(
            feed,
            view,
            host=feed.host,
            verdict_advice=ADVICE[feed.verdict] if feed.verdict else None,
            links=links(
                self=own,
                history=f"{own}/history",
                articles=f"{path('articles')}?source={feed.feed_id}",
                runs=f"{path('runs')}?feed={feed.feed_id}",
            ),
        )


class PreviewedEntry(Shape):
    """One entry of a feed that is not registered."""

    headline: Text = Field(description="As the feed has it, without markup.")
    url: str = Field(description="As the feed has it: it may be no web address.")
    published_at: Time | None = Field(default=None, description="Null without a date.")


class FeedPreview(Shape):
    """What is at a URL. Without a feed, `is_feed` is false."""

    url: Text = Field(description="The URL that was given.")
    fetched_url: Text = Field(description="The URL that answered: of a redirect, or of the feed that a page names.")
    is_feed: Flag = Field(description="Whether a feed was found and read.")
    is_page: Flag = Field(description="Whether `url` is a web page, which names the feed.")
    feed_id: str | None = Field(
        default=None, description="The feed that is registered at one of these URLs already; null if none is."
    )
    error_type: str | None = Field(
        default=None, description="The kind of failure, as of an attempt; null if there is a feed."
    )
    error: str | None = Field(default=None, description="Why there is no feed, in words; null if there is one.")
    status_code: Count | None = Field(default=None, description="HTTP status of the last response.")
    duration_ms: Count = Field(default=0, description="How long the servers took.")
    format: str | None = Field(default=None, description="The format: `rss20`, `atom10`, `json1` and the like.")
    title: str | None = Field(default=None, description="The feed's own title.")
    site_url: str | None = Field(default=None, description="The web site that the feed names.")
    entries: Count = Field(default=0, description="Entries that could be read.")
    entries_skipped: Count = Field(default=0, description="Entries that could not be read.")
    parse_warnings: Count = Field(default=0, description="Values that were repaired.")
    oldest_entry_at: Time | None = Field(
        default=None, description="The date of the oldest entry, of those with a date in the past."
    )
    newest_entry_at: Time | None = Field(
        default=None, description="The date of the newest entry, of those with a date in the past."
    )
    samples: tuple[PreviewedEntry, ...] = Field(default=(), description="The 5 newest entries.")


class HostFailure(Shape):
    """The present failures of a host in a row."""

    since: Time = Field(description="When the first of them was.")
    failures: Count = Field(description="How many there were.")
    reason: Text = Field(description="The kind of the last one, such as `timeout`.")
    cools_until: Time | None = Field(default=None, description="Until then no feed of the host is fetched.")


class HostResource(Resource):
    """A host that feeds are fetched from."""

    host: Text = Field(description="As in the `host` of a feed: with its port, if that is not the usual one.")
    feeds: Count = Field(description="Its feeds.")
    enabled_feeds: Count = Field(description="Those of its feeds that are enabled.")
    failing_feeds: Count = Field(description="Those of its feeds whose last fetch failed.")
    next_fetch_time: Time | None = Field(description="When the first of its enabled feeds is due; null without one.")
    last_successful_fetch: Time | None = Field(description="When one of its feeds was fetched last; null: never.")
    failing: HostFailure | None = Field(description="Null for a host that does not fail at present.")
    links: dict[str, str] = Field(description="Paths: the host itself, and its feeds.")
