"""Numbered migrations are run once, in order, and again after a crash: on both stores."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path

import pytest

from models.errors import Unusable
from services.operations.migrations import MIGRATIONS, Migration, check, records, run_pending
from services.ports import Store
from tests.contract.conftest import SettableClock

ROOT = Path(__file__).resolve().parents[2]


class Crash(Exception):
    pass


class Journal:
    """Migrations that write down that they ran."""

    def __init__(self) -> None:
        self.ran: list[int] = []
        self.crash_at = 0

    def migration(self, number: int) -> Migration:
        async def run(store: Store, now: datetime) -> None:
            self.ran.append(number)
            await store.upsert("catalog", {"id": "TOOL", "pk": f"tool{number}", "at": now.isoformat()})
            if number == self.crash_at:
                raise Crash

        return Migration(number, f"change_{number}", "", run)


async def run(store: Store, clock: SettableClock, migrations: list[Migration]) -> list[int]:
    return [migration.number async for migration in run_pending(store, clock, migrations)]


@pytest.fixture
def journal() -> Journal:
    return Journal()


async def test_migrations_run_in_order_and_once(store: Store, clock: SettableClock, journal: Journal) -> None:
    migrations = [journal.migration(number) for number in (1, 2)]
    assert await run(store, clock, migrations) == [1, 2]
    assert await run(store, clock, [*migrations, journal.migration(3)]) == [3]
    assert await run(store, clock, [*migrations, journal.migration(3)]) == []
    assert journal.ran == [1, 2, 3]
    recorded = await records(store)
    assert {number: record.name for number, record in recorded.items()} == {n: f"change_{n}" for n in (1, 2, 3)}
    assert all(record.completed_at == clock.now for record in recorded.values())


async def test_a_migration_that_was_stopped_is_run_again_and_the_next_only_then(
    store: Store, clock: SettableClock, journal: Journal
) -> None:
    migrations = [journal.migration(number) for number in (1, 2, 3)]
    journal.crash_at = 2
    with pytest.raises(Crash):
        await run(store, clock, migrations)
    assert journal.ran == [1, 2]
    assert 2 not in await records(store)
    journal.crash_at = 0
    clock.forward(60)
    assert await run(store, clock, migrations) == [2, 3]
    assert journal.ran == [1, 2, 2, 3]
    record = (await records(store))[2]
    assert (record.started_at, record.completed_at) == (clock.now, clock.now)


async def test_two_concurrent_runs_of_the_migrations_both_succeed(
    another: Callable[[], Store], store: Store, clock: SettableClock, journal: Journal
) -> None:
    migrations = [journal.migration(number) for number in (1, 2)]
    runs: list[Awaitable[list[int]]] = [run(each, clock, migrations) for each in (store, another())]
    await asyncio.gather(*runs)
    assert set(journal.ran) == {1, 2}
    assert all(record.completed_at for record in (await records(store)).values())
    assert await run(store, clock, migrations) == []


async def test_all_migrations_run_on_an_empty_store(store: Store, clock: SettableClock) -> None:
    numbers = [migration.number for migration in MIGRATIONS]
    assert numbers == list(range(1, len(numbers) + 1))
    assert all(migration.about for migration in MIGRATIONS)
    assert await run(store, clock, list(MIGRATIONS)) == numbers
    assert await run(store, clock, list(MIGRATIONS)) == []


async def test_a_store_of_another_format_or_of_a_newer_version_is_refused(store: Store, clock: SettableClock) -> None:
    await check(store)
    assert await run(store, clock, list(MIGRATIONS)) == [1]
    await check(store)
    record = (await records(store))[1]
    newer = record.model_copy(update={"number": 9, "name": "later"})
    await store.create(newer.CONTAINER, newer.to_document())
    await check(store)
    with pytest.raises(Unusable, match=r"migrated by a newer version \(0009 later\): run that version, or restore"):
        await run(store, clock, list(MIGRATIONS))
    await store.upsert(record.CONTAINER, {**record.to_document(), "name": "begin"})
    with pytest.raises(Unusable, match=r"has the format 'begin'.* run the version that wrote it, or choose an empty"):
        await check(store)


def migrate(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "migrate.py"), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_script_lists_runs_and_then_has_nothing_to_do(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    assert f"0001  {MIGRATIONS[0].name}" in migrate("--list", *data)
    assert "pending" in migrate("--list", *data)
    assert f"0001  {MIGRATIONS[0].name}: done" in migrate(*data)
    assert "done 2" in migrate("--list", *data)
    assert "nothing to do" in migrate(*data)
