"""An app's functions in this process, without a port: HTTP functions answer requests that a program hands over, queue
functions do the work that follows. No timer runs, and no other process is served.

For a program that needs the app for a moment while no host runs on its data folder. It locks the folder as a host does.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from azure.functions.http import HttpRequest

from .console import Console
from .consumer import Consumer
from .data import DataFolder
from .functions import load_functions
from .invoke import PROGRAMMATIC, Invoker
from .queues import Queues
from .routes import router
from .settings import read_host_json
from .values import Reply, query_parameters

_LOOKS_AGAIN_SECONDS = 0.02


class InProcess:
    """Made inside the event loop in which it works. `failed` counts the messages that went to poison queues."""

    def __init__(self, app: Path, folder: DataFolder, settings: Mapping[str, str]) -> None:
        options = read_host_json(app / "host.json", settings)
        functions = [each for each in load_functions(app, options, settings) if not each.disabled]
        console = Console(options, sys.stderr, asyncio.get_running_loop())
        console.show("error", lambda fields: False)
        self.queues = Queues(folder, time.time, self._wake)
        self.queues.recover()
        self._resolve = router((each, each.route) for each in functions if each.route is not None)
        self._invoker = Invoker(
            *(console, self.queues.send),
            timeout=options.function_timeout,
            is_base64=options.queues.base64,
            threads=None,
        )
        # A message that failed is tried again at once: nobody waits for the next try of a command.
        of_queues = replace(options.queues, visibility_timeout=0.0)
        self._consumers = [
            Consumer(each, self.queues, self._invoker, of_queues, console, self._on_poison, self._on_fault)
            for each in functions
            if each.queue is not None
        ]
        self._tasks: list[asyncio.Task[None]] = []
        self._fault: BaseException | None = None
        self.failed = 0

    def _wake(self, queue: str, seconds: float) -> None:
        for consumer in self._consumers:
            if consumer.queue == queue:
                consumer.wake()

    def _on_poison(self) -> None:
        self.failed += 1

    def _on_fault(self, error: BaseException) -> None:
        self._fault = self._fault or error

    async def request(
        self, method: str, url: str, raw_path: str, headers: Sequence[tuple[str, str]], body: bytes
    ) -> Reply:
        """The reply of the function with this route; 404 if there is none. `raw_path` has the query."""
        path, _, query = raw_path.partition("?")
        found = self._resolve(method, path)
        if found is None:
            return Reply(404, [], b"")
        function, parameters = found
        request = HttpRequest(
            method=method,
            url=url,
            headers={name.lower(): value for name, value in headers},
            params=query_parameters(query) if query else {},
            route_params=parameters,
            body_type="bytes",
            body=body,
        )
        outcome = await self._invoker.start(function, request, PROGRAMMATIC, method=method)
        return outcome.reply or Reply(204 if outcome.error is None else 500, [], b"")

    def waiting(self) -> int:
        """Messages that wait now or are being worked on."""
        return self.queues.waiting([each.queue for each in self._consumers], time.time())

    async def work(self, seconds: float | None = None) -> bool:
        """Works off the queues, for at most so long. Returns whether nothing is left."""
        if not self._tasks:
            for consumer in self._consumers:
                self.queues.create(consumer.queue)
                self._tasks.append(asyncio.create_task(consumer.run()))
        until = None if seconds is None else time.monotonic() + seconds
        while self.waiting():
            if self._fault is not None:
                raise self._fault
            if until is not None and time.monotonic() >= until:
                return False
            await asyncio.sleep(_LOOKS_AGAIN_SECONDS)
        return True

    async def close(self) -> None:
        """Ends what still runs: its messages come back."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._invoker.cut_short()
