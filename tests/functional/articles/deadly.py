"""A process that ingests the messages of a folder, and dies (kill -9) at a body that begins with DEADLY.

`python -m tests.functional.articles.deadly FOLDER SECONDS`; its clock is that many seconds ahead. Messages are
delivered as the queue function does: after the last delivery they are poison.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
import uuid
from datetime import datetime, timedelta
from pathlib import Path

from services.feeds.claims import INGESTION_STAGE
from services.fetch.fetcher import Fetcher
from services.fetch.outcome import FetchRequest, FetchResult
from services.ports import utc_now
from services.settings import Settings
from services.store.sqlite import SqliteStore
from services.topology import LAST_DELIVERY
from tests.builders import overdue_keys
from tests.functional.articles.victim import Messages
from tests.functional.articles.world import Worker

DEADLY = b"deadly"


class Deadly:
    """A fetcher, and the parser that the process dies in."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher

    async def fetch(self, request: FetchRequest) -> FetchResult:
        result = await self._fetcher.fetch(request)
        if (result.body or b"").startswith(DEADLY):
            await asyncio.sleep(0.2)  # other feeds are at work meanwhile
            os.kill(os.getpid(), signal.SIGKILL)
        return result


async def ingest(folder: Path, ahead: timedelta) -> None:
    def clock() -> datetime:
        return utc_now() + ahead

    settings = Settings(store="sqlite", allow_private_addresses=True)
    store = SqliteStore(folder / "store.db", clock)
    fetcher = Fetcher(settings)
    ids = (f"{os.getpid()}-{uuid.uuid4().hex[:8]}-{number}" for number in itertools.count())
    worker = Worker(store, Deadly(fetcher), clock, settings, ids)
    messages = Messages(folder)
    for batch in await worker.claims.claim_due(clock()):
        messages.put(batch.run_id)
    for run_id in await overdue_keys(store, INGESTION_STAGE, clock):
        messages.put(run_id)
    while delivered := messages.delivered():
        for path, run_id, delivery in delivered:
            if delivery <= LAST_DELIVERY:
                await worker.ingestion.ingest(run_id, delivery)
            path.unlink()
    await fetcher.close()
    await store.close()


if __name__ == "__main__":
    asyncio.run(ingest(Path(sys.argv[1]), timedelta(seconds=float(sys.argv[2]))))
