"""The durable queues, with a clock of the test's own."""

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from scripts.local_host.data import DataFolder
from scripts.local_host.queues import NoSuchMessage, Queues, WrongReceipt, is_queue_name
from scripts.local_host.timers import Status, TimerRecords


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_771_704_000.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """Queues over a folder, what they announced, and their clock."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self.clock = Clock()
        self.arrivals: list[tuple[str, float]] = []
        self.folder = DataFolder(folder)
        self.queues = Queues(self.folder, self.clock, self._arrived)

    def _arrived(self, queue: str, seconds: float) -> None:
        self.arrivals.append((queue, seconds))

    def reopen(self) -> Queues:
        self.folder.close()
        self.folder = DataFolder(self.path)
        self.queues = Queues(self.folder, self.clock, self._arrived)
        return self.queues


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.folder.close()


def test_each_message_is_taken_once_in_the_order_of_sending(bench: Bench) -> None:
    queues = bench.queues
    queues.send([("work", str(n)) for n in range(5)])
    assert [each.text for each in queues.take("work", 3, 30)] == ["0", "1", "2"]
    assert [each.text for each in queues.take("work", 3, 30)] == ["3", "4"]
    assert queues.take("work", 3, 30) == []
    assert bench.arrivals == [("work", 0)]


def test_a_message_that_is_not_removed_in_time_is_delivered_again_with_another_receipt(bench: Bench) -> None:
    queues = bench.queues
    queues.send([("work", "a")])
    (first,) = queues.take("work", 1, 30)
    bench.clock.now += 29.9
    assert queues.take("work", 1, 30) == []
    bench.clock.now += 0.1
    (second,) = queues.take("work", 1, 30)
    assert (first.dequeue_count, second.dequeue_count, first.id) == (1, 2, second.id)
    with pytest.raises(WrongReceipt):
        queues.remove("work", first.id, first.receipt)
    queues.remove("work", second.id, second.receipt)
    with pytest.raises(NoSuchMessage):
        queues.remove("work", second.id, second.receipt)


def test_no_other_reader_gets_a_held_message_however_long_the_work_takes(bench: Bench) -> None:
    queues = bench.queues
    queues.send([("work", "a")])
    (held,) = queues.take("work", 1, 600, hold=True)
    bench.clock.now += 3600
    assert queues.take("work", 1, 30) == []
    assert queues.count("work") == 1
    queues.release(held, 30)
    assert queues.take("work", 1, 30) == []
    bench.clock.now += 30
    assert [each.dequeue_count for each in queues.take("work", 1, 30)] == [2]


def test_the_next_host_frees_held_messages_and_leaves_hidden_ones(bench: Bench) -> None:
    bench.queues.send([("work", "held"), ("work", "hidden"), ("work", "waiting")])
    bench.queues.take("work", 1, 600, hold=True)
    bench.queues.take("work", 1, 600)
    queues = bench.reopen()
    assert queues.recover() == 1
    found = queues.take("work", 5, 30)
    assert {each.text: each.dequeue_count for each in found} == {"held": 2, "waiting": 1}


def test_moving_to_another_queue_keeps_the_text_and_starts_the_count_again(bench: Bench) -> None:
    bench.queues.send([("work", "a")])
    (held,) = bench.queues.take("work", 1, 600, hold=True)
    bench.queues.move(held, "work-poison")
    assert (bench.queues.count("work"), bench.queues.count("work-poison")) == (0, 1)
    (moved,) = bench.queues.take("work-poison", 1, 30)
    assert (moved.text, moved.dequeue_count) == ("a", 1)


def test_a_message_that_has_expired_is_gone(bench: Bench) -> None:
    bench.queues.create("work")
    bench.queues.put("work", "a", lifetime=60)
    bench.clock.now += 60
    assert (bench.queues.count("work"), bench.queues.take("work", 1, 30)) == (0, [])
    bench.queues.recover()
    assert bench.folder.connection.execute("SELECT count(*) FROM messages").fetchone() == (0,)


def test_a_delayed_message_is_announced_with_the_seconds_until_it_is_visible(bench: Bench) -> None:
    bench.queues.create("work")
    bench.queues.put("work", "a", delay=10)
    assert (bench.arrivals, bench.queues.peek("work", 1)) == ([("work", 10)], [])
    assert (bench.queues.count("work", bench.clock.now + 5), bench.queues.count("work")) == (0, 1)
    bench.clock.now += 10
    assert [each.text for each in bench.queues.peek("work", 1)] == ["a"]


def test_sending_is_all_or_nothing(bench: Bench) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        bench.queues.send([("work", "a"), ("work", None)])  # type: ignore[list-item]
    assert bench.queues.names() == []


@pytest.mark.parametrize(
    ("name", "good"),
    [("abc", True), ("a-b-c", True), ("a" * 63, True), ("ab", False), ("a" * 64, False), ("a--b", False)]
    + [(name, False) for name in ("-ab", "ab-", "Abc", "a_b", "")],
)
def test_queue_names_follow_the_rules_of_storage(name: str, good: bool) -> None:
    assert is_queue_name(name) is good


@pytest.mark.parametrize("at_start", [True, False])
def test_messages_wait_no_longer_because_the_clock_was_set_back(bench: Bench, at_start: bool) -> None:
    queues, day = bench.queues, 86_400.0
    queues.create("work")
    queues.put("work", "before", delay=20)
    bench.clock.now += day
    queues.put("work", "ahead", delay=10)
    (taken,) = queues.take("work", 1, 30)
    queues.release(taken, 15)
    assert taken.text == "before"
    bench.clock.now -= day
    if at_start:
        queues = bench.reopen()
        queues.recover()
    assert queues.take("work", 9, 30) == []
    bench.clock.now += 15
    assert sorted(each.text for each in queues.take("work", 9, 30)) == ["ahead", "before"]
    assert queues.take("work", 9, 30) == []


@pytest.mark.parametrize(("days", "kept"), [(8, 1), (1, 0)])
def test_expired_messages_are_kept_by_a_host_whose_clock_may_have_jumped(bench: Bench, days: int, kept: int) -> None:
    bench.queues.create("work")
    bench.queues.put("work", "old", lifetime=3600)
    worked = datetime.fromtimestamp(bench.clock.now, UTC)
    TimerRecords(bench.folder).save("tick", Status(None, worked, worked))
    bench.clock.now += days * 86_400
    queues = bench.reopen()
    queues.recover()
    bench.clock.now -= days * 86_400
    assert queues.count("work") == kept
