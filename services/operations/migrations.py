"""Changes to stored documents: numbered, run in their order, and recorded in the catalog.

A migration is `async def run(store, now)`, recorded once it has ended. One that was stopped is run again from the
start, so that a second run must do no harm. A number is never used twice, and a released migration is never changed.

The first migration is the baseline. It changes nothing; its name says which format the store has. A store whose
baseline has another name is refused: a format that cannot be migrated gets a new name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from models.errors import Unusable
from models.operations import MigrationRecord
from services.ports import Clock, Query, Store, query_all


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered change to stored documents."""

    number: int
    name: str
    about: str
    run: Callable[[Store, datetime], Awaitable[None]]


async def _nothing(store: Store, now: datetime) -> None:
    """Changes no document."""


MIGRATIONS = (Migration(1, "baseline 2", "Nothing to change: says which format the store has.", _nothing),)


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
    """The migrations that were run, by number."""
    query = Query(partition=MigrationRecord.PARTITION)
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
    done = await records(store)
    found = []
    for each in MIGRATIONS:
        record = done.pop(each.number, None)
        state = "pending" if record is None else f"done {record.completed_at:%Y-%m-%d %H:%M} UTC"
        found.append(MigrationState(each.number, each.name, state, each.about))
    later = [MigrationState(number, done[number].name, "unknown here", "run by a newer version") for number in done]
    return [*found, *sorted(later, key=lambda each: each.number)]


async def run_pending(
    store: Store, clock: Clock, migrations: Sequence[Migration] = MIGRATIONS
) -> AsyncIterator[Migration]:
    """Runs the migrations that are not recorded, and yields each after it was run. Two concurrent runs do no harm
    beyond the double work. Raises Unusable if a newer version has migrated the store."""
    done = await records(store)
    if newer := sorted(done.keys() - {each.number for each in migrations}):
        names = ", ".join(f"{number:04d} {done[number].name}" for number in newer)
        raise Unusable(
            f"the store was migrated by a newer version ({names}): "
            "run that version, or restore a backup that was made before"
        )
    for migration in migrations:
        if migration.number not in done:
            started = clock()
            await migration.run(store, started)
            record = MigrationRecord.of(migration.number, migration.name, started, clock())
            await store.upsert(record.CONTAINER, record.to_document())
            yield migration
