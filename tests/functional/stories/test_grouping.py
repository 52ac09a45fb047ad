"""Articles that were analysed are grouped: members, stories, mentions and articles agree, whatever happens."""

from __future__ import annotations

from datetime import timedelta

import pytest

from models.article import Article
from models.request import SignedBody
from models.story import LEASE
from services.mentions.due import dirty_hours_of
from services.store.containers import ARTICLES
from services.stories.candidates import Candidates
from services.topology import REFRESH_TOOLS
from tests.builders import existing
from tests.documents import NOW
from tests.functional.stories.world import (
    ANY,
    LEAD,
    OTHER,
    OUTAGE,
    OUTAGE_LATER,
    OUTAGE_TOO,
    RELEASE,
    World,
)


async def some(world: World) -> list[str]:
    """Four articles about an outage, of which the last repeats the first, and two about other events."""
    await world.tool("Hexwharf")
    await world.tool("Pebblegrid")
    return [
        await world.analysed(90, OUTAGE, LEAD),
        await world.analysed(80, OUTAGE_TOO),
        await world.analysed(70, RELEASE),
        await world.analysed(60, OUTAGE_LATER),
        await world.analysed(50, OTHER),
        await world.analysed(40, OUTAGE, LEAD),
    ]


async def test_articles_get_their_story_and_what_they_repeat_and_so_do_their_mentions(world: World) -> None:
    articles = await some(world)
    assert set(await world.due()) == set(articles)
    await world.group()
    await world.is_right()
    outage = frozenset({articles[0], articles[1], articles[5]})
    assert any(outage <= each for each in await world.together())
    assert (await world.read(articles[5])).near_duplicate_of == articles[0]
    story = (await world.stories())[(await world.read(articles[0])).event_id or ""]
    assert (story.headline, story.near_duplicate_count) == (OUTAGE, 1)


async def test_the_hours_of_mentions_that_get_a_story_are_dirty_and_their_tools_announced(world: World) -> None:
    tool = await world.tool("Hexwharf")
    await world.analysed(90, OUTAGE)
    await world.is_counted(tool)
    assert await dirty_hours_of(world.store, tool.tool_id) == []
    world.watch.advance(minutes=2)
    world.queues.sent.clear()
    await world.group()
    assert len(await dirty_hours_of(world.store, tool.tool_id)) == 1
    assert len(world.queues.sent[REFRESH_TOOLS]) == 1


async def test_articles_that_arrive_one_by_one_and_the_latest_first_are_grouped_too(world: World) -> None:
    await world.tool("Hexwharf")
    for number, headline in (
        (40, OUTAGE),
        (60, OUTAGE_LATER),
        (50, OTHER),
        (80, OUTAGE_TOO),
        (70, RELEASE),
        (90, OUTAGE),
    ):
        await world.analysed(number, headline)
        await world.group()
        await world.agrees()
    assert sorted(map(len, await world.together())) == [1, 1, 4]


async def test_a_later_article_repeats_an_original_that_is_found_after_it(world: World) -> None:
    """The original is the earlier one of two publishers' articles, whichever is found first."""
    copy = await world.analysed(40, OUTAGE, LEAD)
    await world.group()
    original = await world.analysed(90, OUTAGE, LEAD)
    await world.group()
    await world.group()
    assert (await world.read(copy)).near_duplicate_of == original
    assert (await world.read(original)).near_duplicate_of is None
    await world.is_right()


async def test_an_edit_takes_an_article_out_of_its_story_and_another_edit_back(world: World) -> None:
    articles = await some(world)
    await world.group()
    before = await world.together()
    for headline in (OTHER, OUTAGE):
        await world.edit(articles[0], headline)
        await world.delivered([articles[0]])
        await world.group()
        await world.is_right()
    assert await world.together() == before


async def test_an_article_whose_first_source_has_left_it_is_grouped_at_its_new_time(world: World) -> None:
    """Its member moves to the partition of another day."""
    articles = await some(world)
    await world.group()
    before = await world.read(articles[1])
    earlier = before.changed(world.watch(), timestamp=NOW - timedelta(hours=20), grouping_due_since=world.watch())
    await world.store.replace(ARTICLES.name, earlier.to_document(), before.stored_etag or "")
    await world.group()
    await world.is_right()
    assert (await world.members())[articles[1]].published_at == NOW - timedelta(hours=20)


async def test_what_people_said_is_obeyed_and_undone(world: World) -> None:
    articles = await some(world)
    await world.group()
    before, signed = await world.together(), SignedBody(author="Ada", reason="another outage")
    one, release = [(await world.read(articles[each])).event_id or "" for each in (0, 2)]
    split = await world.worker.grouping.split_story(one, [articles[5]], signed)
    joined = await world.worker.grouping.relate_stories("ONE_STORY", one, release, signed)
    await world.group()
    await world.is_right()
    events = [(await world.read(articles[each])).event_id for each in (0, 2, 5)]
    assert (events[0] == events[1], events[0] == events[2]) == (True, False)
    assert (await world.read(articles[5])).near_duplicate_of is None
    for each in (split, joined):
        await world.worker.grouping.undo(each.correction_id, signed)
    await world.group()
    await world.is_right()
    assert await world.together() == before
    assert (await world.read(articles[5])).near_duplicate_of == articles[0]


@pytest.mark.parametrize("which", [0, 1, 3, 5])
async def test_a_deleted_article_is_in_no_story_after_the_grouping_that_is_asked_for_and_no_word_of_it_is_left(
    world: World, which: int
) -> None:
    articles = await some(world)
    await world.group()
    headline = (await world.read(articles[which])).canonical.headline
    world.sent()
    await world.worker.delete(articles[which])
    (asked,), _ = world.sent()
    assert (asked["trigger_reason"], asked["article_ids"]) == ("corrected", [articles[which]])
    await world.group()
    assert articles[which] not in await world.members()
    await world.is_right()
    await world.has_no_words_of(headline)
    left = await world.read(articles[which])
    assert (left.event_id, left.near_duplicate_of, left.grouping_due_since) == (None, None, None)
    await world.worker.delete(articles[which])


async def test_an_article_that_was_edited_meanwhile_stays_due(world: World) -> None:
    articles = await some(world)
    document = await existing(world.store, ARTICLES.name, articles[0], Article.ID)
    await world.edit(articles[0], RELEASE)
    outcome = await world.worker.grouper.group([document], Candidates())
    assert (outcome.finished, articles[0] in await world.due()) == (set(), True)
    await world.group()
    await world.is_right()


async def test_one_worker_groups_at_a_time(world: World) -> None:
    await some(world)
    assert await world.lease().hold()
    grouped = await world.worker.grouper.handle(ANY)
    (again,), _ = world.sent()
    assert (grouped.done, grouped.left, len(await world.due())) == (0, [], 6)
    assert again["event"] == "processing.group_headlines"
    world.watch.advance(minutes=2)
    await world.group()
    await world.is_right()


async def test_the_lease_of_a_worker_that_is_dead_or_whose_clock_was_ahead_ends(world: World) -> None:
    dead, other, third = (world.lease() for _ in range(3))
    assert await dead.hold()
    world.watch.advance(seconds=LEASE.total_seconds() - 1)
    assert not await other.hold()
    world.watch.advance(seconds=1)
    assert await other.hold()
    assert not await dead.hold()
    await dead.release()
    assert not await third.hold(), "it is not the dead worker's any more"
    await other.release()
    assert await third.hold()
    world.watch.advance(hours=-3)
    assert await other.hold()
    await other.release()
    assert not await third.hold(), "what it knew before another one had the lease may have changed"
