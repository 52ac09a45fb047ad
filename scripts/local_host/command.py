"""The command line of the host, and the process around it: the port, the environment, signals, output, the exit code.

SIGINT and SIGTERM let running functions finish. With --once every timer runs once and the queues are drained; the exit
code is 1 if a timer failed or a message went to a poison queue.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import logging
import os
import re
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from . import Refused
from .access import Access, access_of
from .connections import Limits
from .console import AppLog, Console
from .data import DataFolder
from .functions import Function, load_functions
from .host import Host
from .settings import app_settings, read_host_json
from .storage_rest import connection_string

_STORAGE = "AzureWebJobsStorage"
LOOPBACK = "127.0.0.1"
# A thread that the app left running does not delay the end for longer.
_LAST_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Checked:
    """What a launcher says of settings that are right: notes for the person who started the host, and the lowest level
    that is shown, as host.json names levels."""

    notes: Sequence[str] = ()
    log_level: str = "trace"


def _accept_all(environment: Mapping[str, str], given: Collection[str]) -> Checked:
    """The host knows no app's settings."""
    return Checked()


@dataclass(frozen=True, slots=True)
class Command:
    """What to run. Paths are absolute; port 0 is any free one. `public_url` is that of a proxy in front of the host.

    The other fields are for a launcher that knows the app. `check` gets the environment, and the names that --set and
    local.settings.json give; it raises Refused for wrong settings, once the app is loaded. `companion` gets the data
    folder, and runs from before the host starts until it has stopped; it raises Refused if the app cannot work.
    `worth_opening` are the paths to print at the start, of those that the app has. `is_routine` says of the fields of a
    log line whether they are no news for a person at a terminal.
    """

    app: Path
    data: Path
    port: int
    settings: Mapping[str, str]
    once: bool
    address: str = LOOPBACK
    public_url: str | None = None
    needed_keys: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)
    check: Callable[[Mapping[str, str], Collection[str]], Checked] = _accept_all
    companion: Callable[[Path], AbstractAsyncContextManager[None]] = lambda data: nullcontext()
    worth_opening: Sequence[str] = ()
    is_routine: Callable[[Mapping[str, Any]], bool] = lambda fields: False


def argument_parser(prog: str, description: str, app: Path) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("--port", type=int, default=7071, help="0 for any free one (default 7071)")
    parser.add_argument("--host", default=LOOPBACK, help="the address to listen on; other than loopback needs keys")
    parser.add_argument("--public-url", metavar="URL", help="what clients use, if a proxy is in front; needs keys")
    parser.add_argument("--data", type=Path, default=Path(".data"), help="folder of the queues (default .data)")
    parser.add_argument("--app", type=Path, default=app, help=f"folder of function_app.py (default {app})")
    parser.add_argument(
        "--set", type=name_and_value, action="append", default=[], metavar="NAME=VALUE", help="an app setting"
    )
    parser.add_argument("--once", action="store_true", help="run every timer once, drain the queues, stop")
    return parser


def name_and_value(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def command_of(given: argparse.Namespace, **of_launcher: Any) -> Command:
    settings = {**of_launcher.pop("settings", {}), **dict(given.set)}
    where = {"address": given.host, "public_url": given.public_url}
    return Command(given.app.resolve(), given.data.resolve(), given.port, settings, given.once, **where, **of_launcher)


def main(command: Command) -> int:
    """Runs the app until it is stopped. The exit code."""
    os.umask(0o077)  # no other user reads what the app stores
    runner = asyncio.Runner()
    code = 1
    try:
        code = runner.run(_run(command))
    except Refused as refused:
        tell(f"The host does not start: {refused}")
    except KeyboardInterrupt:
        code = 130
    except (Exception, SystemExit):  # of the app, while it was imported
        tell(f"The app cannot be loaded, so Azure would show no function of it:\n{traceback.format_exc()}")
    last = threading.Timer(_LAST_SECONDS, os._exit, (code,))
    last.daemon = True
    last.start()
    runner.close()
    _flush_output()
    return code


def tell(text: str) -> None:
    """Prints a line that is not the app's."""
    print(text, file=sys.stderr, flush=True)


def _flush_output() -> None:
    """Python ends with 120 if the reader of its output is gone before the last line."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


async def _run(command: Command) -> int:
    values, kept = app_settings(command.app, command.settings, os.environ)
    access = access_of(command.address, command.public_url, {**os.environ, **values}, command.needed_keys)
    with _bound(command.address, command.port) as port, _bound(LOOPBACK, 0) if access.keys else nullcontext() as own:
        origin = _url(own or port)
        notes = [f"{name} is taken from the environment, not from local.settings.json" for name in kept]
        notes += _set_environment(command.app, values, origin)
        options = read_host_json(command.app / "host.json", os.environ)
        console = Console(options, _any_text(sys.stdout), asyncio.get_running_loop())
        _log_to(console)
        with contextlib.closing(DataFolder(command.data, origin, _reached(port))) as folder:
            functions = load_functions(command.app, options, os.environ)
            checked = command.check(os.environ, values.keys())
            console.show(checked.log_level, command.is_routine)
            for note in (*notes, *checked.notes):
                console.tell(f"Note: {note}.")
            console.tell(_summary(functions, origin))
            enabled = [each for each in functions if not each.disabled]
            host = Host(enabled, options, folder, console, access, command.limits)
            _stop_on_signals(host)
            console.is_of_launcher = True
            async with command.companion(command.data):
                await host.start([port] if own is None else [own, port], timers=not command.once)
                console.is_of_launcher = False
                served = _url(port)
                to_open, elsewhere = opened_at(served, command.public_url, socket.gethostname())
                for line in _to_open(functions, to_open, access, command.worth_opening):
                    console.tell(line)
                if elsewhere is not None:
                    console.tell(f"From other machines: {elsewhere}")
                console.tell(f"Ready on {served} with its data in {command.data}. Ctrl-C stops it.")
                try:
                    return await (host.once() if command.once else host.serve())
                finally:
                    await host.stop()
                    console.flush()


def _stop_on_signals(host: Host) -> None:
    loop = asyncio.get_running_loop()

    def stop(*_: Any) -> None:
        loop.call_soon_threadsafe(host.ask_to_stop)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    # The end of the terminal, unless nohup has it ignored.
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, stop)


def _bound(address: str, port: int) -> socket.socket:
    try:
        family, kind, _, _, where = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        with contextlib.ExitStack() as on_error:
            found = on_error.enter_context(socket.socket(family, kind))
            if sys.platform != "win32":
                found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind((where[0], port, *where[2:]))  # getaddrinfo takes a port that is too high, modulo 65536
            on_error.pop_all()
    except (OSError, OverflowError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise Refused(
            f"port {port} of {address} cannot be used: {why}. Choose another with --port"
            + ("" if address == LOOPBACK else ", or another address with --host")
        ) from None
    return found


def _reached(port: socket.socket) -> str:
    """Where programs of this machine reach the port: a host that listens on every address listens on loopback too."""
    return _url(port).replace("//0.0.0.0:", f"//{LOOPBACK}:").replace("//[::]:", "//[::1]:")


def _url(port: socket.socket) -> str:
    address, number = port.getsockname()[:2]
    return f"http://[{address}]:{number}" if ":" in address else f"http://{address}:{number}"


def opened_at(served: str, public_url: str | None, machine: str) -> tuple[str, str | None]:
    """The URL that a person on this machine opens; and that for other machines, if the host listens on all addresses,
    of which none can be opened. Pure."""
    if public_url is not None:
        return public_url, None
    address, number = served.removeprefix("http://").rsplit(":", 1)
    if address not in ("0.0.0.0", "[::]"):  # noqa: S104 - compared, not bound
        return served, None
    return f"http://localhost:{number}", f"http://{machine}:{number}"


def _set_environment(app: Path, values: Mapping[str, str], origin: str) -> list[str]:
    """Sets the environment of the app. Returns notes for the person who started the host."""
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
    """Output for any text that the app logs, also characters that the terminal's encoding or UTF-8 cannot encode."""
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="backslashreplace")
    return out


def _log_to(console: Console) -> None:
    root = logging.getLogger()
    debug = os.environ.get("PYTHON_ENABLE_DEBUG_LOGGING", "").lower() in ("1", "true", "t", "yes", "y")
    root.setLevel(logging.DEBUG if debug else logging.INFO)
    root.addHandler(AppLog(console))


def _summary(functions: Sequence[Function], origin: str) -> str:
    """How many functions of each kind there are, and where they are listed."""
    kinds = {
        "HTTP": sum(each.route is not None for each in functions),
        "timer": sum(each.schedule is not None for each in functions),
        "queue": sum(each.queue is not None for each in functions),
    }
    counted = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    disabled = [each.name for each in functions if each.disabled]
    without = f"; disabled: {', '.join(disabled)}" if disabled else ""
    return f"{len(functions)} functions ({counted}{without}), listed at {origin}/admin/functions."


def _to_open(functions: Sequence[Function], url: str, access: Access, worth_opening: Sequence[str]) -> list[str]:
    """Lines about the paths that a browser can open, which gives no key."""
    gets = {
        # The function of a path and all below it also answers that path.
        re.sub(r"/\{\*\w+\}$", "", each.route.template)
        for each in functions
        if each.route is not None and each.route.takes("GET") and access.lets(each.auth_level, None)
    }
    return [f"Open {url.rstrip('/')}/{path}" for path in worth_opening if path in gets]
