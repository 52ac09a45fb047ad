"""A process that claims and ingests until nothing is left to do, unless it is killed before: see killing.py.

`python -m tests.functional.articles.victim FOLDER SECONDS`; its clock is that many seconds ahead.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import uuid
from datetime import datetime, timedelta
from pathlib import Path

from services.feeds.claims import INGESTION_STAGE
from services.fetch.fetcher import Fetcher
from services.ports import utc_now
from services.settings import Settings
from services.store.sqlite import SqliteStore
from tests.builders import overdue_keys
from tests.functional.articles.world import Worker


class Messages:
    """Messages as files. A file's suffix is the number of its deliveries."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "messages"
        self._folder.mkdir(exist_ok=True)

    def put(self, run_id: str) -> None:
        # A run may have two messages: the one that its killed worker had, and the one that is sent again.
        path = self._folder / f"{uuid.uuid4().hex}.0"
        path.with_suffix(".writing").write_text(run_id)
        path.with_suffix(".writing").replace(path)

    def delivered(self) -> list[tuple[Path, str, int]]:
        """Each message with the number of its deliveries, this one included."""
        found = []
        for path in list(self._folder.glob("*.[0-9]*")):
            delivery = int(path.suffix[1:]) + 1
            path = path.rename(path.with_suffix(f".{delivery}"))  # noqa: PLW2901
            found.append((path, path.read_text(), delivery))
        return found


async def ingest(folder: Path, ahead: timedelta) -> None:
    def clock() -> datetime:
        return utc_now() + ahead

    store = SqliteStore(folder / "store.db", clock)
    fetcher = Fetcher(
        Settings(
            store="sqlite",
            max_concurrent_requests=10,
            max_concurrent_requests_per_host=8,
            allow_private_addresses=True,
        )
    )
    settings = Settings(store="sqlite")
    ids = (f"{os.getpid()}-{uuid.uuid4().hex[:8]}-{number}" for number in itertools.count())
    worker = Worker(store, fetcher, clock, settings, ids)
    messages = Messages(folder)
    print("ready", flush=True)  # noqa: T201
    for run_id in await overdue_keys(store, INGESTION_STAGE, clock):
        messages.put(run_id)
    while True:
        for batch in await worker.claims.claim_due(clock()):
            messages.put(batch.run_id)
        delivered = messages.delivered()
        if not delivered:
            break
        await asyncio.gather(*(worker.ingestion.ingest(batch, delivery) for _, batch, delivery in delivered))
        for path, _, _ in delivered:
            path.unlink(missing_ok=True)  # a second message of the run may have taken its name
    await fetcher.close()
    await store.close()


if __name__ == "__main__":
    asyncio.run(ingest(Path(sys.argv[1]), timedelta(seconds=float(sys.argv[2]))))
