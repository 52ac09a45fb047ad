"""Runs this repository's app on the local host, with or without demo feeds. `scripts/dev.py run` starts it.

python scripts/serve.py [--demo] [--port N] [--data DIR] [--set NAME=VALUE ...] [--once]
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(_ROOT)

from scripts import demo  # noqa: E402
from scripts.local_host import Refused  # noqa: E402
from scripts.local_host.command import argument_parser, command_of, main, tell  # noqa: E402

del sys.path[0]  # the host puts the app's folder on the path

_WORTH_OPENING = ("api/v1/sentiment/latest", "api/v1/articles", "api/v1/health")


def _check_settings(environment: Mapping[str, str]) -> None:
    """In Azure the first call that needs a wrong setting reports it; here the start does."""
    from models.errors import WrongSettings
    from services.settings import Settings

    try:
        Settings.load(environment)
    except WrongSettings as error:
        raise Refused("these settings are wrong:\n  " + "\n  ".join(error.problems)) from None


@asynccontextmanager
async def _with_demo(data: Path) -> AsyncIterator[None]:
    async with demo.running(data, os.environ, tell):
        yield


@asynccontextmanager
async def _without_demo(data: Path) -> AsyncIterator[None]:
    await demo.cleared(data, os.environ)
    yield


if __name__ == "__main__":
    parser = argument_parser("serve.py", "Runs toolpulse on this machine.", _ROOT)
    parser.add_argument("--demo", action="store_true", help="serve demo feeds, and let the app fetch them")
    arguments = parser.parse_args()
    if arguments.app.resolve() != _ROOT:
        parser.error("--app is for python -m scripts.local_host")
    sys.exit(
        main(
            command_of(
                arguments,
                settings=demo.SETTINGS if arguments.demo else {},
                check=_check_settings,
                companion=_with_demo if arguments.demo else _without_demo,
                worth_opening=_WORTH_OPENING,
            )
        )
    )
