"""CacheMetadata, which describes the last successful refresh of all tools, and how the last refresh ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from models.cache import (
    MAX_FAILED_LISTED,
    MAX_TOOLS_LISTED,
    METADATA_PARTITION,
    PERIODS,
    CacheMetadata,
    LastRefresh,
)
from models.run import Attempt, JobRun
from services.articles.listing import SAID
from services.figures.counters import Counters
from services.ports import Document, Store, Where, readable
from services.store.containers import SENTIMENT_CACHE

LONGEST_REASON = 200
ENTRIES = Where("period", "in", tuple(PERIODS))


async def refresh_ended(
    store: Store,
    counters: Counters,
    run: JobRun,
    batches: Sequence[Attempt],
    status: Literal["SUCCEEDED", "PARTIAL", "FAILED"],
    errors: Sequence[str],
    now: datetime,
) -> None:
    """`batches` are the attempts that succeeded, one for each batch. The times are those of the last: the run itself
    may only be closed by the next tick."""
    await counters.flush()
    ended_ms = max((batch.ended_ms or 0 for batch in batches), default=0)
    # A refresh without a batch that ended is closed by the next tick.
    ended = datetime.fromtimestamp(ended_ms / 1000, UTC) if ended_ms else now
    before, last = await last_refreshes(store)
    last = last_refresh(run, batches, status, errors, last, ended)
    await store.upsert(SENTIMENT_CACHE.name, last.to_document())
    if status != "SUCCEEDED":
        return
    tools = sorted(tool_id for batch in batches for tool_id in batch.tool_ids)
    metadata = CacheMetadata(
        created_at=before.created_at if before else ended,
        updated_at=ended,
        last_refresh_ts=ended_ms // 1000,
        last_refresh_duration_ms=max(0, ended_ms - (run.began_ms or ended_ms)),
        total_entries=await count_entries(store),
        **await counters.last_24_hours(),
        tools_refreshed=tuple(tools[:MAX_TOOLS_LISTED]),
        tools_refreshed_count=len(tools),
        last_refresh_run_id=run.run_id,
        **mentions_of(batches),
    )
    await store.upsert(SENTIMENT_CACHE.name, metadata.to_document())


def by_sentiment(weeks: Iterable[Document]) -> dict[str, int]:
    """The mentions of these entries together."""
    sums = dict.fromkeys(SAID, 0)
    for week in weeks:
        sums["positive"] += week["positive_count"]
        sums["negative"] += week["negative_count"]
        sums["neutral"] += week["neutral_count"]
        sums["unscored"] += week["unscored_mentions"]
    return sums


def mentions_of(batches: Sequence[Attempt]) -> dict[str, Any]:
    """The fields of CacheMetadata that say how many mentions the tools of a refresh have, and how many are unscored."""
    unscored = sorted({tool_id for batch in batches for tool_id in batch.unscored_tools})
    return {
        "mentions_7d": {name: sum(batch.counts.get(name, 0) for batch in batches) for name in SAID},
        "mostly_unscored_tools": tuple(unscored[:MAX_FAILED_LISTED]),
        "mostly_unscored_count": len(unscored),
    }


def last_refresh(
    run: JobRun,
    batches: Sequence[Attempt],
    status: Literal["SUCCEEDED", "PARTIAL", "FAILED"],
    errors: Sequence[str],
    before: LastRefresh | None,
    ended: datetime,
) -> LastRefresh:
    failed = dict(error.split(": ", 1) for batch in batches for error in batch.errors)
    listed = {tool_id: failed[tool_id][:LONGEST_REASON] for tool_id in sorted(failed)[:MAX_FAILED_LISTED]}
    return LastRefresh(
        created_at=before.created_at if before else ended,
        updated_at=ended,
        run_id=run.run_id,
        status=status,
        ended_at=ended,
        failed_tools=listed,
        failed_tools_count=len(failed),
        errors=tuple(error[:LONGEST_REASON] for error in errors[:MAX_FAILED_LISTED]),
    )


async def count_entries(store: Store) -> int:
    return await store.count(SENTIMENT_CACHE.name, (ENTRIES,), may_be_stale=True)


async def last_refreshes(store: Store) -> tuple[CacheMetadata | None, LastRefresh | None]:
    """The last successful refresh, and the last one. None before the first, or if the document cannot be read."""
    keys = [(METADATA_PARTITION, CacheMetadata.ID), (METADATA_PARTITION, LastRefresh.ID)]
    metadata, last = await store.read_many(SENTIMENT_CACHE.name, keys)
    return readable(metadata, CacheMetadata.from_document), readable(last, LastRefresh.from_document)
