"""Unscored mentions and the analyzers of figures, on both stores."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from models.cache import PERIODS
from models.tool import Tool
from services.articles.listing import article_filter, articles_page
from services.mentions.listing import mentions_page
from services.ports import Store
from services.store.containers import ARTICLES, CATALOG
from tests.contract.conftest import SettableClock
from tests.documents import article
from tests.functional.figures.world import Judgement, Process, Said, a_tool, check_entry, check_tables

SAID: tuple[Said, ...] = ("unscored", "positive", "unscored", "neutral", "negative", "unscored")


@pytest.fixture
async def process(store: Store, clock: SettableClock) -> Process:
    return Process(store, clock)


@pytest.fixture
async def tool(process: Process, clock: SettableClock) -> Tool:
    """Six mentions, forty minutes apart, by two versions of the analyzer."""
    tool = a_tool(0, clock.now - timedelta(days=40))
    await process.store.create(CATALOG.name, tool.to_document())
    for number, said in enumerate(SAID):
        at = clock.now - timedelta(minutes=40 * number)
        await process.analyse(tool.tool_id, f"article-{number}", Judgement(at, said, str(1 + number % 2)))
    return tool


async def test_figures_count_unscored_mentions_apart_and_name_their_analyzers(
    process: Process, tool: Tool, clock: SettableClock
) -> None:
    for _ in range(2):
        await process.cache.refresh.refresh_tools([tool.tool_id])
        await check_tables(process.store, tool.tool_id, clock.now)
        for period in PERIODS:
            entry = (await process.cache.reader.read(tool.tool_id, period)).aggregate.entry
            await check_entry(process.store, entry, clock.now)
        # All of them are scored by the second version now.
        for number, said in enumerate(SAID):
            judgement = Judgement(clock.now, "negative" if said == "unscored" else said, "2")
            await process.analyse(tool.tool_id, f"article-{number}", judgement)
    await process.reanalyse(tool.tool_id)
    entry = (await process.cache.reader.read(tool.tool_id, "DAY_7")).aggregate.entry
    assert (entry.total_mentions, entry.unscored_mentions, entry.analyzers) == (6, 0, ("embedded/2",))


async def test_mentions_and_articles_are_filtered_by_sentiment(
    process: Process, tool: Tool, clock: SettableClock
) -> None:
    found: list[str] = []
    after = None
    while True:
        page = await mentions_page(process.store, tool.tool_id, (), 2, after, "unscored")
        found += [each["id"] for each in page.items]
        after = page.next
        if after is None:
            break
    assert found == ["article-0", "article-2", "article-5"]
    fields: dict[str, Any] = {"status": "analyzed", "created_at": clock.now, "updated_at": clock.now}
    unscored = article(**fields, unscored_reason="LANGUAGE", timestamp=clock.now)
    scored = article(**fields, dedup_key="0" * 32, sentiment="neutral", score=0.5, polarity=0.0, timestamp=clock.now)
    for each in (unscored, scored):
        await process.store.create(ARTICLES.name, each.to_document())
    for sentiment, expected in (("unscored", unscored), ("neutral", scored)):
        listed = await articles_page(process.store, article_filter({"sentiment": sentiment}), 10, None)
        assert [each.source_id for each in listed.items] == [expected.source_id]
