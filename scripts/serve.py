"""Runs this repository's app on the local host, with or without demo feeds. `scripts/dev.py run` starts it.

python scripts/serve.py [--demo] [--host ADDRESS] [--port N] [--public-url URL] [--data DIR] [--set NAME=VALUE ...]
                        [--once]
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(_ROOT)

from scripts import demo  # noqa: E402
from scripts.local_host import Refused  # noqa: E402
from scripts.local_host.command import Checked, argument_parser, command_of, main, tell  # noqa: E402
from scripts.local_host.connections import Limits  # noqa: E402

del sys.path[0]  # the host puts the app's folder on the path

_WORTH_OPENING = ("api/dashboard", "api/docs", "api/v1/sentiment/latest", "api/v1/health")
# The app itself explains why a body over 1 MB is refused.
_LIMITS = Limits(body_bytes=2 * 1024 * 1024)
_NO_NEWS = ("queue_depth", "backlog", "reviews_waiting", "refresh_age")


def _is_routine(fields: Mapping[str, Any]) -> bool:
    """What each tick logs."""
    return fields.get("event") in _NO_NEWS


def _check_settings(environment: Mapping[str, str], given: Collection[str]) -> Checked:
    """In Azure the first call that needs a wrong setting reports it; here the start does."""
    from models.errors import WrongSettings
    from services.setting import nearly_settings, unknown
    from services.settings import Settings, table

    problems, level = unknown(given, table()), ""
    try:
        level = Settings.load(environment).log_level.lower()
    except WrongSettings as error:
        problems += error.problems
    if problems:
        remedy = "See --set and local.settings.json; python -m scripts.settings lists all settings"
        raise Refused("\n  ".join(["these settings are wrong:", *problems, remedy]))
    return Checked(nearly_settings(environment, table()), "information" if level == "info" else level)


async def _open_store(data: Path) -> None:
    """Creates and migrates the store, or raises Refused: in Azure the first call reports what is wrong. The host has
    locked the folder: if the store is in it, no other worker has claimed anything."""
    from models.errors import ToolpulseError
    from scripts.backup import require_store
    from scripts.opening import open_store

    try:
        require_store(os.environ)
        await open_store(os.environ, is_locked=_has_store(data))
    except ToolpulseError as error:
        raise Refused(str(error)) from None


def _has_store(data: Path) -> bool:
    from services.settings import Settings

    settings = Settings.load(os.environ)
    return settings.store == "sqlite" and os.path.realpath(settings.data_dir) == os.path.realpath(data)


@asynccontextmanager
async def _with_demo(data: Path) -> AsyncIterator[None]:
    await _open_store(data)
    async with demo.running(data, os.environ, tell):
        yield


@asynccontextmanager
async def _without_demo(data: Path) -> AsyncIterator[None]:
    await _open_store(data)
    await demo.cleared(data, os.environ)
    yield


if __name__ == "__main__":
    parser = argument_parser("serve.py", "Runs toolpulse on this machine.", _ROOT)
    parser.add_argument("--demo", action="store_true", help="serve demo feeds, and let the app fetch them")
    arguments = parser.parse_args()
    if arguments.app.resolve() != _ROOT:
        parser.error("--app is for python -m scripts.local_host")
    # One folder for the queues and the store.
    settings = {"DATA_DIR": str(arguments.data.resolve()), **(demo.SETTINGS if arguments.demo else {})}
    sys.exit(
        main(
            command_of(
                arguments,
                settings=settings,
                check=_check_settings,
                companion=_with_demo if arguments.demo else _without_demo,
                worth_opening=_WORTH_OPENING,
                needed_keys=["MANAGEMENT_KEY"],
                limits=_LIMITS,
                is_routine=_is_routine,
            )
        )
    )
