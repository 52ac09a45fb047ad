"""A process that writes to an embedded store until it is done or killed, and says on stdout what was acknowledged.

Run as: python -m tests.unit.store.writing_process FILE NAME {ids,race} COUNT
"""

import asyncio
import sys
from pathlib import Path

from models.errors import Conflict
from services.ports import utc_now
from services.store.sqlite import SqliteStore


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201 - the other process reads it


async def write_ids(store: SqliteStore, name: str, count: int) -> None:
    for n in range(count):
        kind = n % 4
        document = {"id": f"{n}", "tool_id": name, "text": "x" * (n % 997)}
        if kind == 0:
            await store.create("mentions", document)
        elif kind == 1:
            await store.upsert("mentions", document)
        elif kind == 2:
            await store.write_many("mentions", [document, {**document, "tool_id": f"{name}-2"}])
        else:
            await asyncio.gather(*(store.increment("mentions", document, {"hits": 1}) for _ in range(3)))
        say(n)


async def race(store: SqliteStore, name: str, count: int) -> None:
    won = 0
    for n in range(count):
        await store.increment("mentions", {"id": "counter", "tool_id": "t"}, {"hits": 1, name: 1})
        try:
            await store.create("mentions", {"id": f"{n}", "tool_id": "t", "by": name})
            won += 1
        except Conflict:
            pass
        if n % 10 == 0:
            await store.write_many("mentions", [{"id": f"{name}-{n}-{m}", "tool_id": "t"} for m in range(20)])
    say(won)


async def main(path: str, name: str, what: str, count: str) -> None:
    store = SqliteStore(Path(path), utc_now, purge_seconds=0.01)
    say("ready")
    await asyncio.to_thread(sys.stdin.readline)
    await (write_ids if what == "ids" else race)(store, name, int(count))
    await store.close()


asyncio.run(main(*sys.argv[1:]))
