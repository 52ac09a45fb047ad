"""An article that only muted sources published mentions a tool as soon as another source publishes it too."""

from __future__ import annotations

from services.store.containers import ARTICLES
from services.tools.catalog import tool_change
from tests.functional.audit.world import AuditWorld


async def test_another_source_brings_the_mention_of_a_muted_article_back(world: AuditWorld) -> None:
    tool, _ = await world.filled(feeds=1)
    assert await world.counting(tool) == 3
    _, run = await world.mentions.worker.changes.change_tool(tool.tool_id, tool_change({"muted_sources": ["feed-0"]}))
    assert run is not None
    await world.mentions.run(run)
    await world.work()
    assert await world.counting(tool) == await world.served(tool) == 0
    assert await world.differences() == []

    await world.ingestion.add_feed("feed-1", world.items(1, 0))
    world.clock.forward(minutes=1)
    await world.ingestion.poll("feed-1")
    await world.work()
    assert await world.counting(tool) == await world.served(tool) == 1
    shared = await world.one(ARTICLES.name, lambda each: each.get("sources") == ["feed-0", "feed-1"])
    assert shared["detected_tool_ids"] == [tool.tool_id]
    assert "muted_tool_ids" not in shared
    assert await world.differences() == []
