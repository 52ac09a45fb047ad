"""Workers that meet each other or a deletion while they write the sources of one article."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from models.article import Article
from models.values import format_time
from services.articles.reading import Articles
from services.articles.sources import chosen_source
from services.store.containers import ARTICLES
from tests.functional.articles.test_sources import published_by, reprioritized, story
from tests.functional.articles.turns import Turns, TurnStore
from tests.functional.articles.world import World

LIVES = 12


@pytest.fixture
async def crowd(world: World) -> World:
    """Two feeds have published the story."""
    await published_by(world, "a", "b", source_priority=5)
    return world


async def ingesting(crowd: World, feeds: str, chance: random.Random, turns: Turns) -> list[Any]:
    """Workers that take turns: one for an edit of `b`, and one for each of these feeds, which join the article."""
    for feed in feeds:
        await crowd.add_feed(feed, [story(feed, text=f"{feed} says so.")], source_priority=chance.randint(1, 9))
    crowd.publish("b", [story("b", text="b has changed its mind.")])
    return [
        crowd.new_worker(TurnStore(crowd.store, turns, number)).ingestion.ingest(batch)
        for number, batch in enumerate(await crowd.claimed("b", *feeds))
    ]


@pytest.mark.parametrize("seed", range(LIVES))
async def test_whatever_meets_a_deletion_no_text_is_left(crowd: World, seed: int) -> None:
    chance = random.Random(seed)
    name = (await crowd.article())["source_id"]
    turns = Turns(chance)
    work = await ingesting(crowd, "cde", chance, turns)
    work.append(Articles(TurnStore(crowd.store, turns, 9), crowd.clock).delete(name))
    await turns.give_until_done(*map(asyncio.ensure_future, work))
    left = await crowd.all(ARTICLES.name)
    assert "says so" not in str(left)
    assert "changed its mind" not in str(left)
    assert await crowd.observations() == []


@pytest.mark.parametrize("seed", range(LIVES))
async def test_whatever_order_sources_and_priorities_come_in_the_best_reading_is_canonical(
    crowd: World, seed: int
) -> None:
    chance = random.Random(seed)
    turns = Turns(chance)
    feeds = "cdefg"
    work = await ingesting(crowd, feeds, chance, turns)
    slow = World(TurnStore(crowd.store, turns, 8), crowd.clock)
    changed = chance.sample("ab" + feeds, 3)
    present = {}
    for number, feed in enumerate(changed):
        present[feed] = chance.randint(1, 9)
        slow = World(TurnStore(crowd.store, turns, 20 + number), crowd.clock)
        work.append(reprioritized(slow, feed, present[feed]))
    await turns.give_until_done(*map(asyncio.ensure_future, work))
    for feed in changed:  # a source that joined while its run was under way is chosen from by the next run
        await reprioritized(crowd, feed, present[feed])
    article = Article.from_document(await crowd.article())
    assert sorted(article.sources) == sorted("ab" + feeds)
    for feed in "ab" + feeds:
        expected = (await crowd.feed(feed)).source_priority
        assert article.source_attribution[feed].source_priority == expected
        if feed in present:
            assert expected == present[feed]
    documents = {
        key: {
            "source_priority": each.source_priority,
            "scraped_at": format_time(each.scraped_at) if each.scraped_at else "",
            "stored_ms": each.stored_ms,
        }
        for key, each in article.source_attribution.items()
    }
    best = chosen_source(documents)
    assert article.canonical.source == best
    own = [each for each in await crowd.observations() if each["source"] == best]
    assert article.text_for_analysis == own[-1]["text"]
