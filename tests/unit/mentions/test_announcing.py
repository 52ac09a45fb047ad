"""The messages of `refresh-tools`, how long they wait, and how markers coalesce them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from models.cache import announced_id
from models.errors import InvalidInput, Unavailable
from services.mentions import announcing
from services.mentions.announcing import RefreshAnnouncer, RefreshMessage, next_delay, refresh_messages
from services.mentions.dirty_hours import mark_dirty
from services.store.containers import SENTIMENT_CACHE
from services.store.sqlite import SqliteStore
from services.topology import REFRESH_TOOLS
from tests.builders import NOON, MemoryQueues, Watch


def test_messages_are_read_as_they_are_written_and_nothing_else_is() -> None:
    for message in (RefreshMessage(("a", "b")), RefreshMessage(("a",), "run", "0001"), RefreshMessage(())):
        assert RefreshMessage.from_message(message.to_message()) == message
    assert announcing.MOST_TOOLS == 50
    assert [len(RefreshMessage.from_message(each).tool_ids) for each in refresh_messages(["x"] * 120)] == [50, 50, 20]
    for text in ("", "[]", "{}", '{"tool_ids": "a"}', '{"tool_ids": [1]}', '{"tool_ids": [], "run_id": "r"}'):
        with pytest.raises(InvalidInput):
            RefreshMessage.from_message(text)


def test_the_next_refresh_waits_a_second_or_twice_as_long_as_the_last_one_took_but_15_seconds_at_most() -> None:
    assert [next_delay(took) for took in (0.0, 0.5, 0.6, 4.0, 7.5, 300.0)] == [1.0, 1.0, 1.2, 8.0, 15.0, 15.0]


def test_an_hour_that_is_dirty_for_half_a_minute_is_overdue_and_a_failed_tool_is_left_alone_for_five() -> None:
    assert (timedelta(seconds=30), timedelta(minutes=5)) == (announcing.OVERDUE, announcing.FAILED_FOR)


class Delayed(MemoryQueues):
    """Notes the delay of each message; sending takes `takes` seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.delays: list[float] = []
        self.at = 0.0
        self.takes = 0.0

    async def send(self, name: str, messages: Sequence[str], *, delay_seconds: float = 0) -> None:
        await super().send(name, messages, delay_seconds=delay_seconds)
        self.delays += [delay_seconds] * len(messages)
        self.at += self.takes

    @property
    def announced(self) -> list[list[str]]:
        return [sorted(RefreshMessage.from_message(each).tool_ids) for each in self.sent.get(REFRESH_TOOLS, [])]


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def queues() -> Delayed:
    return Delayed()


@pytest.fixture
def announcer(store: SqliteStore, queues: Delayed, watch: Watch) -> RefreshAnnouncer:
    return RefreshAnnouncer(store, queues, watch, lambda: queues.at)


async def _is_marked(store: SqliteStore, tool_id: str) -> bool:
    return await store.read(SENTIMENT_CACHE.name, tool_id, announced_id(tool_id)) is not None


async def test_tools_are_announced_once_until_they_are_refreshed(
    store: SqliteStore, queues: Delayed, announcer: RefreshAnnouncer, watch: Watch
) -> None:
    assert await announcer.announce([]) == []
    assert await announcer.announce(["b", "a", "b"]) == ["a", "b"]
    other_worker = RefreshAnnouncer(store, queues, watch)
    assert await other_worker.announce(["a", "c"]) == ["c"]
    assert (queues.announced, queues.delays) == ([["a", "b"], ["c"]], [1.0, 1.0])
    await other_worker.refreshed(["a", "b"], 0.1)
    assert await announcer.announce(["a"]) == ["a"]


async def test_many_tools_are_announced_by_few_messages(queues: Delayed, announcer: RefreshAnnouncer) -> None:
    many = [f"{number:03}" for number in range(230)]
    assert await announcer.announce(many) == many
    assert [len(each) for each in queues.announced] == [50, 50, 50, 50, 30]


async def test_a_tool_that_is_dirty_again_when_it_was_refreshed_is_announced_again_later_the_longer_that_took(
    store: SqliteStore, queues: Delayed, announcer: RefreshAnnouncer, watch: Watch
) -> None:
    await announcer.announce(["a", "b"])
    await mark_dirty(store, "a", [NOON], watch.now)
    watch.advance(seconds=20)
    await announcer.refreshed(["a", "b"], 3.0)
    assert (queues.announced, queues.delays) == ([["a", "b"], ["a"]], [1.0, 6.0])
    assert (await _is_marked(store, "a"), await _is_marked(store, "b")) == (True, False)
    watch.advance(seconds=29)
    assert await announcer.announce(["a"]) == [], "its marker was renewed"


async def test_a_marker_expires_after_half_a_minute_and_that_of_a_failed_tool_after_five(
    announcer: RefreshAnnouncer, watch: Watch
) -> None:
    await announcer.announce(["a", "b"])
    await announcer.failed(["b"])
    watch.advance(seconds=29)
    assert await announcer.announce(["a", "b"]) == []
    watch.advance(seconds=1)
    assert await announcer.announce(["a", "b"]) == ["a"]
    watch.advance(minutes=4, seconds=30)
    assert await announcer.announce(["b"]) == ["b"]


async def test_a_marker_that_was_created_after_its_message_may_have_been_worked_on_is_deleted(
    store: SqliteStore, queues: Delayed, announcer: RefreshAnnouncer, watch: Watch
) -> None:
    queues.takes = 1.0
    await announcer.announce(["a"])
    assert not await _is_marked(store, "a")
    await mark_dirty(store, "b", [NOON], watch.now)
    queues.takes = 5.0
    await announcer.announce(["b"])
    assert queues.announced == [["a"], ["b"], ["b"]], "somebody may have found the marker before it was deleted"
    assert queues.delays == [1.0, 2.0, 1.0], "later messages wait longer if the store or the queue is slow"
    await announcer.announce(["c"])
    assert await _is_marked(store, "c")


async def test_overdue_tools_are_announced_unless_a_message_waits_and_a_worker_that_starts_announces_all(
    store: SqliteStore, queues: Delayed, announcer: RefreshAnnouncer, watch: Watch
) -> None:
    await mark_dirty(store, "old", [NOON, NOON - timedelta(hours=3)], watch.now)
    await mark_dirty(store, "waiting", [NOON], watch.now)
    watch.advance(seconds=29)
    assert await announcer.announce_overdue() == []
    await announcer.announce(["waiting"])
    watch.advance(seconds=1)
    await mark_dirty(store, "new", [NOON], watch.now)
    assert await announcer.announce_overdue() == ["old"]
    assert await announcer.announce_overdue() == []
    assert sorted(await announcer.announce_all()) == ["new", "old", "waiting"]
    assert await announcer.announce(["new"]) == []


async def test_overdue_tools_are_found_among_the_2000_oldest_dirty_hours(
    store: SqliteStore, announcer: RefreshAnnouncer, watch: Watch
) -> None:
    for number in range(3):
        hours = [NOON - timedelta(hours=back) for back in range(1, 701 if number < 2 else 600)]
        await mark_dirty(store, f"busy-{number}", hours, watch.now + timedelta(minutes=1))
    await mark_dirty(store, "last", [NOON], watch.now)
    watch.advance(minutes=1)
    assert await announcer.announce_overdue() == ["last"]
    await mark_dirty(store, "busy-3", [NOON - timedelta(hours=2)], watch.now)
    watch.advance(seconds=31)
    assert sorted(await announcer.announce_overdue()) == ["busy-0", "busy-1", "busy-2", "busy-3"]


async def test_a_queue_that_does_not_answer_leaves_no_marker(
    store: SqliteStore, queues: Delayed, announcer: RefreshAnnouncer
) -> None:
    queues.down = True
    with pytest.raises(Unavailable):
        await announcer.announce(["a"])
    assert not await _is_marked(store, "a")


async def test_a_marker_that_ends_later_than_any_does_not_count(announcer: RefreshAnnouncer, watch: Watch) -> None:
    watch.advance(days=1)
    await announcer.failed(["a"])
    watch.advance(days=-1)
    assert await announcer.announce(["a"]) == ["a"]


async def test_hours_that_were_marked_by_a_clock_that_was_ahead_are_overdue(
    store: SqliteStore, announcer: RefreshAnnouncer, watch: Watch
) -> None:
    await mark_dirty(store, "near", [NOON], watch.now + timedelta(minutes=1))
    await mark_dirty(store, "ahead", [NOON], watch.now + timedelta(minutes=1, seconds=1))
    assert await announcer.announce_overdue() == ["ahead"]
