"""Calls that are gathered give every caller what it would have got alone."""

import asyncio
from collections.abc import Sequence

import pytest

from models.errors import InvalidInput, Unavailable
from services.articles.together import MOST, Together
from services.ports import Document


class Slow:
    """Documents, that takes its time and refuses what says `bad`."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.there: set[str] = set()
        self.away = False

    async def read(self, container: str, partition: str, id: str) -> Document | None:
        return {"id": id}

    async def delete(self, container: str, partition: str, id: str) -> bool:
        self.there.discard(id)
        return True

    async def read_many(self, container: str, keys: Sequence[tuple[str, str]]) -> list[Document | None]:
        await self._work(len(keys))
        return [{"id": name} if name in self.there else None for _, name in keys]

    async def create_many(self, container: str, documents: Sequence[Document]) -> list[bool]:
        await self._work(len(documents))
        if any(each["id"].startswith("bad") for each in documents):
            raise InvalidInput("id", "must be good")
        created = [each["id"] not in self.there for each in documents]
        self.there |= {each["id"] for each in documents}
        return created

    async def write_many(self, container: str, documents: Sequence[Document]) -> None:
        await self.create_many(container, documents)

    async def replace_many(self, container: str, changes: Sequence[tuple[Document, str]]) -> list[bool]:
        await self._work(len(changes))
        return [document["id"] in self.there for document, _ in changes]

    async def _work(self, count: int) -> None:
        self.calls.append(count)
        await asyncio.sleep(0.001)
        if self.away:
            raise Unavailable("away")


def _documents(*names: str) -> list[Document]:
    return [{"id": name} for name in names]


async def test_callers_who_come_within_a_few_turns_of_the_loop_share_one_call() -> None:
    store = Slow()
    together = Together(store, at_once=1)

    async def comes_after(turns: int) -> list[bool]:
        for _ in range(turns):
            await asyncio.sleep(0)
        return await together.create_many("c", _documents(f"{turns}"))

    assert await asyncio.gather(*(comes_after(turns) for turns in range(0, 12, 3))) == [[True]] * 4
    assert store.calls == [4]


async def test_callers_who_come_while_the_store_works_share_the_next_call() -> None:
    store = Slow()
    together = Together(store, at_once=1)
    results = await asyncio.gather(*(together.create_many("c", _documents(f"{n}", f"{n}-b")) for n in range(5)))
    assert results == [[True, True]] * 5
    assert sum(store.calls) == 10
    assert len(store.calls) < 5
    assert await together.read_many("c", [("", "3"), ("", "none")]) == [{"id": "3"}, None]


async def test_callers_come_again_and_again_without_anybody_being_forgotten() -> None:
    store = Slow()
    together = Together(store, at_once=1)

    async def caller(number: int) -> None:
        for turn in range(20):
            assert await together.create_many("c", _documents(f"{number}-{turn}")) == [True]
            await together.write_many("c", _documents(f"{number}-{turn}"))

    async with asyncio.timeout(10):
        await asyncio.gather(*(caller(number) for number in range(8)))


async def test_what_no_store_takes_is_the_trouble_of_who_brought_it() -> None:
    together = Together(Slow(), at_once=1)
    first = asyncio.create_task(together.create_many("c", _documents("first")))
    await asyncio.sleep(0)
    results = await asyncio.gather(
        *(together.create_many("c", _documents(name)) for name in ("good", "bad", "better")), return_exceptions=True
    )
    assert await first == [True]
    assert results[0] == results[2] == [True]
    assert isinstance(results[1], InvalidInput)


async def test_an_outage_is_everybodys_and_ends() -> None:
    store = Slow()
    together = Together(store, at_once=1)
    store.away = True
    results = await asyncio.gather(
        *(together.create_many("c", _documents(str(number))) for number in range(3)), return_exceptions=True
    )
    assert all(isinstance(each, Unavailable) for each in results)
    store.away = False
    assert await together.create_many("c", _documents("later")) == [True]


async def test_a_caller_who_leaves_does_not_hold_up_the_others() -> None:
    together = Together(Slow(), at_once=1)
    leaving = asyncio.create_task(together.create_many("c", _documents("a")))
    staying = asyncio.create_task(together.create_many("c", _documents("b")))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await staying == [True]
    with pytest.raises(asyncio.CancelledError):
        await leaving


async def test_more_than_one_call_holds_goes_in_several() -> None:
    store = Slow()
    together = Together(store, at_once=1)
    many = MOST // 2 + 1
    await asyncio.gather(*(together.create_many("c", _documents(*(f"{n}-{m}" for m in range(many)))) for n in range(4)))
    assert max(store.calls) == many
