"""A feed whose URLs, or whose ids, have the id of a session, another one at every poll."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tests.functional.articles.world import START, Item, World, item

MANY = 40


def stories(edition: int, form: str, **changes: object) -> list[Item]:
    return [
        item(
            number,
            guid=None,
            link=f"https://news.example/{number}" + form.format(f"{edition:08}{number:024}"),
            text=f"What has happened at number {number}.",
            **changes,
        )
        for number in range(MANY)
    ]


@pytest.mark.parametrize("form", [";jsessionid={0}", "?x-token={0}", "/{0}/story"])
async def test_each_story_is_one_article_however_its_url_changes(world: World, form: str) -> None:
    await world.add_feed("a", stories(0, form))
    await world.poll("a")
    for edition in range(1, 4):
        world.publish("a", stories(edition, form))
        await world.poll("a", world.new_worker())
    assert len(await world.articles()) == len(await world.observations()) == MANY
    assert (await world.feed("a")).total_articles_fetched == MANY
    assert await world.all("quarantine") == []


@pytest.mark.parametrize("published", [START - timedelta(hours=1), None])
@pytest.mark.parametrize(
    "form",
    [";jsessionid={}", "?sid={}&page=2"],
)
async def test_each_story_is_one_article_however_its_id_changes(
    world: World, form: str, published: datetime | None
) -> None:
    def edition(number: int) -> list[Item]:
        links = [f"https://news.example/{each}{form.format(f'q{number:04}s{each:018}x')}" for each in range(MANY)]
        return [item(each, guid=link, link=link, published=published) for each, link in enumerate(links)]

    await world.add_feed("a", edition(0))
    await world.poll("a")
    for number in range(1, 4):
        world.clock.forward(days=1)
        world.publish("a", edition(number))
        await world.poll("a", world.new_worker())
    assert len(await world.articles()) == MANY
    assert (await world.feed("a")).total_articles_fetched == MANY
    assert await world.all("quarantine") == []


async def test_an_edit_behind_a_changed_url_edits_the_article(world: World) -> None:
    first = item(1, guid=None, link="https://news.example/1?x-token=1")
    await world.add_feed("a", [first])
    await world.poll("a")
    world.publish("a", [item(1, guid=None, link="https://news.example/1?x-token=2")])
    await world.poll("a", world.new_worker())
    world.publish("a", [item(1, guid=None, link="https://news.example/1?x-token=2", text="It was otherwise.")])
    await world.poll("a", world.new_worker())
    assert (await world.article())["text_for_analysis"] == "It was otherwise."
