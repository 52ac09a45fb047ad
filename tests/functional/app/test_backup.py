"""A data folder is copied while the app works in it, and put back elsewhere: nothing is lost, the audit is clean."""

import asyncio
import json
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from scripts.backup import MANIFEST, backup, main, restore
from scripts.local_host import Refused
from scripts.local_host.data import DataFolder
from services.archive.folder import FolderArchive
from services.operations.migrations import run_pending
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import NOW
from tests.hosting import ROOT, host_environment, running_host


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """A folder as an app leaves it."""
    folder = tmp_path / "data"
    DataFolder(folder).close()
    store = SqliteStore(folder / "toolpulse.db", Watch(NOW))
    await store.ensure_containers()
    assert [each.number async for each in run_pending(store, Watch(NOW))]
    await store.close()
    await FolderArchive(folder / "archive").put("2026-11-19/" + "0" * 32, b"kept")
    return folder


@pytest.fixture
def made(data: Path, tmp_path: Path) -> Path:
    backup(data, tmp_path / "backup")
    return tmp_path / "backup"


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in (MANIFEST, "host.lock")
    }


def rows(path: Path, table: str) -> set[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return set(connection.execute(f"SELECT pk, id FROM {table} WHERE expires IS NULL OR expires > unixepoch()"))


async def audited(data: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "toolpulse", "--data", str(data), "audit",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, cwd=ROOT, env=host_environment(),
    )  # fmt: skip
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()
    return printed.decode().splitlines()[-1]


async def test_a_backup_of_an_app_that_ingests_is_restored_whole(tmp_path: Path) -> None:
    data, target, restored = tmp_path / "data", tmp_path / "backup", tmp_path / "restored"
    async with running_host("--demo", data=data, settings={"DATA_DIR": str(data), "ARCHIVE": "folder"}) as host:
        async with aiohttp.ClientSession(host.url) as session:
            # The first ticks: feeds are fetched, articles analysed, entries refreshed.
            tick = asyncio.create_task(session.post("/admin/functions/ingest_due_feeds?wait=1", json={}))
            async with asyncio.timeout(300):
                while not (data / "toolpulse.db").exists() or not rows(data / "toolpulse.db", "articles"):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            before = rows(data / "toolpulse.db", "articles")
            manifest = await asyncio.to_thread(backup, data, target)
            await tick
            with pytest.raises(Refused, match=r"another host \(process \d+\) works with the data folder"):
                restore(target, data)
        assert await host.stop() == 0
    assert {"toolpulse.db", "host.sqlite"} <= manifest.files.keys()
    assert restore(target, restored) == manifest
    articles = rows(restored / "toolpulse.db", "articles")
    assert before <= articles <= rows(data / "toolpulse.db", "articles")
    # Work goes on where the copy stopped, and the documents agree with each other.
    settings = {"DATA_DIR": str(restored)}
    async with running_host(data=restored, settings=settings) as host, aiohttp.ClientSession(host.url) as session:
        async with session.get("/api/v1/health") as answer:
            assert (await answer.json())["checks"]["database"]["status"] == "healthy"
        async with session.get("/api/v1/articles?limit=500") as answer:
            shown = {each["source_id"] for each in (await answer.json())["items"]}
        assert shown <= {partition for partition, _ in rows(restored / "toolpulse.db", "articles")}
        assert shown
        assert await host.stop() == 0
    assert "0 differences" in await audited(restored)


def test_a_backup_has_every_file_and_its_checksum(data: Path, made: Path, tmp_path: Path) -> None:
    manifest = json.loads((made / MANIFEST).read_text())
    assert set(manifest["files"]) == set(contents(made))
    assert sum(name.startswith("archive/") for name in manifest["files"]) == 1
    assert "settings" in manifest["not_included"]
    restore(made, tmp_path / "other")
    assert contents(tmp_path / "other") == contents(made)
    for folder in (made, tmp_path / "other"):
        assert [each for each in (folder, *folder.rglob("*")) if each.stat().st_mode & 0o077] == []


def test_a_backup_needs_a_store_and_an_empty_target(data: Path, made: Path, tmp_path: Path) -> None:
    before = contents(made)
    with pytest.raises(Refused, match=r"backup is not empty: choose a new folder"):
        backup(data, made)
    assert contents(made) == before
    with pytest.raises(Refused, match=r"has no toolpulse\.db"):
        backup(tmp_path / "nowhere", tmp_path / "target")
    with pytest.raises(Refused, match="lies in the archive"):
        backup(data, data / "archive" / "copy")
    assert not (tmp_path / "target").exists()


def test_a_damaged_store_gives_no_backup(data: Path, tmp_path: Path) -> None:
    (data / "toolpulse.db").write_bytes(b"no database" * 1000)
    with pytest.raises(Refused, match=r"a database cannot be copied to .*: file is not a database"):
        backup(data, tmp_path / "target")
    assert not (tmp_path / "target").exists()


def changed(name: str, value: Any) -> Callable[[Path], None]:
    def write(made: Path) -> None:
        content = json.loads((made / MANIFEST).read_text())
        content[name] = value
        (made / MANIFEST).write_text(json.dumps(content))

    return write


def other_name(name: str) -> Callable[[Path], None]:
    def write(made: Path) -> None:
        content = json.loads((made / MANIFEST).read_text())
        content["files"][name] = content["files"]["toolpulse.db"]
        (made / MANIFEST).write_text(json.dumps(content))

    return write


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda made: (made / MANIFEST).unlink(), "is no finished backup: manifest.json cannot be read"),
        (lambda made: (made / MANIFEST).write_text("{"), "manifest.json is damaged"),
        (changed("format", "another"), "is no backup of this program"),
        (changed("format_version", 2), "was made by another version"),
        (changed("schema_version", 999), "was made by another version"),
        (changed("migrations", 999), "was made by another version"),
        (changed("files", {}), "manifest.json is damaged"),
        (changed("made_at", "yesterday"), "manifest.json is damaged"),
        (other_name("../outside"), "manifest.json is damaged"),
        (other_name("archive/../../outside"), "manifest.json is damaged"),
        (other_name("/tmp/outside"), "manifest.json is damaged"),
        (lambda made: (made / "toolpulse.db").write_bytes(b"x"), "toolpulse.db is damaged or missing"),
        (lambda made: (made / "host.sqlite").unlink(), "host.sqlite is damaged or missing"),
        (lambda made: shutil.rmtree(made / "archive"), "is damaged or missing"),
    ],
)
def test_a_backup_that_is_not_whole_or_not_ours_is_refused_and_nothing_is_written(
    made: Path, tmp_path: Path, change: Callable[[Path], Any], said: str
) -> None:
    change(made)
    with pytest.raises(Refused, match=said):
        restore(made, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_folder_with_anything_in_it_is_not_restored_to(made: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "note").write_text("mine")
    with pytest.raises(Refused, match="is not empty: move its files away"):
        restore(made, other)
    assert contents(other) == {"note": b"mine"}


def test_a_target_that_cannot_be_written_is_named(data: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Refused, match=r"file/target cannot be used \(Not a directory\): check its rights"):
        backup(data, tmp_path / "file" / "target")


def test_the_command_says_what_it_did_or_why_not(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "target"
    assert main(["backup", str(target), "--data", str(data)]) == 0
    assert "3 files" in (printed := capsys.readouterr().out)
    assert "Not included: settings and keys" in printed
    assert main(["restore", str(target), "--data", str(data)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["restore", str(target), "--data", str(tmp_path / "other")]) == 0
