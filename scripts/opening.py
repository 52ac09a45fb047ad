"""Opens the store when the local host starts, so that the start can be refused, and ends the claims of dead workers.

In Azure the first call reports a store that cannot be used, and claims end with their leases.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import datetime

from models.story import GroupingLease
from models.values import format_time
from services import logs
from services.container import STAGES
from services.container.adapters import credentials, opened_store
from services.documents.documents import DOCUMENTS_STAGE
from services.ports import Query, Store, Where, query_all, utc_now
from services.settings import Settings
from services.store.containers import CATALOG, DOCUMENTS, RUNS


async def open_store(environment: Mapping[str, str], *, is_locked: bool) -> None:
    """Creates and migrates the store. Raises WrongSettings and Unavailable. With `is_locked` no other worker lives."""
    settings = Settings.load(environment)
    logs.configure(settings.log_level, settings.structured_logging)
    async with AsyncExitStack() as resources:
        store = await opened_store(settings, utc_now, credentials(resources), resources, migrate=True)
        if is_locked:
            await end_claims(store, utc_now())


async def end_claims(store: Store, now: datetime) -> None:
    """Ends what workers had claimed, for a start that knows that none of them lives: runs and full texts are due at
    once, and anyone may group. So are items at which one worker died: at a second death they wait, since they may be
    what kills workers."""
    at = format_time(now)
    begun = Where("status", "eq", "RUNNING"), Where("due_at", "gt", at)
    runs = await query_all(store, RUNS.name, Query(begun, order="by_due"))
    await store.write_many(RUNS.name, [{**each, "due_at": at} for each in runs])
    later = Query((*DOCUMENTS_STAGE.where, Where(DOCUMENTS_STAGE.due, "gt", at)), order="by_due")
    tried = [each for each in await query_all(store, DOCUMENTS.name, later) if each.get("open_attempt")]
    await store.write_many(DOCUMENTS.name, [{**each, DOCUMENTS_STAGE.due: at} for each in tried])
    for stage in STAGES:
        if (tries := stage.tries) is None:
            continue
        ahead = Query((*stage.where, Where(stage.due, "gt", at)), order=stage.order)
        waiting = await query_all(store, stage.container, ahead)
        killed = [each for each in waiting if stage.has_killed(each) and each.get(tries.count) == 1]
        await store.write_many(stage.container, [{**each, stage.due: at} for each in killed])
    await store.delete(CATALOG.name, GroupingLease.PARTITION, GroupingLease.ID)
