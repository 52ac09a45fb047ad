"""Entries without ids that all link to one page, as of a change log: each is news of its own."""

from dataclasses import replace

import pytest

from tests.functional.articles.world import World, item

PAGE = "https://product.example/changes"
ENTRIES = [item(number, link=PAGE, guid=None) for number in range(4)]


async def test_each_is_an_article_of_its_own(world: World) -> None:
    await world.add_feed("a", ENTRIES[:3])
    assert len(await world.poll("a")) == 3
    assert (await world.feed("a")).parse_warnings == {"url_repeated": 3}
    for entries, new in ((ENTRIES, 1), (ENTRIES[1:], 0), (ENTRIES[3:], 0), (ENTRIES, 0)):
        world.publish("a", entries)
        assert len(await world.poll("a", world.new_worker())) == new
    assert [each["canonical"]["headline"] for each in await world.articles()] == [each.title for each in ENTRIES]
    assert (await world.feed("a")).total_articles_fetched == 4


async def test_entries_with_ids_of_their_own_below_one_page_are_no_flood(world: World) -> None:
    entries = [item(number, link=f"{PAGE}#s/{number}", guid=f"s-{number}") for number in range(40)]
    await world.add_feed("a", entries[:20])
    assert len(await world.poll("a")) == 20
    for first in (10, 20):
        world.publish("a", entries[first : first + 20])
        assert len(await world.poll("a", world.new_worker())) == 10
    assert (await world.feed("a")).entries_skipped == {}
    assert {each["canonical"]["headline"] for each in await world.articles()} == {each.title for each in entries}


async def test_an_edit_of_one_edits_it_alone(world: World) -> None:
    await world.add_feed("a", ENTRIES)
    await world.poll("a")
    world.publish("a", [replace(ENTRIES[0], text="Mended."), *ENTRIES[1:]])
    (edited,) = await world.poll("a")
    texts = {each["source_id"]: each.get("text_for_analysis") for each in await world.articles()}
    assert [source_id for source_id, text in texts.items() if text == "Mended."] == [edited]


@pytest.mark.parametrize("title", [ENTRIES[1].title, "Number 1 was in the news again"])
async def test_an_entry_that_is_alone_later_is_not_merged_with_the_one_that_was_alone(world: World, title: str) -> None:
    await world.add_feed("a", ENTRIES[:1])
    (first,) = await world.poll("a")
    for entries in (ENTRIES[:2], ENTRIES[1:2], [replace(ENTRIES[1], title=title, text="Mended.")]):
        world.publish("a", entries)
        await world.poll("a", world.new_worker())
    articles = {each["source_id"]: each for each in await world.articles()}
    assert articles[first]["canonical"]["headline"] == ENTRIES[0].title
    assert [each["source_id"] == first for each in articles.values() if each["text_for_analysis"] == "Mended."] == [
        False
    ]
    assert len(articles) == 2 + (title != ENTRIES[1].title)
