"""Runs the numbered migrations in their order, and records in the catalog which have been run.

A record without `completed_at` shows that a migration was stopped: it is run again. Two concurrent runs do no
harm beyond the double work, since each migration may be run twice.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from models.errors import ChangedMeanwhile, Conflict
from models.operations import MigrationRecord
from services.operations.migrations import (
    m0002_attempts_and_due_analyses,
    m0003_verdicts,
    m0004_lists_of_feeds,
    m0005_references,
)
from services.ports import Clock, Query, Store, query_all

_TRIES = 20


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    about: str
    run: Callable[[Store, datetime], Awaitable[None]]


async def _nothing(store: Store, now: datetime) -> None:
    """Changes no document."""


MIGRATIONS = (
    Migration(1, "begin", "Nothing to change: every document is as version 0.1 wrote it.", _nothing),
    Migration(
        2,
        "attempts_and_due_analyses",
        "Feeds list interrupted attempts, and articles record that an analysis is due.",
        m0002_attempts_and_due_analyses.run,
    ),
    Migration(
        3,
        "verdicts",
        "Feeds have a verdict, and record who disabled them; those that the app disabled are probed.",
        m0003_verdicts.run,
    ),
    Migration(
        4,
        "lists_of_feeds",
        "Feeds are stored with what lists filter and sort them by.",
        m0004_lists_of_feeds.run,
    ),
    Migration(
        5,
        "references",
        "The references of old days are kept in one document for each tool and day; NOVAREF documents are gone.",
        m0005_references.run,
    ),
)


async def records(store: Store) -> dict[int, MigrationRecord]:
    """The migrations that were begun, by number."""
    query = Query(partition=MigrationRecord.PARTITION, limit=1000)
    found = await query_all(store, MigrationRecord.CONTAINER, query)
    return {record.number: record for record in map(MigrationRecord.from_document, found)}


async def run_pending(
    store: Store, clock: Clock, migrations: Sequence[Migration] = MIGRATIONS
) -> AsyncIterator[Migration]:
    """Runs the migrations that are not completed, and yields each after it was run."""
    begun = await records(store)
    for migration in migrations:
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
    """The stored record of this run, or of another one that was completed meanwhile. Raises ChangedMeanwhile."""
    record = MigrationRecord(
        number=migration.number, name=migration.name, started_at=now, created_at=now, updated_at=now
    )
    for _ in range(_TRIES):
        found = await store.read(record.CONTAINER, record.partition, record.id)
        try:
            if found is None:
                return MigrationRecord.from_document(await store.create(record.CONTAINER, record.to_document()))
            begun = MigrationRecord.from_document(found)
            if begun.completed_at is not None:
                return begun
            again = begun.changed(now, name=migration.name, started_at=now).to_document()
            return MigrationRecord.from_document(await store.replace(record.CONTAINER, again, found["_etag"]))
        except (Conflict, ChangedMeanwhile):
            continue
    raise ChangedMeanwhile(f"the record of migration {migration.number:04d} {migration.name} keeps changing: try again")


async def _complete(store: Store, record: MigrationRecord, started: datetime, now: datetime) -> None:
    duration = max(0, round((now - started).total_seconds() * 1000))
    done = record.changed(now, completed_at=now, duration_ms=duration)
    await store.upsert(record.CONTAINER, done.to_document())
