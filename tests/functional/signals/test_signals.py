"""Stories that were grouped give signals, which follow their stories, whatever happens."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from models.request import SignedBody
from models.story import Side, day_of, first_article
from services.mentions.due import mark_signals_due
from services.store.containers import STORIES
from tests.documents import NOW
from tests.failing_stores import hesitant
from tests.functional.signals.world import SAID, World

ADA = SignedBody(author="Ada", reason="another event")


async def outage(world: World, start: int = 90) -> list[str]:
    """A story of three outlets, published an hour and a half ago."""
    return [
        await world.told(start, "alpha", "bad"),
        await world.told(start - 10, "beta", "bad"),
        await world.told(start - 20, "gamma", "bad"),
    ]


async def test_a_message_that_is_delivered_twice_writes_nothing_more(world: World) -> None:
    await world.tool("Hexwharf")
    await outage(world)
    await world.group()
    (message,) = world.messages()
    assert (await world.handler().handle(message)).counts == {"stories": 1, "signals": 1}
    before = [each.stored_etag for each in await world.all_signals()]
    assert (await world.handler().handle(message)).done == 0
    assert (await world.handler().handle(message, 3)).done == 0
    assert [each.stored_etag for each in await world.all_signals()] == before


async def test_two_workers_write_each_signal_once(world: World) -> None:
    await world.tool("Hexwharf")
    await outage(world)
    await world.group()
    (message,) = world.messages()
    workers = [world.handler(hesitant(world.store, seed)) for seed in range(4)]
    await asyncio.gather(*(each.handle(message, 1) for each in workers))
    (signal,) = await world.all_signals()
    assert (signal.after.articles, signal.created_at) == (3, NOW)
    await world.all_is_decided()


async def test_a_story_that_grows_later_updates_its_signals_in_place(world: World) -> None:
    tool = await world.tool("Hexwharf")
    await outage(world, 60)
    await world.grouped()
    world.watch.advance(hours=7)
    for number, outlet in enumerate(("delta", "epsilon", "zeta")):
        await world.told(number, outlet, "good")
    await world.grouped()
    found = await world.signals(tool)
    assert found.keys() == {"NEW", "GROWING", "REVERSED"}
    assert found["NEW"].after == Side(articles=6, publishers=6, average_sentiment=0.0)
    assert (found["GROWING"].before.articles, found["GROWING"].after.articles) == (3, 6)
    turned = found["REVERSED"]
    assert (turned.before.average_sentiment, turned.after.average_sentiment) == (-SAID, SAID)
    await world.all_is_decided()


async def test_a_large_story_is_counted_when_the_time_for_its_size_is_over(world: World) -> None:
    await outage(world)
    await world.grouped()
    (event,) = {each.event_id for each in await world.living()}
    assert event is not None
    stored = await world.store.read(STORIES.name, day_of(event), event)
    assert stored is not None
    await world.store.upsert(STORIES.name, {**stored, "article_count": 1000})
    for minutes in (0, 1):
        world.watch.advance(minutes=minutes)
        await world.told(minutes, f"outlet{minutes}", "bad")
        await world.grouped()
        assert (await world.marks())[event].signals_due_at == NOW + timedelta(seconds=200)
    world.watch.advance(minutes=4)
    assert await world.sweep() == 1
    await world.decide()
    counted = await world.store.read(STORIES.name, day_of(event), event)
    assert (counted or {})["article_count"] == 5
    await world.all_is_decided()


async def test_a_large_story_whose_first_article_was_deleted_is_counted_at_once(world: World) -> None:
    await outage(world)
    await world.grouped()
    event = (await world.living())[0].event_id or ""
    stored = await world.store.read(STORIES.name, day_of(event), event) or {}
    await world.store.upsert(STORIES.name, {**stored, "article_count": 10_000})
    await world.worker.articles.delete(first_article(event))
    await world.grouped()
    after = await world.store.read(STORIES.name, day_of(event), event)
    assert after is None or after["headline"] != stored["headline"]


@pytest.mark.parametrize("damage", [{"article_count": "x"}, {"article_count": 1000, "updated_at": "soon"}])
async def test_a_story_that_cannot_be_read_is_counted_anew(world: World, damage: dict[str, Any]) -> None:
    await outage(world)
    await world.grouped()
    event = (await world.living())[0].event_id or ""
    stored = await world.store.read(STORIES.name, day_of(event), event) or {}
    await world.store.upsert(STORIES.name, {**stored, **damage})
    await mark_signals_due(world.store, [event], NOW)
    assert (await world.handler().handle([event])).done == 1
    counted = await world.store.read(STORIES.name, day_of(event), event) or {}
    assert (stored["article_count"], counted["article_count"]) == (3, 3)


async def test_a_story_is_compared_with_the_week_before_it(world: World) -> None:
    tool = await world.tool("Hexwharf")
    for number in range(6):
        headline = f"Number {number}: Hexwharf is good for project {'abcdefgh'[number] * 9}"
        await world.told(60 * 24 * (number + 1), f"blog{number}", headline=headline, text="It ships.")
    await world.grouped()
    await world.is_counted(tool)
    await outage(world)
    await world.grouped()
    turned = (await world.signals(tool))["REVERSED"]
    assert (turned.compared_with, turned.before) == ("WEEK", Side(articles=6, average_sentiment=SAID))
    await world.all_is_decided()


async def test_the_first_outage_of_a_tool_is_told_and_an_earlier_one_takes_its_place(world: World) -> None:
    tool = await world.tool("Hexwharf")
    await world.told(60 * 24 * 4, "blog", headline="Hexwharf opens an office in Lyon", text="Nothing else.")
    late = await outage(world)
    await world.grouped()
    first = (await world.signals(tool))["FIRST_OF_ITS_KIND"]
    assert (first.topic, first.days, first.event_id) == ("OUTAGE", 4, await world.event_of(late[0]))
    headline, text = (
        "Registry of Hexwharf: an outage of images in Osaka",
        "Pulls of images from Osaka failed for hours.",
    )
    earlier = [await world.told(60 * 20 + n, each, "", headline, text) for n, each in enumerate(("eta", "theta"))]
    await world.grouped()
    assert await world.event_of(earlier[0]) == await world.event_of(earlier[1]) != first.event_id
    world.watch.advance(minutes=1)
    assert await world.sweep() == 1
    await world.decide()
    firsts = {each.event_id: each.withdrawn_at for each in await world.all_signals(tool) if each.topic}
    assert firsts == {first.event_id: world.watch(), await world.event_of(earlier[0]): None}
    await world.all_is_decided()


async def test_deleting_articles_withdraws_what_followed_from_them(world: World) -> None:
    tool = await world.tool("Hexwharf")
    articles = await outage(world)
    await world.grouped()
    await world.worker.delete(articles[2])
    await world.grouped()
    assert (await world.signals(tool))["NEW"].after.articles == 2
    await world.worker.delete(articles[0])
    await world.grouped()
    assert await world.signals(tool) == {}
    (gone,) = await world.all_signals(tool)
    assert gone.withdrawn_at is not None
    await world.all_is_decided()


async def test_a_corrected_mention_is_found_without_any_message(world: World) -> None:
    """Nothing groups the article again: its words are the same."""
    tool = await world.tool("Hexwharf")
    articles = await outage(world)
    await world.grouped()
    assert (await world.signals(tool))["NEW"].after.average_sentiment == -SAID
    await world.worker.correct(tool, articles[0], "positive")
    assert world.messages() == []
    assert list(await world.marks()) == [await world.event_of(articles[0])]
    assert await world.sweep() == 0
    world.watch.advance(minutes=1)
    assert await world.sweep() == 1
    await world.decide()
    assert (await world.signals(tool))["NEW"].after.average_sentiment == round((1 - 2 * SAID) / 3, 4)
    for each in articles[1:]:
        await world.worker.correct(tool, each, "not_this_tool")
    world.watch.advance(minutes=1)
    await world.group()
    await world.decide()
    assert await world.signals(tool) == {}
    await world.all_is_decided()


async def test_the_signals_of_a_merged_tool_go_on_at_the_other(world: World) -> None:
    old, new = await world.tool("Hexwharf"), await world.tool("Pebblegrid")
    await outage(world)
    await world.grouped()
    world.watch.advance(days=2)
    await world.run(await world.worker.changes.merge(old.tool_id, new.tool_id))
    await world.grouped()
    world.watch.advance(minutes=1)
    await world.sweep()
    await world.decide()
    assert await world.signals(old) == {}
    assert (await world.signals(new))["NEW"].after.articles == 3
    await world.all_is_decided()


async def test_the_expiry_of_articles_withdraws_nothing(world: World) -> None:
    tool = await world.tool("Hexwharf")
    articles = await outage(world)
    await world.grouped()
    before = await world.all_signals(tool)
    event = await world.event_of(articles[0])
    world.watch.advance(days=31)
    await world.signal_writer().write(event)
    assert await world.all_signals(tool) == before
    world.watch.advance(days=60)
    assert await world.all_signals(tool) == []


async def test_one_bad_story_does_not_stop_the_others(world: World) -> None:
    tool = await world.tool("Hexwharf")
    articles = await outage(world)
    await world.group()
    bad = f"story:20260220:{'f' * 32}"
    broken = {"id": "dedup:x", "day": "2026-02-20", "entity_type": "StoryMember", "event_id": bad}
    await world.store.create(STORIES.name, {**broken, "published_at": "2026-02-20T00:00:00Z"})
    events = [bad, await world.event_of(articles[0])]
    await mark_signals_due(world.store, events, world.watch())
    handled = await world.handler().handle(events)
    assert (handled.done, handled.counts["signals"], list(handled.failed)) == (1, 1, [bad])
    assert (await world.signals(tool)).keys() == {"NEW"}
    marks = await world.marks()
    assert list(marks) == [bad]
    assert (marks[bad].tries, marks[bad].error) == (1, "UnreadableDocument")
