"""Demo feeds from this machine: a dozen invented outlets that keep publishing about invented developer tools.

newsroom.py decides what has been published by a given moment, formats.py writes it as a feed, server.py serves it over
HTTP, session.py brings feeds and app together. Every product, company, ticker and outlet is made up. The
other modules need the app's own modules, and are imported when the demo runs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

SETTINGS = {"ALLOW_PRIVATE_ADDRESSES": "true", "FETCH_BUDGET_PER_FEED_HOUR": "60"}
"""The app refuses to fetch from this machine otherwise, and a newcomer should not have to wait for news."""

MARK = "demo.json"


def settings_in(data: Path, chosen: Mapping[str, str]) -> dict[str, str]:
    """The settings of the demo that were not chosen otherwise; none if the data folder has no demo."""
    is_there = (data / MARK).exists()
    return {name: value for name, value in SETTINGS.items() if is_there and name not in chosen}


@asynccontextmanager
async def running(data: Path, environment: Mapping[str, str], tell: Callable[[str], None]) -> AsyncIterator[None]:
    """Serves the demo to the app whose settings are in `environment` until the block ends."""
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
