"""What health answers with: each check with its status, the reason in words, and figures."""

from __future__ import annotations

from collections.abc import Mapping

from triggers.declared import Schema
from triggers.schemas import a_count, a_text, an_object, by_name, many, maybe

_COUNT: Schema = {"type": "integer", "minimum": 0}
_TIME: Schema = {"type": "string", "format": "date-time"}


def _maybe_time(about: str) -> Schema:
    return {"type": ["string", "null"], "format": "date-time", "description": about}


FACTS: Mapping[str, tuple[str, Mapping[str, Schema]]] = {
    "database": (
        "Whether the store answers. With figures if it limits requests.",
        {
            "requests": a_count("Requests of the last minutes."),
            "refused": a_count("Those that it refused, since they exceeded its throughput."),
            "waited_seconds": {"type": "number", "description": "How long requests waited for that."},
        },
    ),
    "scheduler": (
        "Whether the timers run.",
        {"timers": by_name(_TIME, "By timer, when it last ran well. A timer that never did is not among them.")},
    ),
    "clock": (
        "Whether the clock jumped.",
        {
            "ahead_seconds": a_count("How far the latest time that was recorded lies in the future."),
            "jump": {
                "type": ["array", "null"],
                "items": _TIME,
                "description": "From when to when it jumped in the last day; null if it did not.",
            },
        },
    ),
    "web": (
        "Whether this installation can reach the web.",
        {
            "unreachable_since": _maybe_time("Since when it cannot; null if it can."),
            "failing_hosts": a_count("Of the hosts that were tried since, those that failed."),
            "answering_hosts": a_count("Those that answered."),
        },
    ),
    "feeds_active": (
        "Whether feeds are fetched.",
        {
            "count": a_count("Enabled feeds."),
            "ill": a_count("Feeds with a verdict that calls for somebody."),
            "counting": a_count("Feeds that count for this check: no person has disabled them."),
            "overdue": a_count("Enabled feeds without a success for a day."),
            "verdicts": by_name(_COUNT, "Feeds by verdict, of those that any feed has."),
            "disabled_by_app": a_count("Feeds that the app has disabled."),
            "sources_off": many({"type": "string"}, "News APIs that have no token."),
        },
    ),
    "last_successful_fetch": (
        "Whether any feed could be fetched in the last hour.",
        {"last_success": _maybe_time("The last success; null if there was none.")},
    ),
    "queues": (
        "Whether messages failed.",
        {
            "messages": by_name(_COUNT, "By queue, how many messages wait."),
            "poison": by_name(_COUNT, "By queue, how many failed five times; only of queues that have any."),
        },
    ),
    "analysis": (
        "Whether articles are analysed in time.",
        {
            "pending_articles": maybe("Articles that wait for it; null if they could not be counted.", "integer"),
            "failed_articles": maybe("Articles whose analysis was given up; null as above.", "integer"),
            "oldest_pending_seconds": maybe("How long the first of them waits.", "integer"),
        },
    ),
    "cache": (
        "Whether the figures are refreshed in time.",
        {
            "last_refresh": _maybe_time("The last refresh of all tools that succeeded; null if none did."),
            "last_refresh_status": maybe("How the last one ended, successful or not."),
            "failed_tools": a_count("Tools that it did not refresh."),
            "entries": a_count("Entries of the cache after it."),
            "dirty_tools": a_count("Tools with mentions that are not counted yet."),
            "unscored_mentions": a_count("Mentions of the last 7 days that could not be scored."),
            "mostly_unscored_tools": a_count("Tools of which most are."),
        },
    ),
    "archive": ("Whether full texts can be stored.", {}),
    "quarantine": (
        "Whether items wait for a person for too long.",
        {
            "pending": by_name(_COUNT, "By kind, how many wait."),
            "oldest_seconds": by_name(_COUNT, "By kind, how long the first of them waits; only of kinds with any."),
        },
    ),
    "audit": (
        "Whether stored documents agree.",
        {
            "differences": by_name(_COUNT, "By kind of difference, how many the last and the present round found."),
            "last_ended": _maybe_time("When the last round ended; null if none has."),
            "checked": a_count("Documents that it checked."),
        },
    ),
}
"""By check: what it is about, and its figures. A check that could not be made has none."""


def _check(about: str, facts: Mapping[str, Schema]) -> Schema:
    said = {
        "status": a_text("Whether this part of the app is well.", enum=["healthy", "degraded", "unhealthy"]),
        "detail": a_text("What was found, in words."),
    }
    closed = {"required": list(said), "additionalProperties": False}
    return {"type": "object", "properties": {**said, **facts}, **closed, "description": about}


HEALTH: Schema = an_object(
    "Health",
    {
        "status": a_text("Whether the app is well.", enum=["healthy", "degraded", "unhealthy"]),
        "version": a_text("The version of the app."),
        "timestamp": a_text("When this was found.", format="date-time"),
        "checks": an_object(
            "HealthChecks",
            {name: _check(about, facts) for name, (about, facts) in FACTS.items()},
            description="By what was checked. docs/operations.md says what to do about each.",
        ),
    },
)
