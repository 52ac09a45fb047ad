"""The health of the app, of the cache and of the queues, as the API shows it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from models.cache import FRESH_MINUTES, MAX_FAILED_LISTED, MAX_TOOLS_LISTED, MOSTLY_UNSCORED, Period
from models.resources.base import Shape, added
from models.resources.figures import Completeness
from models.values import Count, Share, Time

Status = Literal["healthy", "degraded", "unhealthy"]


class Check(Shape):
    """Whether a part of the app is well, and why."""

    status: Status = Field(description="Whether this part of the app is well.")
    detail: str = Field(description="What was found, in words.")


class CheckOfDatabase(Check):
    """Whether the store answers. With figures if it limits requests."""

    requests: Count = added("Requests of the last minutes.")
    refused: Count = added("Those that it refused, since they exceeded its throughput.")
    waited_seconds: float = added("How long requests waited for that.")


class CheckOfScheduler(Check):
    """Whether the timers run."""

    timers: dict[str, Time] = added("By timer, when it last ran well. A timer that never did is not among them.")


class CheckOfClock(Check):
    """Whether the clock jumped."""

    ahead_seconds: Count = added("How far the latest time that was recorded lies in the future.")
    jump: tuple[Time, ...] | None = added("From when to when it jumped in the last day; null if it did not.")


class CheckOfWeb(Check):
    """Whether this installation can reach the web."""

    unreachable_since: Time | None = added("Since when it cannot; null if it can.")
    failing_hosts: Count = added("Of the hosts that were tried since, those that failed.")
    answering_hosts: Count = added("Those that answered.")


class CheckOfFeedsActive(Check):
    """Whether feeds are fetched."""

    count: Count = added("Enabled feeds.")
    ill: Count = added("Feeds with a verdict that calls for somebody.")
    counting: Count = added("Feeds that count for this check: no person has disabled them.")
    overdue: Count = added("Enabled feeds without a success for a day, and feeds that wait for runs that are overdue.")
    verdicts: dict[str, Count] = added("Feeds by verdict, of those that any feed has.")
    disabled_by_app: Count = added("Feeds that the app has disabled.")
    sources_off: tuple[str, ...] = added("News APIs that have no token.")


class CheckOfLastSuccessfulFetch(Check):
    """Whether any feed could be fetched in the last hour."""

    last_success: Time | None = added("The last success; null if there was none.")


class CheckOfQueues(Check):
    """Whether messages failed."""

    messages: dict[str, Count] = added("By queue, how many messages wait.")
    poison: dict[str, Count] = added("By queue, how many failed five times; only of queues that have any.")


class CheckOfAnalysis(Check):
    """Whether articles are analysed in time."""

    pending_articles: int | None = added("Articles that wait for it; null if they could not be counted.")
    failed_articles: int | None = added("Articles whose analysis was given up; null as above.")
    oldest_pending_seconds: int | None = added("How long the first of them waits.")
    paused_since: Time | None = added("Since when a service does not answer that the analysis needs; null if it does.")
    pause_reason: str | None = added("Which service, and how it failed.")


class CheckOfCache(Check):
    """Whether the figures are refreshed in time."""

    last_refresh: Time | None = added("The last refresh of all tools that succeeded; null if none did.")
    last_refresh_status: str | None = added("How the last one ended, successful or not.")
    failed_tools: Count = added("Tools that it did not refresh.")
    entries: Count = added("Entries of the cache after it.")
    dirty_tools: Count = added("Tools with mentions that are not counted yet.")
    unscored_mentions: Count = added("Mentions of the last 7 days that could not be scored.")
    mostly_unscored_tools: Count = added("Tools of which most are.")


class CheckOfArchive(Check):
    """Whether full texts can be stored."""


class CheckOfQuarantine(Check):
    """Whether items wait for a person for too long."""

    pending: dict[str, Count] = added("By kind, how many wait.")
    oldest_seconds: dict[str, Count] = added("By kind, how long the first of them waits; only of kinds with any.")


class CheckOfAudit(Check):
    """Whether stored documents agree."""

    differences: dict[str, Count] = added("By kind of difference, how many the last and the present round found.")
    last_ended: Time | None = added("When the last round ended; null if none has.")
    checked: Count = added("Documents that it checked.")


class HealthChecks(Shape):
    """The checks by name. docs/operations.md says what to do about each."""

    database: CheckOfDatabase = Field(description="Whether the store answers. With figures if it limits requests.")
    scheduler: CheckOfScheduler = Field(description="Whether the timers run.")
    clock: CheckOfClock = Field(description="Whether the clock jumped.")
    web: CheckOfWeb = Field(description="Whether this installation can reach the web.")
    feeds_active: CheckOfFeedsActive = Field(description="Whether feeds are fetched.")
    last_successful_fetch: CheckOfLastSuccessfulFetch = Field(
        description="Whether any feed could be fetched in the last hour."
    )
    queues: CheckOfQueues = Field(description="Whether messages failed.")
    analysis: CheckOfAnalysis = Field(description="Whether articles are analysed in time.")
    cache: CheckOfCache = Field(description="Whether the figures are refreshed in time.")
    archive: CheckOfArchive = Field(description="Whether full texts can be stored.")
    quarantine: CheckOfQuarantine = Field(description="Whether items wait for a person for too long.")
    audit: CheckOfAudit = Field(description="Whether stored documents agree.")


class Health(Shape):
    """Whether the app is well."""

    status: Status = Field(description="Whether the app is well.")
    version: str = Field(description="The version of the app.")
    timestamp: Time = Field(description="When this was found.")
    checks: HealthChecks = Field(description="The checks by name. docs/operations.md says what to do about each.")


class ReadsOfHour(Shape):
    """Reads of aggregates in one hour."""

    hour: Time = Field(description="When the UTC hour begins.")
    hits: Count = Field(description="Reads that were served from the cache.")
    misses: Count = Field(description="Reads that were computed.")
    errors: Count = Field(description="Reads that failed.")


class LackingEntry(Shape):
    """An entry of the cache that is stale or missing."""

    tool_id: str = Field(description="The tool.")
    tool: str = Field(description="Its name.")
    period: Period = Field(description="The period.")
    state: Literal["stale", "missing"] = Field(description="What is wrong.")


class CacheHealth(Completeness):
    """Whether the cache of aggregates is well, and what the last refresh did."""

    status: Literal["healthy", "degraded"] = Field(
        description="`degraded`: the last refresh failed or was partial, none has succeeded for "
        f"{FRESH_MINUTES} minutes, tools wait for their recount for over two minutes, or entries are stale."
    )
    detail: str = Field(description="The reasons in words.")
    id: Literal["metadata"] = Field(description="The id of the document.")
    tool_id: Literal["metadata"] = Field(description="Its partition.")
    created_at: Time | None = Field(description="When it was first stored; null before.")
    updated_at: Time | None = Field(description="When it last changed; null before.")
    last_refresh_ts: int | None = Field(
        description="When the last successful refresh of all tools ended: one that refreshed every tool."
    )
    last_refresh_duration_ms: int | None = Field(description="From its start to the end of its last batch.")
    last_refresh_run_id: str | None = Field(description="Its run.")
    tools_refreshed: tuple[str, ...] | None = Field(
        description=f"The tools that it refreshed, at most {MAX_TOOLS_LISTED:,} ids."
    )
    tools_refreshed_count: int | None = Field(description="Their number.")
    mentions_7d: dict[str, int] | None = Field(
        description="The mentions of these tools in 7 days, by sentiment and `unscored`."
    )
    mostly_unscored_tools: tuple[str, ...] | None = Field(
        description="Tools with more unscored than scored mentions in these 7 days, and at "
        f"least {MOSTLY_UNSCORED}; at most {MAX_FAILED_LISTED} ids."
        " Their figures say little: the analyzer does not know the languages of their articles."
    )
    mostly_unscored_count: int | None = Field(description="Their number.")
    last_run_id: str | None = Field(description="The run of the last refresh of all tools, successful or not.")
    last_run_ended_ts: int | None = Field(description="When it ended.")
    last_run_status: str | None = Field(
        description="`SUCCEEDED`; `PARTIAL`: some tools were not refreshed, or some batches did not end in time; "
        "`FAILED`: no tool was refreshed."
    )
    last_run_errors: tuple[str, ...] = Field(
        description="How many of its batches did not end in time, and why their last tries failed."
    )
    failed_tools: dict[str, str] = Field(
        description=f"Why tools were not refreshed by that run, by id; at most {MAX_FAILED_LISTED}."
    )
    failed_tools_count: Count = Field(description="Their number.")
    dirty_tools_count: Count = Field(description="Tools with mentions that their figures do not count yet.")
    total_entries: Count = Field(description="Cache entries that are stored now.")
    cache_hits_24h: Count = Field(description="Reads of the last 24 hours that were served from the cache.")
    cache_misses_24h: Count = Field(description="Reads of the last 24 hours that were computed.")
    cache_hit_rate: Share = Field(description="hits / (hits + misses), three decimals; 0.0 without reads.")
    reads_by_hour: tuple[ReadsOfHour, ...] = Field(description="The same reads by UTC clock hour, the oldest first.")
    error_count_24h: Count = Field(
        description="Reads of aggregates that ended in a 5xx response, tools that could not be read for a list, and "
        "failed attempts to refresh a tool, in the last 24 hours."
    )
    stale_count: Count = Field(description="Entries that are stale.")
    missing_count: Count = Field(description="Entries of active tools that are missing now.")
    lacking: tuple[LackingEntry, ...] = Field(
        description="Up to 100 of these. Missing ones are searched among the first 1,000 tools by name."
    )


class Queue(Shape):
    """A queue with its poison messages."""

    name: str = Field(description="Its name.")
    messages: Count = Field(description="How many wait.")
    poison: Count = Field(description="How many failed five times.")
    poison_messages: tuple[Any, ...] = Field(description="Up to five of them.")


class Redriven(Shape):
    """What a redrive sent."""

    name: str = Field(description="The queue.")
    moved: Count = Field(description="How many messages and articles were sent.")
