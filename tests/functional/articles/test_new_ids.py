"""A flood whose entries are known articles under new ids: only locators are added, however the work is interrupted."""

import itertools
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from services.ports import Document
from services.store.sqlite import SqliteStore
from tests.functional.articles.dying import Died, DyingStore, When
from tests.functional.articles.test_floods import quarantine, quarantined_batch
from tests.functional.articles.world import START, Item, SettableClock, World, item

MANY = 12
KNOWN = [item(number) for number in range(MANY)]
SAME_HEADLINE = 3
NEW = 2


def renamed(number: int, **changes: object) -> Item:
    """The same page in a new publishing system: other ids, dates and parameters of tracking, and another text."""
    at = START + timedelta(days=1)
    link = KNOWN[number].link + "?utm_source=cms"
    return item(number, **{"guid": f"cms-{number}", "link": link, "published": at, "text": "Other words.", **changes})


def flood() -> list[Item]:
    """Most have their URLs, some only their headlines, and two are new."""
    moved = [renamed(number, link=f"https://new.example/p/{number}") for number in range(SAME_HEADLINE)]
    new = [item(700 + number, guid=f"cms-new-{number}", published=START + timedelta(days=1)) for number in range(NEW)]
    return [*moved, *(renamed(number) for number in range(SAME_HEADLINE, MANY)), *new]


async def flooded(world: World, entries: list[Item]) -> None:
    await world.add_feed("a", KNOWN)
    await world.poll("a")
    world.clock.forward(days=1)
    world.publish("a", entries)
    await world.poll("a")


async def test_a_feed_that_changes_ids_links_and_headlines_is_held_and_known(world: World) -> None:
    await flooded(
        world, [renamed(n, link=f"https://f.example/{n}", title=f"{KNOWN[n].title} - F site") for n in range(MANY)]
    )
    before = content(await world.articles())
    assert len(before) == MANY
    await world.worker.ingest(await approved(world))
    assert content(await world.articles()) == before


async def approved(world: World) -> str:
    name = (await quarantined_batch(world)).quarantine_id
    reviewed = await quarantine(world).review(name, "same_articles_new_ids", "Ann", "a new publishing system")
    assert reviewed.run_id is not None
    return reviewed.run_id


def content(articles: list[Document]) -> dict[str, Document]:
    return {each["source_id"]: {k: v for k, v in each.items() if k[:1] != "_"} for each in articles}


async def check(world: World, before: dict[str, Document]) -> None:
    """The state after the batch was ingested: nothing but the new entries was added."""
    articles = content(await world.articles())
    added = {name: each for name, each in articles.items() if name not in before}
    assert {name: articles[name] for name in before} == before, "known articles are unchanged: nothing is scored again"
    assert sorted(each["headline"] for each in added.values()) == sorted(each.title for each in flood()[-NEW:])
    aliases = await world.locators("LocatorAlias")
    of_articles = [each["source_id"] for each in aliases if each["source_id"] in before]
    assert {name: of_articles.count(name) for name in before} == dict.fromkeys(before, 2)
    feed = await world.feed("a")
    assert feed.quarantine_id is None
    batch = await quarantined_batch(world)
    assert (batch.released_at is not None, batch.left_out, batch.reviewed_by) == (True, 0, "Ann")


async def test_known_entries_get_their_new_ids_and_nothing_is_counted_twice(world: World) -> None:
    await flooded(world, flood())
    before = content(await world.articles())
    assert len(await world.worker.ingest(await approved(world))) == NEW
    await check(world, before)
    assert (await world.feed("a")).total_articles_fetched == MANY + NEW


async def test_later_polls_know_the_new_ids_and_take_their_edits(world: World) -> None:
    await flooded(world, flood())
    await world.worker.ingestion.ingest(await approved(world))
    before = content(await world.articles())
    for poll in (1, 2, 3):
        world.clock.forward(hours=1)
        world.publish("a", [*flood()[poll:], *flood()[:poll]])
        await world.poll("a", world.new_worker())
    assert content(await world.articles()) == before
    assert len([each for each in await world.all("quarantine") if each["entity_type"] == "QuarantineItem"]) == 1
    edited = replace(flood()[5], title="Number 5 has a correction", text="All is different.")
    world.clock.forward(hours=1)
    world.publish("a", [*flood()[:5], edited, *flood()[6:]])
    await world.poll("a", world.new_worker())
    after = content(await world.articles())
    (changed,) = [name for name in after if after[name] != before.get(name)]
    assert after[changed]["canonical"]["headline"] == "Number 5 has a correction"
    assert after.keys() == before.keys()


@pytest.mark.parametrize("when", ["before", "halfway", "after"])
async def test_a_worker_that_dies_anywhere_leaves_what_the_next_one_completes(tmp_path: Path, when: When) -> None:
    for k in itertools.count(1):
        clock = SettableClock()
        stored = SqliteStore(tmp_path / f"{k}.db", clock)
        await stored.ensure_containers()
        world = World(stored, clock)
        await flooded(world, flood())
        before = content(await world.articles())
        batch = await approved(world)
        store = DyingStore(world.store, k, when)
        with suppress(Died):
            await world.new_worker(store).ingestion.ingest(batch)
        world.clock.forward(minutes=5)
        await world.new_worker().ingestion.ingest(batch, 2)
        await check(world, before)
        await stored.close()
        if not store.is_dead:
            return
