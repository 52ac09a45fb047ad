"""What the endpoints of figures answer with: points, windows, closes, evidence, and the health of the cache."""

from __future__ import annotations

from collections.abc import Mapping

from models.cache import PERIODS
from triggers.declared import Schema
from triggers.schemas import (
    a_count,
    a_flag,
    a_number,
    a_text,
    a_time,
    an_object,
    by_name,
    many,
    maybe,
    or_null,
    some_of,
)

PENDING: Mapping[str, Schema] = {
    "pending_articles": maybe(
        "Articles of the whole app that are ingested and not analysed, or were edited since. Null if they could not be "
        "counted within a second.",
        "integer",
    ),
    "failed_articles": maybe("Articles of the whole app whose analysis was given up. Null as above.", "integer"),
    "complete": a_flag("Whether the figures count every article that is ingested."),
}
_COUNTS: Mapping[str, Schema] = {
    "total_mentions": maybe("Number of scored mentions.", "integer"),
    "positive_count": maybe("The positive ones.", "integer"),
    "negative_count": maybe("The negative ones.", "integer"),
    "neutral_count": maybe("The neutral ones.", "integer"),
    "unscored_mentions": maybe("Number of mentions that could not be scored.", "integer"),
    "average_sentiment": maybe("Mean `polarity` of the scored mentions, -1 to 1, four decimals.", "number"),
}
_FIGURES: Mapping[str, Schema] = {
    **_COUNTS,
    "analyzers": or_null(many({"type": "string"}, ""), "The analyzers that judged the mentions, with their versions."),
    "coverage": maybe(
        "Of the fetches that were expected, the share that succeeded, as in an aggregate. Null for hours and days over "
        "32 days ago, unless the daily close has kept it.",
        "number",
    ),
    "stories": maybe("How many stories the scored mentions are of.", "integer"),
    "publishers": maybe("How many publishers they are of.", "integer"),
    "ungrouped_mentions": maybe("How many of them have no story yet.", "integer"),
    "largest_publisher": maybe("The publisher with the most of them."),
    "largest_publisher_share": maybe("Its share, 0 to 1.", "number"),
    "largest_source": maybe("The source with the most of them."),
    "largest_source_share": maybe("Its share, 0 to 1.", "number"),
    "average_sentiment_by_story": maybe("The mean of the stories' means.", "number"),
    "effective_sample_size": maybe("As many independent mentions say as much.", "number"),
    "confidence_interval": or_null(
        many({"type": "number"}, ""), "The 95 % confidence interval of `average_sentiment`: lowest and highest value."
    ),
    "verdict": maybe("Whether the average can be relied on: `OK`, or why not."),
    "verdict_text": maybe("The same in words."),
}
_STATE = a_text(
    "`live`: a day of the last 32, whose figures follow late articles, analyses and corrections. `frozen`: an earlier "
    "day, with its last figures. `closed`: an earlier day with the figures of its close. `unknown`: the app has kept "
    "nothing of that day; all figures are null.",
    enum=["live", "frozen", "closed", "unknown"],
)
POINT: Schema = an_object(
    "Point",
    {name: _FIGURES[name] for name in (*_COUNTS, "analyzers")},
    description="The figures of a day or an hour. With `layer=raw`, those of one source, without what is counted from "
    "stories. Null: not known.",
)
POINT["properties"].update(
    {
        "day": a_text("With `step=day`: the UTC day."),
        "hour": a_time("With `step=hour`: when the hour begins."),
        "source": a_text("With `layer=raw`: the source."),
        "state": _STATE,
        **_FIGURES,
    }
)
_COMPARED_VALUE = an_object(
    "ComparedFigure",
    description="One figure of two times, and how they differ. Null: not known.",
    properties={
        "present": maybe("Of the time that was asked for.", "number"),
        "previous": maybe("Of the same length before it.", "number"),
        "absolute": maybe("The difference.", "number"),
        "relative": maybe(
            "The difference as a share of `previous`; null for an average, and if `previous` is 0.", "number"
        ),
    },
)
_COMPARED = (*_COUNTS, "stories", "publishers")
_CHANGE = an_object(
    "ChangeOfHistory",
    {
        **{name: a_time(f"`{name}`, in whole steps.") for name in ("from", "to", "previous_from", "previous_to")},
        **dict.fromkeys(_COMPARED, _COMPARED_VALUE),
    },
)
_TOTAL = an_object("TotalOfHistory", _COUNTS, description="The figures of the whole time, with the fields of a point.")
_TOTAL["properties"].update(_FIGURES)
SPAN_FACTS: Mapping[str, Schema] = {
    "step": a_text("How long a point is.", enum=["hour", "day"]),
    "from": a_time("Where the history begins."),
    "to": a_time("Where it ends."),
    **PENDING,
}
WINDOW_FACTS: Mapping[str, Schema] = {
    "total": or_null(
        _TOTAL,
        "The figures of the whole time. A story that goes over midnight counts once; so does a publisher. Null "
        "if an unknown day is in it.",
    ),
    "change": or_null(
        _CHANGE,
        "Compares the time with the same length before it. A step that is not over is compared with the same "
        "part of the earlier one. Null if nothing can be compared.",
    ),
    "reanalysis_offered": a_flag("Whether another analyzer or version than the present one judged some mentions."),
}
HISTORY_OF_TOOL: Schema = an_object(
    "HistoryOfTool",
    {
        "tool_id": a_text("The tool."),
        "tool": a_text("Its name."),
        "points": many(POINT, "Oldest first."),
        **WINDOW_FACTS,
    },
)
_CLOSE = an_object(
    "Close",
    {
        "id": a_text("Its id, for a citation."),
        "tool_id": a_text("The tool."),
        "day": a_text("The UTC day."),
        "closed_at": a_time("When it was closed."),
        "figures": some_of(_FIGURES, "The fields of a point."),
        "sha256": a_text(
            "The hash of the other five as JSON in UTF-8, with sorted keys and without spaces: "
            '`json.dumps(…, sort_keys=True, separators=(",", ":"), ensure_ascii=False)` in Python.'
        ),
    },
    description="The figures of a day as they were six hours after its end. It never changes, so a report can cite it.",
)
CLOSED_DAY: Schema = an_object(
    "ClosedDay",
    {
        "tool_id": a_text("The tool. Named by its id, a tool that was merged shows its own closes."),
        "tool": a_text("Its name."),
        "merged_into": maybe("The tool that it was merged into."),
        "day": a_text("The UTC day."),
        "closed": or_null(_CLOSE, "Null if the day is not closed yet, or the tool had no mentions then."),
        "present": some_of(
            {
                **_FIGURES,
                "state": _STATE,
                "frozen_at": or_null({"type": "string", "format": "date-time"}, "When it was frozen; null before."),
            },
            "The fields of a point as they are now.",
        ),
        "differing": many({"type": "string"}, "The names of the figures in which `closed` and `present` differ."),
    },
)
EVIDENCE_FACTS: Mapping[str, Schema] = {
    "period_start_ts": {"type": "integer", "description": "Where the window of the pages begins, in Unix seconds."},
    "period_end_ts": {"type": "integer", "description": "Where it ends. All pages keep the window of the first one."},
    "figures_updated_ts": maybe(
        "`last_updated_ts` of the aggregate of this window; null if the aggregate has a later window by now.", "integer"
    ),
    "changed_since": a_flag(
        "Whether any mention of the tool was added, changed or removed after the aggregate was computed. If false, "
        "evidence and aggregate agree."
    ),
    **PENDING,
}
_LACK = an_object(
    "LackingEntry",
    {
        "tool_id": a_text("The tool."),
        "tool": a_text("Its name."),
        "period": a_text("The period.", enum=list(PERIODS)),
        "state": a_text("What is wrong.", enum=["stale", "missing"]),
    },
)
_READS = an_object(
    "ReadsOfHour",
    {
        "hour": a_time("When the UTC hour begins. The first one has the part that lies in the last 24 hours."),
        "hits": a_count("Reads that were served from the cache."),
        "misses": a_count("Reads that were computed."),
        "errors": a_count("Reads that failed."),
    },
)
CACHE_HEALTH: Schema = an_object(
    "CacheHealth",
    {
        "status": a_text(
            "`degraded`: the last refresh failed or was partial, none has succeeded for 30 minutes, tools wait for "
            "their recount for over two minutes, or entries are stale.",
            enum=["healthy", "degraded"],
        ),
        "detail": a_text("The reasons in words."),
        "id": a_text("The id of the document.", const="metadata"),
        "tool_id": a_text("Its partition.", const="metadata"),
        "created_at": or_null({"type": "string", "format": "date-time"}, "When it was first stored; null before."),
        "updated_at": or_null({"type": "string", "format": "date-time"}, "When it last changed; null before."),
        "last_refresh_ts": maybe(
            "When the last successful refresh of all tools ended: one that refreshed every tool.", "integer"
        ),
        "last_refresh_duration_ms": maybe("From its start to the end of its last batch.", "integer"),
        "last_refresh_run_id": maybe("Its run."),
        "tools_refreshed": or_null(many({"type": "string"}, ""), "The tools that it refreshed, at most 1,000 ids."),
        "tools_refreshed_count": maybe("Their number.", "integer"),
        "mentions_7d": or_null(
            by_name({"type": "integer"}, ""), "The mentions of these tools in 7 days, by sentiment and `unscored`."
        ),
        "mostly_unscored_tools": or_null(
            many({"type": "string"}, ""),
            "Tools with more unscored than scored mentions in these 7 days, and at least 10; at most 100 ids. Their "
            "figures say little: the analyzer does not know the languages of their articles.",
        ),
        "mostly_unscored_count": maybe("Their number.", "integer"),
        "last_run_id": maybe("The run of the last refresh of all tools, successful or not."),
        "last_run_ended_ts": maybe("When it ended.", "integer"),
        "last_run_status": maybe(
            "`SUCCEEDED`; `PARTIAL`: some tools were not refreshed, or some batches did not end in time; `FAILED`: no "
            "tool was refreshed."
        ),
        "last_run_errors": many(
            {"type": "string"}, "How many of its batches did not end in time, and why their last tries failed."
        ),
        "failed_tools": by_name({"type": "string"}, "Why tools were not refreshed by that run, by id; at most 100."),
        "failed_tools_count": a_count("Their number."),
        "dirty_tools_count": a_count("Tools with mentions that their figures do not count yet."),
        **PENDING,
        "total_entries": a_count("Cache entries that are stored now."),
        "cache_hits_24h": a_count("Reads of the last 24 hours that were served from the cache."),
        "cache_misses_24h": a_count("Reads of the last 24 hours that were computed."),
        "cache_hit_rate": a_number("hits / (hits + misses), three decimals; 0.0 without reads.", minimum=0, maximum=1),
        "reads_by_hour": many(_READS, "The same reads by UTC clock hour, the oldest first."),
        "error_count_24h": a_count(
            "Reads of aggregates that ended in a 5xx response, tools that could not be read for a list, and failed "
            "attempts to refresh a tool, in the last 24 hours."
        ),
        "stale_count": a_count("Entries that are stale."),
        "missing_count": a_count("Entries of active tools that are missing now."),
        "lacking": many(_LACK, "Up to 100 of these. Missing ones are searched among the first 1,000 tools by name."),
    },
)
