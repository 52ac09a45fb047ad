"""`cli.py audit`, as a person runs it, in a process of its own."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from scripts.demo.cast import PRODUCTS, outlet_of
from scripts.demo.newsroom import Newsroom
from scripts.demo.server import Newsstand, served
from services.ports import Query, Where, utc_now
from services.store.containers import FEEDS, MENTIONS
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.functional.api.test_cli import Cli

NOW = datetime.now(UTC) - timedelta(minutes=5)
NEWSROOM = Newsroom(NOW, most=30)


async def test_differences_are_listed_with_exit_code_1_and_repaired_on_request(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    async with served(Newsstand(Watch(NOW), NEWSROOM), 0) as base:
        await cli.run("feeds", "add", f"{base}/demo-dev-wire/feed", "--id", "demo-dev-wire")
        for name in _named_products()[:2]:
            await cli.run("tools", "add", name)
        await cli.run("ingest", "--all")
    sound = await cli.run("audit")
    assert sound.endswith(" documents checked, 0 differences, 0 repaired\n")
    assert cli.said.splitlines() == [
        "articles ...",
        "locators ...",
        "mentions ...",
        "corrections ...",
        "tools ...",
        "feeds ...",
        "runs ...",
    ]

    tool_id = await _damage(tmp_path)
    report = json.loads(await cli.run("audit", "--json", code=1))
    kinds = {each["kind"] for each in report["differences"]}
    assert {"mention_missing", "hour_differs", "feed_total_differs"} <= kinds
    assert report["repaired"] == 0
    of_tool = await cli.run("audit", "--tool", tool_id, code=1)
    assert "hour_differs" in of_tool
    assert "feed_total_differs" not in of_tool
    repaired = await cli.run("audit", "--repair")
    assert "feed_total_differs  demo-dev-wire" in repaired
    assert (await cli.run("audit")).endswith(" documents checked, 0 differences, 0 repaired\n")
    await cli.run("audit", "--tool", "no tool has this name", code=1)
    assert "no tool has this name" in cli.said


def _named_products() -> list[str]:
    """The products that the feed names at NOW: which ones depends on the time."""
    outlet = outlet_of("demo-dev-wire")
    assert outlet is not None
    texts = " ".join(str(entry) for entry in NEWSROOM.entries(outlet, NOW))
    return [product.name for product in PRODUCTS if product.name in texts]


async def _damage(folder: Path) -> str:
    """Loses a mention, and writes a wrong total. Returns the tool of the mention."""
    store = SqliteStore(folder / "toolpulse.db", utc_now)
    mention = (await store.query(MENTIONS.name, Query(limit=1))).items[0]
    await store.delete(MENTIONS.name, mention["tool_id"], mention["id"])
    feed = (await store.query(FEEDS.name, Query((Where("entity_type", "eq", "Feed"),)))).items[0]
    await store.upsert(FEEDS.name, {**feed, "total_articles_fetched": 1})
    await store.close()
    return str(mention["tool_id"])
