"""Ingestion is right whatever feeds publish, and in whatever order they are polled."""

import asyncio
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.article import Article, Observation
from models.feed import FeedSeen
from models.locator import LocatorAlias
from models.raw_item import RawItem
from services.articles.identity import Source, candidate_of, entry_of, is_weak
from services.store.sqlite import SqliteStore
from tests.functional.articles.world import START, Item, SettableClock, World, item

SLOW = settings(max_examples=25)

TITLES = st.sampled_from(
    ["Rates rise for the third time", "RATES RISE for the third time!", "Live blog", "Rates rise - Reuters", "更新"]
)
ITEMS = st.builds(
    lambda number, title, guid, day, text: Item(
        title,
        f"https://news.example/{number}?utm_source=rss",
        f"guid-{number}" if guid else None,
        START - timedelta(days=day) if day is not None else None,
        text,
    ),
    st.integers(0, 3),
    TITLES,
    st.booleans(),
    st.sampled_from([0, 1, None]),
    st.sampled_from(["", "One text.", "<p>Another <b>text</b></p>"]),
)
POLLS = st.lists(st.tuples(st.sampled_from("abc"), st.lists(ITEMS, max_size=5)), max_size=6)


async def _world(folder: str) -> World:
    clock = SettableClock()
    store = SqliteStore(Path(folder) / "store.db", clock)
    await store.ensure_containers()
    world = World(store, clock)
    for number, feed in enumerate("abc"):
        await world.add_feed(feed, source_priority=number)
    return world


async def _after(polls: Sequence[tuple[str, list[Item]]], *, twice: bool = False) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        world = await _world(folder)
        for feed, items in polls:
            world.publish(feed, items)
            await world.poll(feed)
            if twice:
                # As another process, whose cache is empty.
                world.publish(feed, [*reversed(items)])
                announced = await world.poll(feed, world.new_worker())
                assert announced == [] or len({each.link for each in items}) < len(items)
        found = await _checked(world)
        await world.store.close()
        return found


async def _checked(world: World) -> dict[str, Any]:
    articles = [Article.from_document(each) for each in await world.articles()]
    observations = [Observation.from_document(each) for each in await world.observations()]
    aliases = [LocatorAlias.from_document(each) for each in await world.locators("LocatorAlias")]
    ids = {each.source_id for each in articles}
    assert {each.source_id for each in observations} == ids
    assert {each.source_id for each in aliases} == ids
    feeds = {feed: await world.feed(feed) for feed in "abc"}
    for feed in "abc":
        # Each article that is new to a feed is counted once.
        assert feeds[feed].total_articles_fetched == sum(feed in each.sources for each in articles)
        seen = await world.store.read("feeds", feed, FeedSeen.ID)
        assert seen is None or FeedSeen.from_document(seen)
    for article in articles:
        canonical = article.canonical
        best = min(article.sources, key=lambda key: article.source_attribution[key].source_priority or 0)
        assert canonical.source == best
        observed = {each.id: each for each in observations if each.source_id == article.source_id}
        assert {each.source for each in observed.values()} == set(article.sources)
        assert observed[canonical.observation_id].text == article.text_for_analysis
    return {
        "articles": {each.source_id: (set(each.sources), each.canonical.source) for each in articles},
        "aliases": {each.id: each.source_id for each in aliases},
        "totals": {feed: feeds[feed].total_articles_fetched for feed in "abc"},
    }


@pytest.mark.slow
@SLOW
@given(POLLS)
def test_whatever_feeds_publish_all_stored_documents_agree(polls: list[tuple[str, list[Item]]]) -> None:
    asyncio.run(_after(polls))


@pytest.mark.slow
@SLOW
@given(POLLS)
def test_ingesting_twice_is_ingesting_once(polls: list[tuple[str, list[Item]]]) -> None:
    once, twice = asyncio.run(_after(polls)), asyncio.run(_after(polls, twice=True))
    assert once["articles"].keys() == twice["articles"].keys()
    assert once["totals"] == twice["totals"]


@pytest.mark.slow
@SLOW
@given(st.permutations([(feed, part) for feed in "abc" for part in range(3)]))
def test_the_order_in_which_feeds_and_entries_come_does_not_matter(order: list[tuple[str, int]]) -> None:
    titles = [f"Everybody knows number {number} by now" for number in range(9)]
    parts: list[tuple[str, list[Item]]] = []
    for feed, part in order:
        numbers = [number for number in range(9) if number % 3 == part or number % 4 == 0]
        parts.append((feed, [item(n, title=titles[n], guid=f"{feed}-{n}") for n in numbers]))
    found = asyncio.run(_after(parts))
    expected = asyncio.run(_after(sorted(parts, key=lambda each: each[0])))
    assert found == expected


@given(
    st.text(), st.text(min_size=1), st.one_of(st.none(), st.datetimes().map(lambda at: at.replace(tzinfo=START.tzinfo)))
)
def test_an_item_becomes_a_candidate_or_a_value_error(article_id: str, headline: str, published: Any) -> None:
    source = Source("a", "A", 999)
    raw = RawItem(
        article_id or None, "https://news.example/1", headline, published and published.replace(microsecond=0)
    )
    try:
        entry = entry_of(source, raw)
        candidate = candidate_of(entry, source, START)
    except ValueError:
        return
    assert len(entry.form_hash) == len(candidate.id_hash) == 16
    assert candidate.published <= START + timedelta(minutes=10)
    assert candidate.source_id().startswith("dedup:")
    assert candidate.source_id(with_url=True) != candidate.source_id() or is_weak(candidate.normalized_headline)
