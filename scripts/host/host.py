"""One host from start to stop: puts the parts together, serves until told to stop, or runs everything once."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from aiohttp import web

from scripts.host import Refused
from scripts.host.admin import Admin
from scripts.host.console import AppLog, Console
from scripts.host.consumer import Consumer
from scripts.host.data import DataFolder
from scripts.host.functions import Function, load_functions
from scripts.host.invoke import Invoker
from scripts.host.listing import listing
from scripts.host.queues import Queues
from scripts.host.settings import HostOptions, app_settings, read_host_json
from scripts.host.storage_rest import StorageRest, connection_string
from scripts.host.timers import Timer, TimerRecords
from scripts.host.web import Front

_STORAGE = "AzureWebJobsStorage"
# With what follows it stays under the ten seconds that a stop may take.
_FINISH_SECONDS = 6


@dataclass(frozen=True, slots=True)
class Command:
    """What the command line asks for; paths are absolute. Port 0 is any free one.

    `check` looks at the app's settings once the app is loaded, and raises Refused for wrong ones.
    """

    app: Path
    data: Path
    port: int
    settings: Mapping[str, str]
    once: bool
    check: Callable[[Mapping[str, str]], None]


class Host:
    """`functions` are the ones that are not disabled."""

    def __init__(
        self, functions: Sequence[Function], options: HostOptions, folder: DataFolder, console: Console
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
        admin = Admin(functions, self._timers, self._invoker, time.time)
        rest = StorageRest(self._queues, time.time)
        self._front = Front(functions, self._invoker, admin, rest, options.headers, console)
        self._runner = web.ServerRunner(self._front.server(), handle_signals=False, shutdown_timeout=0.5)
        self._loops: set[asyncio.Task[None]] = set()
        self._poisoned = 0
        self._stop_asked = asyncio.Event()
        self._hurry = asyncio.Event()
        self._fault: BaseException | None = None

    def _consumer(self, function: Function) -> Consumer:
        return Consumer(
            function, self._queues, self._invoker, self._options.queues, self._console, self._on_poison, self._on_fault
        )

    def _wake(self, queue: str) -> None:
        for consumer in self._consumers:
            if consumer.queue == queue:
                consumer.wake()

    def _on_poison(self) -> None:
        self._poisoned += 1

    def _on_fault(self, error: BaseException) -> None:
        """Of the host itself, such as a full disk: it stops rather than limp."""
        self._fault = self._fault or error
        self._stop_asked.set()

    def ask_to_stop(self) -> None:
        """The second time, what is in flight is not waited for."""
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

    async def start(self, port: socket.socket, *, timers: bool) -> None:
        freed = self._queues.recover()
        if freed:
            self._console.print(f"Messages that an earlier host left in work are free again: {freed}.\n")
        await self._runner.setup()
        await web.SockSite(self._runner, port).start()
        for consumer in self._consumers:
            self._queues.create(consumer.queue)
            self._keep(consumer.run())
        for timer in self._timers.values() if timers else ():
            self._keep(timer.run())

    async def serve(self) -> int:
        """Until it is told to stop. The exit code."""
        await self._stop_asked.wait()
        return self._told_fault()

    async def once(self) -> int:
        """Every timer once, one after the other, each until the queues are empty again. The exit code."""
        failed = 0
        for name, timer in self._timers.items():
            if not self._stop_asked.is_set():
                outcome = await timer.start("Timer fired by --once")
                failed += outcome.error is not None
                if outcome.error is not None:
                    self._console.print(f"{name} failed: {outcome.error}")
            await self._drained()
        await self._drained()
        self._console.print(f"Every timer ran once: {failed} failed, {self._poisoned} messages went to a poison queue.")
        return self._told_fault() or int(failed > 0 or self._poisoned > 0)

    async def _drained(self) -> None:
        names = {consumer.queue for consumer in self._consumers}
        while not self._stop_asked.is_set():
            # What somebody hid for longer than a retry takes is not waited for.
            if not self._queues.waiting(names, time.time() + self._options.queues.visibility_timeout + 1):
                return
            await asyncio.sleep(0.02)

    def _told_fault(self) -> int:
        if self._fault is None:
            return 0
        self._console.print(f"The host itself failed: {type(self._fault).__name__}: {self._fault}")
        return 1

    async def stop(self) -> None:
        """Takes no more work, lets what is in flight finish, then cuts it short: its messages come back."""
        self._front.stopping = True
        settling = [task for consumer in self._consumers for task in consumer.in_work]
        for task in list(self._loops):
            task.cancel()
        hurry = asyncio.create_task(self._hurry.wait())
        finish = asyncio.create_task(self._invoker.settled())
        await asyncio.wait([hurry, finish], timeout=_FINISH_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        finish.cancel()
        await self._invoker.cut_short()
        settling += [timer.firing for timer in self._timers.values() if timer.firing is not None]  # type: ignore[misc]
        if settling:
            await asyncio.wait(settling, timeout=0.5)
        await self._runner.cleanup()


async def run(command: Command, on_ready: Callable[[Host], Awaitable[None]]) -> int:
    """The exit code. Raises Refused. `on_ready` gets the host once it can be told to stop, before it begins."""
    values, kept = app_settings(command.app, command.settings, os.environ)
    with _bound(command.port) as port:
        origin = f"http://127.0.0.1:{port.getsockname()[1]}"
        notes = [f"{name} is taken from the environment, not from local.settings.json" for name in kept]
        notes += _set_environment(command.app, values, origin)
        options = read_host_json(command.app / "host.json", os.environ)
        console = Console(options, _any_text(sys.stdout), asyncio.get_running_loop())
        _log_to(console)
        with contextlib.closing(DataFolder(command.data)) as folder:
            functions = load_functions(command.app, options, os.environ)
            command.check(os.environ)
            console.print(listing(functions, origin, notes))
            host = Host([each for each in functions if not each.disabled], options, folder, console)
            await on_ready(host)
            await host.start(port, timers=not command.once)
            console.print(f"Ready on {origin} with its data in {command.data}. Ctrl-C stops it.\n")
            try:
                return await (host.once() if command.once else host.serve())
            finally:
                await host.stop()
                console.flush()


def _bound(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        found.close()
        why = getattr(error, "strerror", None) or error
        raise Refused(f"port {port} of 127.0.0.1 cannot be used: {why}. Choose another with --port") from None
    return found


def _set_environment(app: Path, values: Mapping[str, str], origin: str) -> list[str]:
    """Sets what the app sees, and gives what a person should know of it."""
    notes = []
    os.environ.update(values)
    elsewhere = [name for name in os.environ if name.startswith(f"{_STORAGE}__")]
    if elsewhere or os.environ.get(_STORAGE, "") not in ("", "UseDevelopmentStorage=true"):
        notes.append(f"{_STORAGE} is replaced: this host has queues of its own and touches no others")
    for name in elsewhere:
        del os.environ[name]
    os.environ[_STORAGE] = connection_string(origin)
    os.environ["WEBSITE_HOSTNAME"] = origin.removeprefix("http://")
    os.environ.setdefault("FUNCTIONS_WORKER_RUNTIME", "python")
    os.environ.setdefault("AZURE_FUNCTIONS_ENVIRONMENT", "Development")
    os.environ["FUNCTIONS_WORKER_RUNTIME_VERSION"] = f"{sys.version_info.major}.{sys.version_info.minor}"
    os.environ["AzureWebJobsScriptRoot"] = str(app)  # noqa: SIM112 (the real host's spelling)
    os.chdir(app)
    return notes


def _any_text(out: TextIO) -> TextIO:
    """Output that takes whatever the app logs, also what a terminal's encoding or UTF-8 itself has no bytes for."""
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="backslashreplace")
    return out


def _log_to(console: Console) -> None:
    root = logging.getLogger()
    debug = os.environ.get("PYTHON_ENABLE_DEBUG_LOGGING", "").lower() in ("1", "true", "t", "yes", "y")
    root.setLevel(logging.DEBUG if debug else logging.INFO)
    root.addHandler(AppLog(console))
