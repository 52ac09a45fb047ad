"""The embedded store under kill -9, and under several processes at once."""

import asyncio
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from services.ports import Query, utc_now
from services.store.sqlite import SqliteStore

ROOT = Path(__file__).resolve().parents[3]


class Writer:
    """See writing_process.py."""

    def __init__(self, path: Path, name: str, what: str, count: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.unit.store.writing_process", str(path), name, what, str(count)],
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        assert self.stdout.readline() == "ready\n"

    def go(self) -> None:
        self.stdin.write("go\n")
        self.stdin.flush()

    def finish(self) -> str:
        said, _ = self.process.communicate(timeout=300)
        assert self.process.returncode == 0
        return str(said)

    def kill(self) -> list[int]:
        """Kills the process at work, and returns what the store had acknowledged."""
        self.process.kill()
        said, _ = self.process.communicate(timeout=300)
        lines = said.split("\n")
        return [int(line) for line in lines[:-1]]  # the last one may be half a number


def intact(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        return bool(connection.execute("PRAGMA integrity_check").fetchone() == ("ok",))


async def test_a_batch_is_there_whole_or_not_at_all_after_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    acknowledged: dict[str, int] = {}
    for turn in range(6):
        writer = Writer(path, f"p{turn}", "batches", 1_000_000)
        writer.go()
        said = [int(writer.stdout.readline()) for _ in range(random.randint(1, 150))]
        acknowledged[f"p{turn}"] = max(said + writer.kill())
    assert intact(path)
    store = SqliteStore(path, utc_now)
    for name, last in acknowledged.items():
        for n in range(last + 2):  # one more may have been done, and not acknowledged
            parts = await store.count("mentions", partition=f"{name}-{n}")
            assert parts == 3 or (parts == 0 and n > last)
        a, b = await store.read_many("mentions", [(name, "a"), (name, "b")])
        assert a is not None
        assert b is not None
        assert a["n"] == b["n"] >= last
    await store.close()


async def test_two_processes_count_in_pairs_of_documents_exactly(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    rounds = 200
    writers = [Writer(path, name, "pairs", rounds) for name in ("one", "two")]
    for writer in writers:
        writer.go()
    for writer in writers:
        assert int(writer.finish()) == rounds
    store = SqliteStore(path, utc_now)
    assert [each["n"] for each in (await store.query("mentions", Query(partition="pair"))).items] == [2 * rounds] * 2
    await store.close()


async def test_processes_that_open_a_fresh_file_together_all_get_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    writers = [Writer(path, f"p{n}", "batches", 8) for n in range(3)]
    for writer in writers:
        writer.go()
    said = await asyncio.gather(*(asyncio.to_thread(writer.finish) for writer in writers))
    assert all(each.split() == [str(n) for n in range(8)] for each in said)
    assert intact(path)
