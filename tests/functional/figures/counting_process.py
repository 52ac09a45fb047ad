"""A process that counts hits until it is told to stop, and says how many it has counted: run as a script.

python -m tests.functional.figures.counting_process FILE FLUSHED_EVERY
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from services.figures.counters import Counters
from services.ports import utc_now
from services.store.sqlite import SqliteStore

PAUSE_SECONDS = 0.001


async def main(path: str, flushed_every: float) -> None:
    store = SqliteStore(Path(path), utc_now)
    counters = Counters(store, utc_now, flushed_every)
    stop = asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    counted = 0
    while not stop.done():
        counted += 1
        sys.stdout.write(f"{counted}\n")
        sys.stdout.flush()
        counters.read("HIT", 0.001)
        await asyncio.sleep(PAUSE_SECONDS)
    await counters.close()
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
