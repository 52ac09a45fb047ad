"""When the grouping is asked for, by messages of which one waits at most."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from models.errors import InvalidInput
from models.values import format_time
from services.store.containers import ARTICLES
from services.store.sqlite import SqliteStore
from services.stories.announcing import (
    GroupingAnnouncer,
    GroupMessage,
    ungrouped,
)
from services.topology import GROUP_HEADLINES
from tests.builders import MemoryQueues, Watch
from tests.documents import NOW, article


def test_the_messages_have_the_payloads_of_the_specification() -> None:
    message = GroupMessage(("dedup:a", "dedup:b"), "threshold_reached", 12)
    assert json.loads(message.to_message()) == {
        "event": "processing.group_headlines",
        "article_ids": ["dedup:a", "dedup:b"],
        "trigger_reason": "threshold_reached",
        "ungrouped_count": 12,
    }
    assert GroupMessage.from_message(message.to_message()) == message


@pytest.mark.parametrize(
    "text",
    [
        *("", "7", "[]", "{}"),
        '{"article_ids":"a","trigger_reason":"interval_elapsed","ungrouped_count":1}',
        '{"article_ids":[""],"trigger_reason":"interval_elapsed","ungrouped_count":1}',
        '{"article_ids":["a"],"trigger_reason":"no reason","ungrouped_count":1}',
        '{"article_ids":["a"],"trigger_reason":"interval_elapsed","ungrouped_count":-1}',
    ],
)
def test_what_is_no_such_message_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="message"):
        GroupMessage.from_message(text)


class Bench:
    def __init__(self, store: SqliteStore, watch: Watch) -> None:
        self.store, self.watch, self.queues = store, watch, MemoryQueues()
        self.announcer = GroupingAnnouncer(store, self.queues, 3, timedelta(minutes=5), watch)

    async def due(self, *numbers: int) -> None:
        for number in numbers:
            await self.store.upsert(
                ARTICLES.name,
                article(dedup_key=f"{number:032x}", grouping_due_since=self.watch()).to_document(),
            )

    def sent(self) -> list[tuple[str, int, int]]:
        found = [json.loads(each) for each in self.queues.sent.pop(GROUP_HEADLINES, [])]
        return [(each["trigger_reason"], each["ungrouped_count"], len(each["article_ids"])) for each in found]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    watch = Watch(NOW)
    store = SqliteStore(tmp_path / "toolpulse.db", watch)
    yield Bench(store, watch)
    await store.close()


async def test_a_message_is_sent_when_enough_articles_are_due(bench: Bench) -> None:
    await bench.due(1, 2)
    assert (await bench.announcer.announce_if_many(), bench.sent()) == (False, [])
    await bench.due(3)
    assert (await bench.announcer.announce_if_many(), bench.sent()) == (True, [("threshold_reached", 3, 3)])


async def test_one_message_waits_at_most_and_the_next_is_sent_once_the_grouping_has_begun(bench: Bench) -> None:
    await bench.due(1, 2, 3)
    assert [await bench.announcer.announce_if_many() for _ in range(3)] == [True, False, False]
    await bench.announcer.begun()
    assert await bench.announcer.announce_if_many()
    assert len(bench.sent()) == 2


async def test_fewer_articles_are_announced_after_the_interval_by_the_tick(bench: Bench) -> None:
    await bench.due(1)
    bench.watch.advance(minutes=5, seconds=-1)
    assert (await bench.announcer.announce_overdue(), bench.sent()) == (False, [])
    bench.watch.advance(seconds=1)
    assert [await bench.announcer.announce_overdue() for _ in range(2)] == [True, False]
    assert bench.sent() == [("interval_elapsed", 1, 1)]


async def test_what_a_person_corrected_is_announced_at_once_unless_a_message_waits(bench: Bench) -> None:
    await bench.due(1)
    assert [await bench.announcer.announce_corrected() for _ in range(2)] == [True, False]
    assert bench.sent() == [("corrected", 1, 1)]


async def test_a_message_that_nobody_works_on_counts_as_lost_after_two_minutes(bench: Bench) -> None:
    await bench.due(1)
    bench.watch.advance(minutes=5)
    found = []
    for seconds in (0, 119, 1):
        bench.watch.advance(seconds=seconds)
        found.append(await bench.announcer.announce_overdue())
    assert found == [True, False, True]


async def test_an_article_of_a_clock_that_was_ahead_is_announced(bench: Bench) -> None:
    bench.watch.advance(hours=2)
    await bench.due(1)
    bench.watch.advance(hours=-2)
    assert await bench.announcer.announce_overdue()


async def test_nothing_due_sends_and_writes_nothing(bench: Bench) -> None:
    assert not await bench.announcer.announce_overdue()
    assert not await bench.announcer.announce_if_many()
    assert not await bench.announcer.announce_corrected()
    assert bench.queues.sent == {}


async def test_what_waits_is_counted_with_its_age(bench: Bench) -> None:
    assert (await ungrouped(bench.store)).seconds(bench.watch()) == 0
    await bench.due(1, 2)
    bench.watch.advance(seconds=90)
    found = await ungrouped(bench.store)
    assert (found.articles, found.seconds(bench.watch()), format_time(found.since or NOW)) == (2, 90, format_time(NOW))
