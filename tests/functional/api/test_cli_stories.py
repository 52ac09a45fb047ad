"""Stories and signals on the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from services.store.containers import SIGNALS
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import signal
from tests.functional.api.test_cli import Cli
from tests.functional.stories.world import LEAD, OTHER, OUTAGE, OUTAGE_TOO, World


async def test_stories_are_listed_and_one_is_shown_with_why_each_article_is_in_it(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    assert await cli.run("stories", "list") == ""
    assert cli.said == "There are none.\n"
    watch = Watch(datetime.now(UTC).replace(microsecond=0))
    store = SqliteStore(tmp_path / "toolpulse.db", watch)
    world = World(store, watch)
    tool = await world.tool("Hexwharf")
    first = await world.analysed(90, OUTAGE, LEAD)
    await world.analysed(80, OUTAGE_TOO)
    await world.analysed(70, OTHER)
    await world.group()
    event = (await world.read(first)).event_id or ""
    await world.store.upsert(
        SIGNALS.name, signal(created_at=watch(), event_id=event, tool_id=tool.tool_id).to_document()
    )
    await store.close()
    for more in ([], ["--tool", "hexwharf", "--state", "open", "--text", "outage", "--min-articles", "2"]):
        (listed,) = json.loads(await cli.run("stories", "list", "--json", *more))
        assert (listed["event_id"], listed["article_count"]) == (event, 2)
    assert event in await cli.run("stories", "list")
    assert await cli.run("stories", "list", "--state", "closed") == ""
    shown = await cli.run("stories", "show", event)
    assert [part in shown for part in (OUTAGE, OUTAGE_TOO, "begins the story", "same_event", "Hexwharf")] == [True] * 5
    assert len(json.loads(await cli.run("stories", "show", event, "--json"))["members"]) == 2
    await cli.run("stories", "show", "story:x", code=1)
    assert "story: there is none" in cli.said
    (found,) = json.loads(await cli.run("signals", "--tool", "hexwharf", "--kind", "NEW", "--json"))
    assert (found["tool"], found["headline"], found["kind"]) == ("Hexwharf", OUTAGE, "NEW")
    assert "A new story" in await cli.run("signals")
    assert await cli.run("signals", "--state", "withdrawn") == ""
