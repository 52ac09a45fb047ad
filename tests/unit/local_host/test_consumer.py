"""A message ends the wait between polls of an empty queue. The clock of the loop does not wait."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from scripts.local_host.consumer import Consumer
from scripts.local_host.data import Blocked, DataFolder
from scripts.local_host.invoke import Outcome
from scripts.local_host.queues import Queues
from scripts.local_host.settings import QueueOptions
from tests.builders import now_of_loop, on_a_clock_of_its_own

OPTIONS = QueueOptions(
    visibility_timeout=0,
    max_polling_interval=3600,
    batch_size=16,
    new_batch_threshold=8,
    max_dequeue_count=5,
    base64=True,
)


def polls(wakes_at: float | None, until: float) -> list[float]:
    """When the consumer of an empty queue looks at it, in seconds."""
    found = list[float]()

    def take(*_: object, **__: object) -> list[Any]:
        found.append(now_of_loop())
        return []

    @on_a_clock_of_its_own
    async def run() -> None:
        function, queues = SimpleNamespace(queue="work"), SimpleNamespace(take=take)
        given: list[Any] = [function, queues, None, OPTIONS, None, None, None]
        consumer = Consumer(*given)
        running = asyncio.create_task(consumer.run())
        if wakes_at is not None:
            asyncio.get_running_loop().call_at(wakes_at, consumer.wake)
        await asyncio.sleep(until)
        running.cancel()
        await asyncio.wait([running])

    run()
    return found


def test_an_empty_queue_is_polled_ever_less_often() -> None:
    found = polls(None, 100)
    waits = [after - before for before, after in itertools.pairwise(found)]
    assert waits[0] < 0.11
    assert all(after > 1.1 * before for before, after in itertools.pairwise(waits))
    assert 9 <= len(found) <= 12


def test_a_message_is_looked_for_at_once_and_not_at_the_next_poll() -> None:
    """The eighth and the ninth poll come before 16.1 and after 21.2 s, whatever the jitter."""
    assert [each for each in polls(None, 20) if each > 16.1] == []
    assert [round(each, 3) for each in polls(18, 20) if each > 16.1] == [18]


@on_a_clock_of_its_own
async def test_on_a_full_disk_no_message_is_taken_and_what_became_of_one_is_written_later(tmp_path: Path) -> None:
    faults, done = list[BaseException](), list[str]()
    with closing(DataFolder(tmp_path)) as folder:
        queues = Queues(folder, lambda: 1_771_704_000.0, lambda *_: None)

        async def start(_: object, text: str, __: str) -> Outcome:
            folder.connection.execute("PRAGMA query_only = 1")
            done.append(text)
            return Outcome("1")

        function = SimpleNamespace(queue="work", parameters=SimpleNamespace(as_text=True))
        given: list[Any] = [function, queues, SimpleNamespace(start=start), OPTIONS, None, None, faults.append]
        queues.send([("work", "YQ==")])
        folder.least_free_bytes = 2**62
        running = asyncio.create_task(Consumer(*given).run())
        await asyncio.sleep(3600)
        assert (queues.count("work"), done) == (1, [])
        folder.least_free_bytes = 0
        await asyncio.sleep(3600)
        assert (queues.count("work"), done) == (1, ["a"])
        folder.connection.execute("PRAGMA query_only = 0")
        await asyncio.sleep(3600)
        assert (queues.count("work"), done) == (0, ["a"])
        assert {type(each) for each in faults} == {Blocked}
        running.cancel()
