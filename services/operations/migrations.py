"""Changes to stored documents: numbered, run in their order, and recorded in the catalog.

A migration is `async def run(store, now)`. It may be stopped at any point and is then run again from the start, so that
a second run must do no harm. A number is never used twice, and a released migration is never changed. A record without
`completed_at` shows that a migration was stopped: it is run again.

The first migration is the baseline. It changes nothing; its name says which format the store has. A store whose
baseline has another name is refused: a format that cannot be migrated gets a new name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from models.errors import Unusable
from models.operations import MigrationRecord
from services.ports import Clock, Document, Query, Store, query_all
from services.store.change import change


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered change to stored documents."""

    number: int
    name: str
    about: str
    run: Callable[[Store, datetime], Awaitable[None]]


async def _nothing(store: Store, now: datetime) -> None:
    """Changes no document."""


MIGRATIONS = (Migration(1, "baseline", "Nothing to change: says which format the store has.", _nothing),)


async def check(store: Store) -> None:
    """Raises Unusable if the store has another format. A store without a record is empty."""
    baseline = MIGRATIONS[0]
    found = await store.read(MigrationRecord.CONTAINER, MigrationRecord.PARTITION, f"{baseline.number:04d}")
    if found is not None and found["name"] != baseline.name:
        raise Unusable(
            f"the store has the format {found['name']!r}, this version reads only {baseline.name!r}: "
            "run the version that wrote it, or choose an empty data folder or database"
        )


async def records(store: Store) -> dict[int, MigrationRecord]:
    """The migrations that were begun, by number."""
    query = Query(partition=MigrationRecord.PARTITION, limit=1000)
    found = await query_all(store, MigrationRecord.CONTAINER, query)
    return {record.number: record for record in map(MigrationRecord.from_document, found)}


@dataclass(frozen=True, slots=True)
class MigrationState:
    """Whether and when a migration was run."""

    number: int
    name: str
    state: str
    about: str


async def states(store: Store) -> list[MigrationState]:
    """The state of every migration, also of those of a newer version."""
    begun = await records(store)
    found = []
    for each in MIGRATIONS:
        record = begun.pop(each.number, None)
        state = "pending"
        if record is not None:
            state = "interrupted" if record.completed_at is None else f"done {record.completed_at:%Y-%m-%d %H:%M} UTC"
        found.append(MigrationState(each.number, each.name, state, each.about))
    later = [
        MigrationState(number, each.name, "unknown here", "run by a newer version") for number, each in begun.items()
    ]
    return [*found, *sorted(later, key=lambda each: each.number)]


async def run_pending(
    store: Store, clock: Clock, migrations: Sequence[Migration] = MIGRATIONS
) -> AsyncIterator[Migration]:
    """Runs the migrations that are not completed, and yields each after it was run. Two concurrent runs do no harm
    beyond the double work. Raises Unusable if a newer version has migrated the store."""
    begun = await records(store)
    if newer := sorted(begun.keys() - {each.number for each in migrations}):
        names = ", ".join(f"{number:04d} {begun[number].name}" for number in newer)
        raise Unusable(
            f"the store was migrated by a newer version ({names}): "
            "run that version, or restore a backup that was made before"
        )
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
    """The stored record of this run, or of another one that was completed meanwhile."""
    first = MigrationRecord(
        number=migration.number, name=migration.name, started_at=now, created_at=now, updated_at=now
    )

    def begun(document: Document | None) -> Document | None:
        record = first if document is None else MigrationRecord.from_document(document)
        if record.completed_at is not None:
            return None
        return record.changed(now, name=migration.name, started_at=now).to_document()

    stored = await change(store, first.CONTAINER, first.partition, first.id, begun)
    return MigrationRecord.from_document(stored or {})


async def _complete(store: Store, record: MigrationRecord, started: datetime, now: datetime) -> None:
    duration = max(0, round((now - started).total_seconds() * 1000))
    done = record.changed(now, completed_at=now, duration_ms=duration)
    await store.upsert(record.CONTAINER, done.to_document())
