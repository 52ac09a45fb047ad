"""The local Functions host: runs the app here as `func start` would, without Azure, Node or .NET.

    python scripts/local_host.py [--port N] [--data DIR] [--app DIR] [--set NAME=VALUE ...] [--demo] [--once]

SIGINT and SIGTERM let what is in flight finish. With --once every timer runs once and the queues are drained; the exit
code is 1 if something failed for good. With --demo this repository's app gets feeds from this machine to read.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import threading
import traceback
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parent.parent
# The host's own imports come from the repository; the app's folder is put on the path when it is loaded.
sys.path[0] = str(_ROOT)

from scripts import demo  # noqa: E402
from scripts.host import Refused  # noqa: E402
from scripts.host.console import tell  # noqa: E402
from scripts.host.host import Command, Host, run  # noqa: E402

del sys.path[0]

_LAST_SECONDS = 1.0


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _command(arguments: list[str]) -> tuple[Command, bool]:
    """What to run, and whether with the demo."""
    parser = argparse.ArgumentParser(prog="local_host.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--port", type=int, default=7071, help="on 127.0.0.1; 0 for any free one (default 7071)")
    parser.add_argument("--data", type=Path, default=Path(".data"), help="folder of the queues (default .data)")
    parser.add_argument("--app", type=Path, default=_ROOT, help="folder of function_app.py (default: this repository)")
    parser.add_argument(
        "--set", type=_setting, action="append", default=[], metavar="NAME=VALUE", help="an app setting"
    )
    parser.add_argument("--once", action="store_true", help="run every timer once, drain the queues, stop")
    parser.add_argument("--demo", action="store_true", help="serve demo feeds, and let the app fetch them")
    given = parser.parse_args(arguments)
    app = given.app.resolve()
    if given.demo and app != _ROOT:
        parser.error("--demo is for this repository's own app")
    settings = {**(demo.SETTINGS if given.demo else {}), **dict(given.set)}
    check = _check_settings if app == _ROOT else _take_any
    return Command(app, given.data.resolve(), given.port, settings, given.once, check), given.demo


def _check_settings(environment: Mapping[str, str]) -> None:
    """In Azure the first call that needs a wrong setting says so; here nobody needs to wait for it."""
    from models.errors import InvalidInput
    from services.settings import Settings

    try:
        Settings.from_environment(environment)
    except InvalidInput as error:
        raise Refused("these settings are wrong:\n  " + error.allowed.replace("; ", "\n  ")) from None


def _take_any(environment: Mapping[str, str]) -> None:
    """Another app's settings are its own."""


async def _run(command: Command, with_demo: bool) -> int:
    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as until_it_stops:

        async def on_ready(host: Host) -> None:
            def stop(*_: Any) -> None:
                loop.call_soon_threadsafe(host.ask_to_stop)

            signal.signal(signal.SIGTERM, stop)
            signal.signal(signal.SIGINT, stop)
            if with_demo:
                await until_it_stops.enter_async_context(demo.running(command.data, os.environ, tell))
            elif command.app == _ROOT:
                await demo.cleared(command.data, os.environ)

        return await run(command, on_ready)


def main(arguments: list[str]) -> int:
    command, with_demo = _command(arguments)
    runner = asyncio.Runner()
    code = 1
    try:
        code = runner.run(_run(command, with_demo))
    except Refused as refused:
        tell(f"The host does not start: {refused}")
    except KeyboardInterrupt:
        code = 130
    except (Exception, SystemExit):  # of the app, while it was imported
        tell(f"The app cannot be loaded, so Azure would show no function of it:\n{traceback.format_exc()}")
    # A thread that the app left running must not hold up the end.
    last = threading.Timer(_LAST_SECONDS, os._exit, (code,))
    last.daemon = True
    last.start()
    runner.close()
    _let_go_of_output()
    return code


def _let_go_of_output() -> None:
    """Python ends with 120 if what is left to be printed has no reader any more."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
