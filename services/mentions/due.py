"""What is due after a change of articles or mentions: the stages of the analysis, of the refreshes and of the signals.

* The analysis: articles that are new, or were edited since they were last analysed. Whoever stores such an article sets
  `analysis_due_since` in the same write.
* The refreshes: tools with dirty hours, whose mentions have changed since they were counted. The hours are marked after
  the mentions were written. The recount (services/figures/recount.py) deletes the marks together with the counts that
  it writes.
* The signals: stories whose articles, or what these say of tools, have changed. Their marks (models/story.py) are
  written after the change. services/signals decides the signals, and deletes the marks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self

from models.article import Article
from models.story import SignalsDue, day_of, due_id
from models.timeline import DirtyHour
from models.tool import ANALYZE
from models.values import hour_key, parse_time
from services.ports import Document, Operation, Query, Store, Upsert, Where, query_all
from services.store.change import Decided, Key, change_many
from services.store.containers import ARTICLES, CATALOG, STORIES
from services.topology import ANALYZE_ARTICLES, GENERATE_IDEAS, REFRESH_TOOLS
from services.work.stage import Stage, Tries, fields_of, id_in, ids_in, message_of, parts_of

# Articles to be analysed.

_ALIVE = Where("deleted_at", "missing")
_EVERY_TIME = Where("timestamp", "gt", "")  # the embedded store then counts by the index of by_status
_FAILED = (Where("status", "eq", "error"), _EVERY_TIME, _ALIVE)


ANALYSED_A_SECOND = 100
"""Of the articles that one poll brings, the most whose messages are delivered in one second."""


def article_form(source_ids: Sequence[str], feed_id: str | None = None) -> dict[str, Any]:
    """The message that asks for the analysis of these articles: the specification's event of new articles. `feed_id` is
    the feed that brought them, None if they are announced again."""
    return {"event": "articles.new", "feed_id": feed_id, "article_ids": source_ids, "count": len(source_ids)}


ANALYSIS_STAGE = Stage(
    name="analysis",
    queue=ANALYZE_ARTICLES,
    container=ARTICLES.name,
    order="by_analysis_due",
    due="analysis_due_since",
    key="source_id",
    form=article_form,
    named="article_ids",
    furthest=timedelta(minutes=10),
    tries=Tries(
        address=lambda source_id: (source_id, Article.ID),
        count="analysis_attempts",
        error="last_error_fingerprint",
        given_up={"status": "error"},
    ),
    failed=_FAILED,
    workflow=ANALYZE,
    pauses=True,
)
"""An article that was given up is an error that people see (`GET articles?status=error`) and can redrive. It keeps the
scores and mentions that it has."""


async def redrive_errors(store: Store, limit: int, now: datetime) -> list[str]:
    """Makes articles that are errors pending, as if they had never been tried. The caller announces those returned."""
    where = (Where("status", "eq", "error"), _ALIVE)
    page = await store.query(ARTICLES.name, Query(where, order="by_status", limit=limit))
    redriven: list[str] = []

    def decide(key: Key, document: Document | None) -> Decided:
        if document is None or document.get("status") != "error":
            return None
        redriven.append(key[0])
        return {**ANALYSIS_STAGE.redriven(document, now), "status": "pending"}

    await change_many(store, ARTICLES.name, [(each["source_id"], Article.ID) for each in page.items], decide)
    return list(dict.fromkeys(redriven))


# Tools to be refreshed, and their dirty hours.

MAX_TOOLS = 50
"""The most tools in one message."""
DELAY_SECONDS = 1.0
"""How long a message waits for more mentions of its tools: one process has a tool recounted no more often than this."""
LONGEST_DELAY_SECONDS = 15.0
# The next refresh waits at least for so many times the time that the last one took: in a burst of articles, or with a
# throttled store, refreshes leave most of the throughput to the analysis.
WAITING_SHARE = 2.0
# For how long an hour is dirty before its message counts as lost.
OVERDUE = timedelta(seconds=30)
# The limit of a batch.
DIRTY_HOURS_AT_ONCE = 100
_ONLY_DIRTY_HOURS = (Where("id", "ge", "DIRTY:"), Where("id", "lt", "DIRTY;"))  # ";" is the character after ":"


@dataclass(frozen=True, slots=True)
class RefreshMessage:
    """A message of `refresh-tools`: the tools to refresh, announced or as a batch of a refresh of all tools. A run is
    ended by one of the batches that `may_end` it: the others begin sooner."""

    tool_ids: tuple[str, ...]
    run_id: str | None = None
    batch: str | None = None
    may_end: bool = True

    def to_message(self) -> str:
        run_id, batch = self.run_id, self.batch
        of_run = {} if run_id is None else {"run_id": run_id, "batch": batch, "may_end": self.may_end}
        return message_of({"tool_ids": self.tool_ids, **of_run})

    @classmethod
    def from_message(cls, text: str) -> Self:
        """Raises InvalidInput for a text that `to_message` never writes."""
        tool_ids, fields = ids_in(text, "tool_ids"), fields_of(text)
        if fields.get("run_id") is None:
            return cls(tuple(tool_ids))
        return cls(tuple(tool_ids), id_in(text, "run_id"), id_in(text, "batch"), fields.get("may_end") is not False)


REFRESH_STAGE = Stage(
    name="refresh",
    queue=REFRESH_TOOLS,
    container=CATALOG.name,
    order="by_dirty_hour",
    due="marked_at",
    key=CATALOG.partition_key,
    named="tool_ids",
    most=MAX_TOOLS,
    furthest=timedelta(0),
    overdue_after=OVERDUE,
    delay_seconds=DELAY_SECONDS,
)


def next_delay(refresh_seconds: float) -> float:
    """How long the next message waits after a refresh that took so many seconds."""
    return min(max(DELAY_SECONDS, WAITING_SHARE * refresh_seconds), LONGEST_DELAY_SECONDS)


async def mark_dirty(store: Store, moments: Mapping[str, Iterable[datetime]], now: datetime) -> None:
    """Marks the hours of these moments dirty, given by tool. An hour that is dirty already gets a new ETag, so that a
    recount that has begun does not delete it."""
    batches: list[tuple[str, Sequence[Operation]]] = []
    for tool_id in sorted(moments):
        hours = {hour_key(moment): moment for moment in moments[tool_id]}
        writes = [Upsert(DirtyHour.of(tool_id, hours[hour], now).to_document()) for hour in sorted(hours)]
        batches += [(tool_id, some) for some in parts_of(writes, DIRTY_HOURS_AT_ONCE)]
    await store.batch_many(CATALOG.name, batches)


async def dirty_hours_of(store: Store, tool_id: str) -> list[Document]:
    """The tool's dirty hours with their ETags, in order."""
    return (await dirty_hours_of_tools(store, [tool_id])).get(tool_id, [])


async def dirty_hours_of_tools(store: Store, tool_ids: Sequence[str]) -> dict[str, list[Document]]:
    """The dirty hours of these tools (100 at most), by tool; a tool without any is left out. All pages are read: the
    first fetch of a feed may mark the hours of years dirty."""
    found: dict[str, list[Document]] = {}
    for each in await query_all(store, CATALOG.name, _dirty_hours(tool_ids)) if tool_ids else ():
        found.setdefault(each["pk"], []).append(each)
    return found


async def tools_with_dirty_hours_among(store: Store, tool_ids: Sequence[str]) -> set[str]:
    """Those of these tools that have dirty hours. If the tools have more than a page of dirty hours, all of the hundred
    that were asked for together count as tools with dirty hours, so that this reads a bounded number of pages."""
    found: set[str] = set()
    for some in parts_of(tool_ids, DIRTY_HOURS_AT_ONCE):
        page = await store.query(CATALOG.name, _dirty_hours(some))
        found |= set(some) if page.next is not None else {each["pk"] for each in page.items}
    return found


async def few_tools_with_dirty_hours(store: Store) -> set[str] | None:
    """The ids of all tools with dirty hours; None if there are more than twenty such hours."""
    page = await store.query(CATALOG.name, Query(order="by_dirty_hour", limit=20))
    return None if page.next is not None else {each["pk"] for each in page.items}


def _dirty_hours(tool_ids: Sequence[str]) -> Query:
    if len(tool_ids) == 1:
        return Query(_ONLY_DIRTY_HOURS, partition=tool_ids[0])
    # With these conditions, the embedded store reads the dirty hours of these tools alone. With a condition on
    # `marked_at` it would read those of all tools, with one on the partition alone all documents of these tools.
    where = (Where(CATALOG.partition_key, "in", tuple(tool_ids)), *_ONLY_DIRTY_HOURS)
    return Query(where, order="by_dirty_hour")


@dataclass(frozen=True, slots=True)
class DirtyTools:
    """The tools with dirty hours, the first of them since `since`: of the hundred oldest dirty hours."""

    tools: int
    since: datetime | None


async def dirty_tools(store: Store) -> DirtyTools:
    query = Query(order="by_dirty_hour", limit=DIRTY_HOURS_AT_ONCE, may_be_stale=True)
    hours = (await store.query(CATALOG.name, query)).items
    since = min((parse_time(each["updated_at"]) for each in hours), default=None)
    return DirtyTools(len({each["pk"] for each in hours}), since)


# Stories whose signals are to be decided.

MAX_TRIES_OF_SIGNALS = 15
"""Over about four days: then the story is old."""

SIGNALS_STAGE = Stage(
    name="signals",
    queue=GENERATE_IDEAS,
    container=STORIES.name,
    order="by_signals_due",
    due="signals_due_at",
    key="event_id",
    form=lambda event_ids: {
        "event": "processing.generate_ideas",
        "event_ids": event_ids,
        "trigger_reason": "events_updated",
    },
    named="event_ids",
    tries=Tries(address=lambda event_id: (day_of(event_id), due_id(event_id)), most=MAX_TRIES_OF_SIGNALS),
    workflow="generate_ideas",
)


async def mark_signals_due(store: Store, event_ids: Collection[str], now: datetime) -> None:
    """To be called after the change was written. A story that is marked already gets a new ETag, so that a worker that
    has begun to decide its signals does not delete the mark."""
    marks = [SignalsDue(created_at=now, day=day_of(each), event_id=each, signals_due_at=now) for each in event_ids]
    if marks:
        await store.write_many(STORIES.name, [each.to_document() for each in marks])
