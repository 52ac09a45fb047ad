"""Small announcements share requests, and no caller returns before its articles are sent."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from models.errors import Unavailable
from services.articles.announcing import Announcements


class Line:
    """Requests that wait until the test lets them through, one by one."""

    def __init__(self) -> None:
        self.requests: list[list[str]] = []
        self.by_feed: list[dict[str | None, list[str]]] = []
        self.fails = False
        self._let_through = asyncio.Semaphore(0)

    async def send(self, by_feed: Mapping[str | None, Sequence[str]]) -> None:
        self.by_feed.append({feed_id: list(source_ids) for feed_id, source_ids in by_feed.items()})
        self.requests.append([each for source_ids in by_feed.values() for each in source_ids])
        await self._let_through.acquire()
        if self.fails:
            raise Unavailable("the queues did not answer")

    async def answer(self) -> None:
        self._let_through.release()
        for _ in range(5):
            await asyncio.sleep(0)


async def test_what_is_announced_during_a_request_is_sent_together_in_the_next() -> None:
    line = Line()
    announcements = Announcements(line.send)
    first = asyncio.create_task(announcements.announce(["a", "b"]))
    await asyncio.sleep(0.01)
    others = [asyncio.create_task(announcements.announce(some)) for some in (["c"], ["d", "c"], ["e"])]
    await asyncio.sleep(0.01)
    assert line.requests == [["a", "b"]]
    await line.answer()
    assert (first.done(), [each.done() for each in others]) == (True, [False] * 3)
    assert line.requests == [["a", "b"], ["c", "d", "e"]]
    await line.answer()
    await asyncio.gather(*others)


async def test_articles_are_sent_with_the_feed_that_brought_them_and_without_one_if_announced_again() -> None:
    line = Line()
    announcements = Announcements(line.send)
    first = asyncio.create_task(announcements.announce(["a"], "one"))
    await asyncio.sleep(0.01)
    some = ((["b", "c"], "one"), (["d"], "other"), (["e"], None))
    others = [asyncio.create_task(announcements.announce(*each)) for each in some]
    await asyncio.sleep(0.01)
    for _ in range(2):
        await line.answer()
    await asyncio.gather(first, *others)
    assert line.by_feed == [{"one": ["a"]}, {"one": ["b", "c"], "other": ["d"], None: ["e"]}]


async def test_nothing_to_announce_sends_nothing() -> None:
    line = Line()
    await Announcements(line.send).announce([])
    assert line.requests == []


async def test_every_caller_of_a_failed_request_knows_and_the_next_request_is_tried() -> None:
    line = Line()
    announcements = Announcements(line.send)
    first = asyncio.create_task(announcements.announce(["a"]))
    await asyncio.sleep(0.01)
    others = [asyncio.create_task(announcements.announce([each])) for each in "bc"]
    line.fails = True
    await line.answer()
    with pytest.raises(Unavailable):
        await first
    await line.answer()
    for each in others:
        with pytest.raises(Unavailable):
            await each
    line.fails = False
    last = asyncio.create_task(announcements.announce(["d"]))
    await line.answer()
    await last
    assert line.requests == [["a"], ["b", "c"], ["d"]]


async def test_a_cancelled_caller_does_not_cancel_the_request_of_the_others() -> None:
    line = Line()
    announcements = Announcements(line.send)
    one, other = (asyncio.create_task(announcements.announce([each])) for each in "ab")
    await asyncio.sleep(0.01)
    one.cancel()
    await line.answer()
    await other
    assert (one.cancelled(), line.requests) == (True, [["a", "b"]])
