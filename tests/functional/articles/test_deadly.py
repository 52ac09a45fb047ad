"""A feed at whose document workers die: it is disabled after a few deaths, and the other feeds are ingested."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from models.feed import Feed
from services.feeds.registry import FeedRegistry
from services.ports import utc_now
from services.store.sqlite import SqliteStore
from tests.functional.articles.deadly import DEADLY
from tests.functional.articles.killing import ROOT, serving
from tests.functional.articles.world import SettableClock, World, item, rss

FEEDS = 6
KILLED = -9
MOST_STARTS = 30
A_WHILE = timedelta(minutes=4)
"""Between two deaths: longer than a lease. After three of them the claim of a dead run has expired."""


def run(folder: Path, ahead: timedelta) -> int:
    command = [sys.executable, "-m", "tests.functional.articles.deadly", str(folder), str(ahead.total_seconds())]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=60).returncode


@pytest.mark.parametrize("deadly", [("f0",), ("f2", "f4")])
async def test_a_deadly_feed_is_disabled_after_a_few_deaths_and_the_others_go_on(
    tmp_path: Path, deadly: tuple[str, ...]
) -> None:
    names = [f"f{number}" for number in range(FEEDS)]
    bodies = {f"/{name}": rss([item(int(name[1:]))]) for name in names} | {f"/{name}": DEADLY for name in deadly}
    store = SqliteStore(tmp_path / "store.db", utc_now)
    await store.ensure_containers()
    now = utc_now()
    with serving(bodies) as url:
        for name in names:
            feed = Feed(
                created_at=now,
                updated_at=now,
                feed_id=name,
                feed_url=f"{url}/{name}",
                source_name=name,
                next_fetch_time=now,
            )
            await store.create("feeds", feed.to_document())
        world = World(store, SettableClock(utc_now()))
        for start in range(MOST_STARTS):
            assert run(tmp_path, start * A_WHILE) in (0, KILLED)
            feeds = {name: await world.feed(name) for name in names}
            if not any(feeds[name].enabled for name in deadly):
                break
    assert {name for name in names if not feeds[name].enabled} == set(deadly)
    for name in deadly:
        assert "3 workers in a row died" in (feeds[name].disabled_reason or "")
        assert feeds[name].consecutive_errors == 1
    assert len(await world.articles()) == FEEDS - len(deadly)
    assert {feeds[name].consecutive_errors for name in names if name not in deadly} == {0}
    enabled = await FeedRegistry(store, utc_now).change(deadly[0], {"enabled": True})
    assert (enabled.enabled, enabled.consecutive_errors) == (True, 0)
    await store.close()
