"""Before a file is upgraded it is copied; a file of a newer program is refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from models.errors import Unusable
from models.operations import MigrationRecord
from services.store.sqlite import SqliteStore
from services.store.sqlite_upgrade import copy_before_upgrade
from tests.documents import NOW
from tests.unit.conftest import Put

NAME = "toolpulse.before-{:04d}.db"


@pytest.fixture
async def path(store: SqliteStore, put: Put, tmp_path: Path) -> Path:
    """A file on which the migrations 1 and 2 were run."""
    await migrated(put, 1)
    await migrated(put, 2)
    return tmp_path / "toolpulse.db"


async def migrated(put: Put, number: int, *, completed: bool = True) -> None:
    done = NOW if completed else None
    await put(
        MigrationRecord(
            number=number, name=f"step_{number}", started_at=NOW, completed_at=done, created_at=NOW, updated_at=NOW
        )
    )


def beside(path: Path, pattern: str) -> list[str]:
    return [each.name for each in path.parent.glob(pattern)]


def steps(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [name for (name,) in connection.execute("SELECT id FROM catalog WHERE pk = 'MIGRATION' ORDER BY id")]


def test_a_file_that_is_up_to_date_or_not_there_is_not_copied(path: Path, tmp_path: Path) -> None:
    assert copy_before_upgrade(path, 2) is None
    assert copy_before_upgrade(tmp_path / "none.db", 2) is None
    assert beside(path, "*before*") == []


async def test_an_older_file_is_copied_with_all_it_has(path: Path, put: Put, tmp_path: Path) -> None:
    copy = copy_before_upgrade(path, 3)
    assert copy == tmp_path / NAME.format(3)
    await migrated(put, 3)
    assert steps(copy) == ["0001", "0002"]
    assert beside(path, "*.part") == []


async def test_an_upgrade_that_was_interrupted_keeps_the_copy_from_before_it(
    path: Path, put: Put, tmp_path: Path
) -> None:
    copy_before_upgrade(path, 3)
    await migrated(put, 3, completed=False)
    assert copy_before_upgrade(path, 3) == tmp_path / NAME.format(3)
    assert steps(tmp_path / NAME.format(3)) == ["0001", "0002"]


async def test_the_copy_of_an_earlier_upgrade_goes_when_the_next_is_made(path: Path, put: Put, tmp_path: Path) -> None:
    copy_before_upgrade(path, 3)
    await migrated(put, 3)
    assert copy_before_upgrade(path, 3) is None
    copy_before_upgrade(path, 5)
    assert beside(path, "*before*") == [NAME.format(4)]


def test_a_file_that_a_newer_version_has_migrated_is_refused(path: Path) -> None:
    with pytest.raises(Unusable, match=r"toolpulse\.db was migrated by a newer version \(0002 step_2\): run that"):
        copy_before_upgrade(path, 1)


async def test_an_older_schema_is_copied_too(path: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 0")
    assert copy_before_upgrade(path, 2) is not None


def test_what_is_no_database_is_left_to_the_one_who_opens_it(tmp_path: Path) -> None:
    (tmp_path / "toolpulse.db").write_bytes(b"no database" * 1000)
    assert copy_before_upgrade(tmp_path / "toolpulse.db", 3) is None


def test_a_copy_that_cannot_be_made_stops_the_upgrade(path: Path, tmp_path: Path) -> None:
    (tmp_path / f"{NAME.format(3)}.part").mkdir()
    with pytest.raises(Unusable, match=r"before-0003\.db before the upgrade cannot be made"):
        copy_before_upgrade(path, 3)
