"""One host: its parts, the order of start and stop, and --once."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from . import Refused
from .access import Access
from .connections import Limits
from .console import Console
from .consumer import Consumer
from .data import Blocked, DataFolder
from .functions import Function
from .invoke import Invoker
from .queues import Queues
from .settings import HostOptions
from .storage_rest import StorageRest
from .timers import Timer, TimerRecords
from .web import Admin, Front

# With the steps after it, a stop takes less than ten seconds.
_FINISH_SECONDS = 6
_TOLD_EVERY_SECONDS = 60


class Host:
    """Runs the functions that are not disabled.

    If `access` needs keys, the functions and the host's own addresses are served on two ports: the own addresses and
    the queues have no keys.
    """

    def __init__(
        self,
        functions: Sequence[Function],
        options: HostOptions,
        folder: DataFolder,
        console: Console,
        access: Access,
        limits: Limits,
    ) -> None:
        self._functions = functions
        self._options = options
        self._console = console
        self._queues = Queues(folder, time.time, self._wake)
        threads = os.environ.get("PYTHON_THREADPOOL_THREAD_COUNT", "")
        self._invoker = Invoker(
            console,
            self._queues.send,
            timeout=options.function_timeout,
            is_base64=options.queues.base64,
            threads=int(threads) if threads.isdecimal() and int(threads) else None,
        )
        records = TimerRecords(folder)
        self._timers = {
            each.name: Timer(each, records, self._invoker, lambda: datetime.now(UTC))
            for each in functions
            if each.schedule
        }
        self._consumers = [self._consumer(each) for each in functions if each.queue]
        own = (Admin(functions, self._timers, self._invoker, time.time), StorageRest(self._queues, time.time))
        shared = (options.headers, options.route_prefix, console)
        if access.keys:
            self._fronts = [
                Front((), self._invoker, own, *shared, Access(), Limits()),
                Front(functions, self._invoker, None, *shared, access, limits),
            ]
        else:
            self._fronts = [Front(functions, self._invoker, own, *shared, access, limits)]
        self._runners = [
            web.ServerRunner(each.server(), handle_signals=False, shutdown_timeout=0.5) for each in self._fronts
        ]
        self._loops: set[asyncio.Task[None]] = set()
        self._poisoned = 0
        self._stop_asked = asyncio.Event()
        self._hurry = asyncio.Event()
        self._fault: BaseException | None = None
        self._waits_for_room = True
        self._told_at = -float(_TOLD_EVERY_SECONDS)

    def _consumer(self, function: Function) -> Consumer:
        return Consumer(
            function, self._queues, self._invoker, self._options.queues, self._console, self._on_poison, self._on_fault
        )

    def _wake(self, queue: str, seconds: float) -> None:
        for consumer in self._consumers:
            if consumer.queue == queue and seconds <= 0:
                consumer.wake()
            elif consumer.queue == queue:
                # A little later, since a loop's timer may end early by its resolution.
                asyncio.get_running_loop().call_later(seconds + 0.005, consumer.wake)

    def _on_poison(self) -> None:
        self._poisoned += 1

    def _on_fault(self, error: BaseException) -> None:
        """Stops the host after an error of its own. One that may pass, such as a full disk, is told once a minute."""
        if self._waits_for_room and isinstance(error, Blocked):
            if (now := time.monotonic()) - self._told_at >= _TOLD_EVERY_SECONDS:
                self._told_at = now
                self._console.tell(f"Queues wait: {error}", "error")
            return
        self._fault = self._fault or error
        self._stop_asked.set()

    def ask_to_stop(self) -> None:
        """A second call makes the host stop without waiting for running functions."""
        if self._stop_asked.is_set():
            self._hurry.set()
        self._stop_asked.set()

    def _keep(self, loop: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(loop)
        self._loops.add(task)
        task.add_done_callback(self._loop_ended)

    def _loop_ended(self, task: asyncio.Task[None]) -> None:
        self._loops.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._on_fault(error)

    async def start(self, ports: Sequence[socket.socket], *, timers: bool) -> None:
        """`ports` are that of the host's own addresses and that of the functions: one, or two if there are keys."""
        freed = self._queues.recover()
        if freed:
            self._console.tell(f"Messages that an earlier host left in work are free again: {freed}.")
        for runner, port in zip(self._runners, ports, strict=True):
            await runner.setup()
            await web.SockSite(runner, port).start()
        for consumer in self._consumers:
            self._queues.create(consumer.queue)
            self._keep(consumer.run())
        for timer in self._timers.values() if timers else ():
            self._keep(timer.run())

    async def serve(self) -> int:
        """Waits for a request to stop. Returns the exit code."""
        await self._stop_asked.wait()
        return self._exit_code()

    async def once(self) -> int:
        """Runs one timer after the other, and drains the queues after each. Returns the exit code."""
        self._waits_for_room = False
        failed = 0
        for name, timer in self._timers.items():
            if not self._stop_asked.is_set():
                outcome = await timer.start("Timer fired by --once")
                failed += outcome.error is not None
                if outcome.error is not None:
                    self._console.tell(f"{name} failed: {outcome.error}", "error")
            await self._drained()
        await self._drained()
        self._console.tell(f"Every timer ran once: {failed} failed, {self._poisoned} messages went to a poison queue.")
        return self._exit_code() or int(failed > 0 or self._poisoned > 0)

    async def _drained(self) -> None:
        names = {consumer.queue for consumer in self._consumers}
        while not self._stop_asked.is_set():
            # A message that is hidden for longer than a retry takes is not waited for.
            if not self._queues.waiting(names, time.time() + self._options.queues.visibility_timeout + 1):
                return
            await asyncio.sleep(0.02)

    def _exit_code(self) -> int:
        if self._fault is None:
            return 0
        is_told = isinstance(self._fault, Refused)
        why = str(self._fault) if is_told else f"{type(self._fault).__name__}: {self._fault}"
        self._console.tell(f"The host itself failed: {why}", "error")
        return 1

    async def stop(self) -> None:
        """Takes no more work, waits for running functions, then cancels them: their messages come back."""
        for front in self._fronts:
            front.stopping = True
        unfinished = [task for consumer in self._consumers for task in consumer.in_work]
        for task in list(self._loops):
            task.cancel()
        hurry = asyncio.create_task(self._hurry.wait())
        finish = asyncio.create_task(self._invoker.until_idle())
        await asyncio.wait([hurry, finish], timeout=_FINISH_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        finish.cancel()
        await self._invoker.cut_short()
        unfinished += [timer.firing for timer in self._timers.values() if timer.firing is not None]  # type: ignore[misc]
        if unfinished:
            await asyncio.wait(unfinished, timeout=0.5)
        for runner in self._runners:
            await runner.cleanup()
