"""Articles that were analysed are grouped: members, stories, mentions and articles agree, whatever happens."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from models.article import Article
from models.errors import Unavailable
from services.mentions.correction_form import Signed
from services.mentions.dirty_hours import dirty_hours_of
from services.store.containers import ARTICLES
from services.stories.announcing import GroupMessage
from services.stories.documents import known
from services.stories.keys import MOST_IN_PART
from services.topology import REFRESH_TOOLS
from tests.documents import NOW
from tests.functional.articles.dying import Died, DyingStore, When
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


async def test_stories_that_were_updated_are_announced_with_the_payload_of_the_specification(world: World) -> None:
    articles = await some(world)
    await world.group()
    _, (ideas,) = world.sent()
    events = {(await world.read(each)).event_id for each in articles}
    assert set(ideas) == {"event", "event_ids", "trigger_reason"}
    assert (ideas["event"], ideas["trigger_reason"]) == ("processing.generate_ideas", "events_updated")
    assert set(ideas["event_ids"]) == events


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


async def test_a_message_that_is_delivered_twice_changes_nothing_more(world: World) -> None:
    articles = await some(world)
    message = GroupMessage(tuple(articles), "threshold_reached", 6)
    await world.worker.grouper.work(message)
    before = [each.to_document() for each in await world.articles()]
    world.sent()
    assert (await world.worker.grouper.work(message)).articles == 0
    assert world.sent() == ([], [])
    assert [each.to_document() for each in await world.articles()] == before


async def of_a_great_story(world: World) -> list[str]:
    """Three articles of a story that has just been counted, and a fourth that is due to be grouped."""
    articles = [await world.analysed(90 - 10 * number, OUTAGE, LEAD) for number in range(3)]
    await world.group()
    world.sent()
    world.watch.advance(seconds=30)
    return [*articles, await world.analysed(40, OUTAGE, LEAD)]


async def test_a_great_story_is_counted_later_and_one_of_its_articles_stays_due_until_then(world: World) -> None:
    articles = await of_a_great_story(world)
    worker = world.grouping(lambda: 0.0, great=2)
    await worker.work(ANY)
    (story,) = (await world.stories()).values()
    assert (await world.read(articles[3])).event_id == story.event_id
    assert (story.article_count, await world.due()) == (3, [articles[3]])
    assert world.sent()[1] == []
    world.watch.advance(seconds=31)
    assert not (await worker.work(ANY)).left
    await world.is_right()
    assert [each["event_ids"] for each in world.sent()[1]] == [[story.event_id]]


async def test_a_great_story_is_counted_at_once_without_a_deleted_article(world: World) -> None:
    articles = await of_a_great_story(world)
    worker = world.grouping(lambda: 0.0, great=2)
    await worker.work(ANY)
    assert await world.due() == [articles[3]]
    await world.worker.articles.delete(articles[1])
    await world.delivered([articles[1]])
    await worker.forget(articles[1])
    (story,) = (await world.stories()).values()
    assert story.article_count == 3
    world.watch.advance(minutes=2)
    await worker.work(ANY)
    await world.is_right()


async def test_an_article_that_waits_for_its_story_and_is_decided_again_meanwhile_has_its_new_story(
    world: World,
) -> None:
    """A later portion of the same message has an earlier article, which begins the story."""
    articles = await of_a_great_story(world)
    for number in range(9):
        await world.analysed(20 - number, f"Pebblegrid{number} opens{number} an{number} office{number} in Oslo{number}")
    first = await world.analysed(95, OUTAGE, LEAD)
    worker = world.grouping(lambda: 0.0, great=2)
    await worker.work(ANY)
    events = {(await world.read(each)).event_id for each in (first, *articles)}
    assert events == {(await world.members())[first].event_id}
    world.watch.advance(minutes=5)
    await worker.work(ANY)
    await world.is_right()


async def test_the_order_of_arrival_makes_no_difference(world: World) -> None:
    """Each article is grouped before the next arrives, the latest first."""
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
    signed = Signed("Ada", "another outage")
    story = (await world.read(articles[0])).event_id
    assert story is not None
    apart = await world.worker.grouping.split_story(story, [articles[5]], signed)
    await world.group()
    await world.is_right()
    one, other = [await world.read(articles[each]) for each in (0, 5)]
    assert one.event_id != other.event_id
    await world.worker.grouping.undo(apart.correction_id, signed)
    await world.group()
    await world.is_right()
    assert (await world.read(articles[5])).near_duplicate_of == articles[0]


@pytest.mark.parametrize("which", [0, 1, 3, 5])
async def test_a_deleted_article_is_in_no_story_before_the_caller_knows_and_no_word_of_it_is_left(
    world: World, which: int
) -> None:
    articles = await some(world)
    await world.group()
    headline = (await world.read(articles[which])).canonical.headline
    await world.worker.delete(articles[which])
    await world.is_right()
    await world.has_no_words_of(headline)
    left = await world.read(articles[which])
    assert (left.event_id, left.near_duplicate_of, left.grouping_due_since) == (None, None, None)
    await world.worker.delete(articles[which])


async def test_while_another_worker_groups_a_deleted_article_loses_its_words_and_the_rest_follows(world: World) -> None:
    articles = await some(world)
    await world.group()
    busy, passing = world.lease(), itertools.count(0, 10)
    await busy.acquire()
    await world.worker.articles.delete(articles[1])
    await world.delivered([articles[1]])
    await world.grouping(lambda: float(next(passing))).forget(articles[1])
    await world.has_no_words_of(OUTAGE_TOO)
    member = (await world.members())[articles[1]]
    assert (member.removed_at, await world.due()) == (world.watch(), [articles[1]])
    await busy.release()
    await world.group()
    await world.is_right()


@pytest.mark.parametrize("change", ["edited", "deleted", "deleted and not due"])
async def test_an_article_that_changed_is_not_finished_by_the_grouping_of_another(world: World, change: str) -> None:
    """The other decides it again by what is stored of it from before the change."""
    articles = await some(world)
    await world.group()
    first, repeated = await world.read(articles[0]), articles[5]
    if change == "edited":
        await world.edit(repeated, OTHER)
    else:
        await world.worker.articles.delete(repeated)
    await world.delivered([repeated])
    if change == "deleted and not due":
        tombstone = await world.read(repeated)
        fields = tombstone.changed(world.watch(), grouping_due_since=None).to_document()
        await world.store.replace(ARTICLES.name, fields, tombstone.stored_etag or "")
    await world.edit(first.source_id, RELEASE)
    await world.delivered([first.source_id])
    lease = world.lease()
    await lease.acquire()
    document = await world.store.read(ARTICLES.name, first.source_id, Article.ID)
    assert document is not None
    outcome = await world.writer().group([document], lease)
    await lease.release()
    assert (first.source_id in outcome.finished, repeated in outcome.unfinished) == (True, True)
    assert repeated in await world.due()
    await world.group()
    await world.is_right()


async def test_one_worker_groups_at_a_time_and_the_lease_of_a_dead_one_ends(world: World) -> None:
    await some(world)
    assert await world.lease().acquire()
    grouped = await world.worker.grouper.work(ANY)
    (again,), _ = world.sent()
    assert (grouped.articles, grouped.left, len(await world.due())) == (0, True, 6)
    assert again["event"] == "processing.group_headlines"
    world.watch.advance(minutes=2)
    await world.group()
    await world.is_right()


async def test_a_message_that_finds_another_worker_grouping_is_not_sent_a_second_time_by_others(world: World) -> None:
    await some(world)
    grouper = world.worker.grouper
    world.watch.advance(minutes=6)
    assert await grouper.announcer.announce_overdue()
    assert await world.lease().acquire()
    world.queues.down = True
    with pytest.raises(Unavailable):  # between receiving the message and sending it again
        await grouper.work(ANY)
    world.queues.down = False
    assert not await grouper.announcer.announce_overdue()


class Refusing(DyingStore):
    """A busy store: it refuses the k-th operation."""

    async def _do(self, name: str, *arguments: Any, half: tuple[Any, ...] | None = None) -> Any:
        self.operations += 1
        if self.operations == self._k:
            raise Unavailable("too many requests")
        return await getattr(self._store, name)(*arguments)


async def test_after_a_refusal_of_the_store_the_next_delivery_goes_on_at_once(world: World) -> None:
    await some(world)
    for k in itertools.count(4):
        store = Refusing(world.store, k, "before")
        with contextlib.suppress(Unavailable):
            await world.new_worker(store).grouper.work(ANY)
        if store.operations < k:
            break
        if store.operations == k:  # what it refused was the end of the lease, which then ends by itself
            world.watch.advance(minutes=2)
        await world.group()
        await world.is_right()
        await world.edit((await world.living())[0].source_id, f"{OUTAGE} {k}")
        await world.delivered([each.source_id for each in await world.living()])
    assert k > 15


@pytest.mark.parametrize("when", ["before", "halfway", "after"])
async def test_a_worker_that_dies_at_any_operation_is_repaired_by_the_next(world: World, when: When) -> None:
    """Also when it groups a late article that begins the story of others, an edit and a deletion."""
    await world.tool("Hexwharf")
    for k in itertools.count(1):
        articles = await some_of(world, k)
        await world.group()
        await world.analysed(1000 * k + 95, OUTAGE_TOO, LEAD, timestamp=world.watch() - timedelta(minutes=95))
        await world.edit(articles[2], OUTAGE_LATER)
        await world.delivered([articles[2]])
        dying = DyingStore(world.store, k, when)
        with contextlib.suppress(Died):
            await world.new_worker(dying).grouper.work(ANY)
        world.watch.advance(minutes=2)
        await world.group()
        await world.is_right()
        if not dying.is_dead:
            assert k > 15
            return
        for article in await world.articles():
            await world.worker.delete(article.source_id)
        await world.is_right()


async def some_of(world: World, k: int) -> list[str]:
    """Four articles whose ids no other round has."""
    now, found = world.watch(), list[str]()
    for minute, headline in ((90, OUTAGE), (80, OUTAGE_TOO), (70, RELEASE), (60, OUTAGE_LATER)):
        text, published = LEAD if minute == 90 else "", now - timedelta(minutes=minute)
        found.append(await world.analysed(1000 * k + minute, headline, text, timestamp=published))
    return found


async def test_hundreds_of_articles_that_share_a_key_are_grouped_alike_in_any_order_and_portions(world: World) -> None:
    """More than the documents of a key hold, and than an article sees under it."""
    chance = random.Random(5)
    words = ["recalls", "printers", "battery", "lawsuit", "Berlin", "merger", "overheating", "factory"]
    numbers = [*range(330)]
    chance.shuffle(numbers)
    for at, number in enumerate(numbers):
        headline = " ".join(["Hexwharf", *chance.sample(words, 4)])
        source_id = await world.analysed(1000 + number, headline, timestamp=NOW - timedelta(minutes=8 * number))
        if at % 40 == 7:
            await world.edit(source_id, OUTAGE)
            await world.delivered([source_id])
        if at % chance.choice([20, 60, 70]) == 0:
            await world.group()
        if at % 50 == 9:
            await world.worker.delete(source_id)
    await world.group()
    await world.is_right()
    members = [known(each.to_document()) for each in (await world.members()).values()]
    shared, count = Counter(key for each in members for key in each.signature.keys).most_common(1)[0]
    assert count > MOST_IN_PART
    assert len(await world.entries(shared)) == count
