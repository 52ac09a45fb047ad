"""When the grouping is asked for."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from services.store.containers import ARTICLES
from services.store.sqlite import SqliteStore
from services.stories.stage import DELAY_SECONDS, GroupingAnnouncer, grouping_stage
from services.topology import GROUP_HEADLINES
from services.work.announcing import Announcer, Sweeper
from tests.builders import MemoryQueues, Watch
from tests.documents import article


class Bench:
    def __init__(self, store: SqliteStore, watch: Watch) -> None:
        self.store, self.watch, self.queues = store, watch, MemoryQueues()
        self.passed = 0.0
        self.sends, stage = Announcer(self.queues), grouping_stage(timedelta(minutes=5))
        self.announcer = GroupingAnnouncer(store, self.sends, stage, 3, watch, lambda: self.passed)

    async def sweep(self) -> int:
        return await Sweeper(self.store, self.queues, self.sends, self.watch).sweep(self.announcer.stage)

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
def bench(store: SqliteStore, watch: Watch) -> Bench:
    return Bench(store, watch)


async def test_a_message_is_sent_when_enough_articles_are_due(bench: Bench) -> None:
    await bench.due(1, 2)
    assert (await bench.announcer.announce_if_many(["1", "2"]), bench.sent()) == (False, [])
    await bench.due(3)
    assert [await bench.announcer.announce_if_many(["3"]) for _ in range(3)] == [True, False, False]
    assert bench.sent() == [("threshold_reached", 3, 1)], "many who ask at once send one message"
    bench.passed = DELAY_SECONDS
    assert await bench.announcer.announce_if_many(["3"])


async def test_fewer_articles_are_announced_after_the_interval_by_the_tick(bench: Bench) -> None:
    await bench.due(1)
    bench.watch.advance(minutes=5, seconds=-1)
    assert (await bench.sweep(), bench.sent()) == (0, [])
    bench.watch.advance(seconds=1)
    assert (await bench.sweep(), bench.sent()) == (1, [("interval_elapsed", 1, 1)])


async def test_what_a_person_corrected_is_announced_at_once(bench: Bench) -> None:
    assert not await bench.announcer.announce_corrected()
    assert bench.queues.sent == {}
    await bench.due(1)
    assert await bench.announcer.announce_corrected()
    assert bench.sent() == [("corrected", 1, 1)]
