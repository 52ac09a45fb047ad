"""Demo feeds from this machine: a dozen invented outlets that keep publishing about invented developer tools.

cast.py names products and outlets, plots.py has their usual stories, episodes.py what else happens in the month before
the demo opens. newsroom.py decides what has been published by a given moment, formats.py writes it as a feed,
server.py serves it over HTTP, session.py brings feeds and app together. Every product, company, ticker and outlet is
made up. The other modules need the app's own modules, and are imported when the demo runs.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path

HOST, FIRST_PORT = "127.0.0.1", 7072
PRIVATE = "ALLOW_PRIVATE_ADDRESSES"
SETTINGS = {PRIVATE: f"{HOST}:{FIRST_PORT}", "FETCH_BUDGET_PER_FEED_HOUR": "60"}
"""The app refuses to fetch from this machine otherwise, and a newcomer should not have to wait for news. Of this
machine's addresses only the demo's own may be fetched, at the port that the demo has got."""

MARK = "demo.json"


def port_in(mark: Path) -> int:
    """The port that the file records; FIRST_PORT if it records none."""
    try:
        return int(json.loads(mark.read_text("utf-8"))["port"])
    except (OSError, ValueError, KeyError, TypeError):
        return FIRST_PORT


def settings_in(data: Path, chosen: Mapping[str, str]) -> dict[str, str]:
    """The settings of the demo that were not chosen otherwise; none if the data folder has no demo."""
    is_there = (data / MARK).exists()
    settings = {**SETTINGS, PRIVATE: f"{HOST}:{port_in(data / MARK)}"}
    return {name: value for name, value in settings.items() if is_there and name not in chosen}


@asynccontextmanager
async def running(
    data: Path, environment: MutableMapping[str, str], tell: Callable[[str], None]
) -> AsyncIterator[None]:
    """Serves the demo to the app whose settings are in `environment` until the block ends. Puts the demo's port there,
    unless other private addresses were chosen."""
    from scripts.demo import session

    async with session.running(data / MARK, environment) as base:
        tell(
            f"Demo feeds are served on {base}; --no-demo removes them.\n"
            "A few are slow, fail now and then, go away or are no feed, on purpose: the log's errors are of these."
        )
        yield


async def cleared(data: Path, environment: Mapping[str, str]) -> None:
    """Removes the feeds that an earlier run with the demo left; their articles stay."""
    if (data / MARK).exists():
        from scripts.demo import session

        await session.cleared(data / MARK, environment)
