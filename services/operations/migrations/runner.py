"""Runs numbered migrations in their order, and records in the catalog which have been run.

A record without `completed_at` is of a run that was stopped: that migration is run again. Two runs at a time do no harm
beyond their double work, since each migration stands being run twice.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from models.errors import ChangedMeanwhile, Conflict
from models.migration import MigrationRecord
from services.operations import migrations
from services.ports import Clock, Query, Store

_TRIES = 20
_NAME = re.compile(r"m(\d{4})_([a-z0-9_]+)\Z")


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    about: str
    run: Callable[[Store, datetime], Awaitable[None]]


def known() -> list[Migration]:
    """All modules of the package, by number. Raises ValueError if two share one."""
    found: dict[int, Migration] = {}
    for module_info in pkgutil.iter_modules(migrations.__path__):
        match = _NAME.match(module_info.name)
        if match is None:
            continue
        module = importlib.import_module(f"{migrations.__name__}.{module_info.name}")
        number = int(match[1])
        if number in found:
            raise ValueError(f"two migrations have the number {number:04d}: {found[number].name} and {match[2]}")
        about = (module.__doc__ or "").partition("\n")[0]
        found[number] = Migration(number, match[2], about, module.run)
    return [found[number] for number in sorted(found)]


async def records(store: Store) -> dict[int, MigrationRecord]:
    """What has been begun, by number."""
    container, partition = MigrationRecord.CONTAINER, MigrationRecord.PARTITION
    found: dict[int, MigrationRecord] = {}
    after = None
    while True:
        page = await store.query(container, Query(partition=partition, limit=1000, after=after))
        for document in page.items:
            record = MigrationRecord.from_document(document)
            found[record.number] = record
        if (after := page.next) is None:
            return found


async def run_pending(store: Store, clock: Clock, all_known: Sequence[Migration]) -> AsyncIterator[Migration]:
    """Runs what has not been completed, and yields each when it has."""
    begun = await records(store)
    for migration in all_known:
        record = begun.get(migration.number)
        if record is not None and record.completed_at is not None:
            continue
        started = clock()
        record = await _begin(store, migration, started)
        if record.completed_at is None:
            await migration.run(store, started)
            await _complete(store, record, started, clock())
            yield migration


async def _begin(store: Store, migration: Migration, now: datetime) -> MigrationRecord:
    """Our record of it, or somebody else's if they have completed it meanwhile. Raises ChangedMeanwhile."""
    record = MigrationRecord(
        number=migration.number, name=migration.name, started_at=now, created_at=now, updated_at=now
    )
    for _ in range(_TRIES):
        held = await store.read(record.CONTAINER, record.partition, record.id)
        try:
            if held is None:
                return MigrationRecord.from_document(await store.create(record.CONTAINER, record.to_document()))
            begun = MigrationRecord.from_document(held)
            if begun.completed_at is not None:
                return begun
            again = begun.changed(now, name=migration.name, started_at=now).to_document()
            return MigrationRecord.from_document(await store.replace(record.CONTAINER, again, held["_etag"]))
        except (Conflict, ChangedMeanwhile):
            continue  # somebody else runs it too
    raise ChangedMeanwhile(f"the record of migration {migration.number:04d} {migration.name} keeps changing: try again")


async def _complete(store: Store, record: MigrationRecord, started: datetime, now: datetime) -> None:
    duration = max(0, round((now - started).total_seconds() * 1000))
    done = record.changed(now, completed_at=now, duration_ms=duration)
    await store.upsert(record.CONTAINER, done.to_document())
