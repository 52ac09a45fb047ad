"""A process that writes to an embedded store until it is done or killed, and prints what the store has acknowledged.

Run as: python -m tests.unit.store.writing_process FILE NAME {batches,pairs} COUNT
"""

import asyncio
import sys
from pathlib import Path

from models.errors import ChangedMeanwhile, Conflict
from services.ports import Create, Operation, Query, Replace, Upsert, utc_now
from services.store.sqlite import SqliteStore


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201 - the test reads it


PARTS = ("one", "two", "three")


async def write_batches(store: SqliteStore, name: str, count: int) -> None:
    """Batch n creates three documents of partition `{name}-{n}`, and writes n to both documents of partition `name`."""

    def batch(n: int) -> list[tuple[str, list[Operation]]]:
        partition, text = f"{name}-{n}", "x" * (n % 997)
        parts: list[Operation] = [Create({"id": part, "tool_id": partition, "text": text}) for part in PARTS]
        pair: list[Operation] = [Upsert({"id": part, "tool_id": name, "n": n}) for part in ("a", "b")]
        return [(partition, parts), (name, pair)]

    for n in range(count):
        if n % 2:
            await store.batch_many("mentions", batch(n))
        else:
            await asyncio.gather(*(store.batch("mentions", *each) for each in batch(n)))
        say(n)


async def count_in_pairs(store: SqliteStore, name: str, count: int) -> None:
    """Adds 1 to two documents that other processes add to as well, until it has won `count` times."""
    won = 0
    while won < count:
        found = (await store.query("mentions", Query(partition="pair"))).items
        if not found:
            operations: list[Operation] = [Create({"id": part, "tool_id": "pair", "n": 1}) for part in ("a", "b")]
        else:
            assert len({each["n"] for each in found}) == 1
            operations = [Replace({**each, "n": each["n"] + 1}, each["_etag"]) for each in found]
        try:
            await store.batch("mentions", "pair", operations)
            won += 1
        except (Conflict, ChangedMeanwhile):
            pass
    say(won)


WORK = {"batches": write_batches, "pairs": count_in_pairs}


async def main(path: str, name: str, what: str, count: str) -> None:
    store = SqliteStore(Path(path), utc_now, checkpoint_seconds=0.01)
    say("ready")
    await asyncio.to_thread(sys.stdin.readline)
    await WORK[what](store, name, int(count))
    await store.close()


asyncio.run(main(*sys.argv[1:]))
