"""Reading and deleting what was really taken in, over the HTTP functions and the app's own ingestion."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from services.container import Container
from tests.functional.api.conftest import call
from tests.functional.api.world import app_with_feeds, fetch_all
from tests.functional.articles.world import Item, rss

NOW = datetime.now(UTC) - timedelta(hours=1)


class Press:
    """Two feeds whose entries a test sets: with guids, and without."""

    def __init__(self) -> None:
        self.headlines = {
            "with-guids": ["Quorvia ships a faster planner"],
            "without": ["Quorvia ships a faster planner"],
        }

    def document(self, name: str) -> str:
        base = f"https://{name}.example"
        entries = [
            Item(each, f"{base}/stories/{n}?a=1&b=2", f"{base}/?p={n}" if name == "with-guids" else None, NOW)
            for n, each in enumerate(self.headlines[name])
        ]
        return rss(entries).decode()


@pytest.fixture
def press() -> Press:
    return Press()


@pytest.fixture
async def ingesting(environment: pytest.MonkeyPatch, press: Press) -> AsyncIterator[Container]:
    async with app_with_feeds(environment, press.document, {name: {} for name in press.headlines}) as app:
        yield app


async def listed() -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await call("list_articles")).json["items"]
    return items


async def test_what_was_deleted_comes_back_neither_with_the_next_poll_nor_with_an_edit(
    ingesting: Container, press: Press
) -> None:
    await fetch_all(ingesting)
    (article,) = await listed()
    assert (await call("delete_article", article_id=article["source_id"])).status == 204
    press.headlines["with-guids"].append("Another story is told")
    await fetch_all(ingesting)
    press.headlines["with-guids"][0] = "Quorvia ships a faster planner (updated)"
    await fetch_all(ingesting)
    assert [each["headline"] for each in await listed()] == ["Another story is told"]
    assert len((await call("export_articles", "layer=raw")).body.splitlines()) == 1


async def test_a_feeds_figures_runs_and_history_agree(ingesting: Container, press: Press) -> None:
    await fetch_all(ingesting)
    feed = (await call("get_feed", feed_id="with-guids")).json
    (attempt,) = (await call("list_feed_history", feed_id="with-guids")).json["items"]
    runs = (await call("list_runs")).json["items"]
    (run,) = [each for each in runs if each["workflow_name"] == "ingest_feeds"]
    assert feed["total_articles_fetched"] == attempt["articles_new"] == 1
    assert (run["status"], run["run_id"]) == ("SUCCEEDED", attempt["run_id"])
    assert run["metrics"]["articles_fetched"] == {"with-guids": 1, "without": 1}
    assert (run["metrics"]["articles_stored"], run["metrics"]["collisions_detected"]) == (1, 1)


async def test_hosts_show_their_feeds_and_whether_they_fail(ingesting: Container) -> None:
    listed = (await call("list_hosts", "sort=host&failing=false")).json
    (host,) = listed["items"]
    assert (host["feeds"], host["enabled_feeds"], host["failing_feeds"], listed["next"]) == (2, 2, 0, None)
    assert host["failing"] is None
    assert (await call("get_host", host=host["host"])).json == host
    assert host["links"]["self"] == f"/api/v1/hosts/{host['host']}"
    assert (await call("get_host", host="nobody.example")).status == 404
