"""A queue service for an app without a host: the local host's queues behind Storage's REST interface, on a port."""

from __future__ import annotations

import base64
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import RawTestServer

from scripts.local_host.data import DataFolder
from scripts.local_host.queues import Queues
from scripts.local_host.storage_rest import StorageRest, connection_string

_LONGEST_DELAY_SECONDS = 3600.0


@dataclass
class QueueService:
    """`connection` is the setting AzureWebJobsStorage for this service, which refuses every request while `refuses`."""

    connection: str
    _queues: Queues
    refuses: bool = False
    ahead_seconds: float = 0.0

    def received(self, *names: str) -> list[str]:
        """The texts of all messages in these queues (default: in all), also of those that are still delayed. They are
        gone then."""
        found = []
        self.ahead_seconds = _LONGEST_DELAY_SECONDS
        for name in names or self._queues.names():
            while messages := self._queues.take(name, 32, 0) if name in self._queues.names() else []:
                found += [base64.b64decode(each.text).decode() for each in messages]
                for each in messages:
                    self._queues.done(each)
        self.ahead_seconds = 0.0
        return found


@contextlib.asynccontextmanager
async def queue_service(folder: Path) -> AsyncIterator[QueueService]:
    with contextlib.closing(DataFolder(folder)) as data:
        queues = Queues(data, lambda: time.time() + service.ahead_seconds, lambda name, seconds: None)
        rest, service = StorageRest(queues, time.time), QueueService("", queues)

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            return web.Response(status=403) if service.refuses else await rest.handle(request)

        async with RawTestServer(handle) as server:
            service.connection = connection_string(f"http://127.0.0.1:{server.port}")
            yield service
