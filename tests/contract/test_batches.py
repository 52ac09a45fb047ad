"""What services/ports.py promises of batches: all or nothing, in every store alike."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from models.errors import ChangedMeanwhile, Conflict, InvalidInput
from services.ports import Create, Delete, Document, Operation, Query, Replace, Store, Upsert
from tests.contract.conftest import SettableClock


def mention(name: str, tool: str = "t", **fields: Any) -> Document:
    return {"id": name, "tool_id": tool, **fields}


async def stored(store: Store, tool: str = "t") -> dict[str, Any]:
    """The value of every document of a partition, by id."""
    page = await store.query("mentions", Query(partition=tool, limit=1000))
    return {each["id"]: each.get("n") for each in page.items}


async def etag_of(store: Store, name: str, tool: str = "t") -> str:
    document = await store.read("mentions", tool, name)
    assert document is not None
    return str(document["_etag"])


async def test_a_batch_does_every_operation_and_returns_the_new_etags(store: Store) -> None:
    replaced = await store.create("mentions", mention("replaced", n=1))
    await store.write_many("mentions", [mention("upserted", n=1), mention("deleted", n=1)])
    unconditionally = await store.create("mentions", mention("deleted too", n=1))
    etags = await store.batch(
        "mentions",
        "t",
        [
            Create(mention("created", n=2)),
            Delete("deleted"),
            Upsert(mention("upserted", n=2)),
            Replace(mention("replaced", n=2), replaced["_etag"]),
            Upsert(mention("new", n=2)),
            Delete("deleted too", unconditionally["_etag"]),
        ],
    )
    assert await stored(store) == {"created": 2, "upserted": 2, "replaced": 2, "new": 2}
    assert etags[1] is etags[5] is None
    names = ["created", None, "upserted", "replaced", "new", None]
    assert etags == [name and await etag_of(store, name) for name in names]


FAILING: dict[str, tuple[Callable[[str, str], Operation], type[Conflict | ChangedMeanwhile]]] = {
    "create what is there": (lambda there, _: Create(mention("there", n=2)), Conflict),
    "replace with an old ETag": (lambda there, old: Replace(mention("there", n=2), old), ChangedMeanwhile),
    "replace with an ETag of no store": (lambda there, _: Replace(mention("there", n=2), "none"), ChangedMeanwhile),
    "replace what is gone": (lambda there, _: Replace(mention("gone", n=2), there), ChangedMeanwhile),
    "delete with an old ETag": (lambda there, old: Delete("there", old), ChangedMeanwhile),
    "delete what is gone": (lambda there, _: Delete("gone"), ChangedMeanwhile),
    "delete what is gone with an ETag": (lambda there, _: Delete("gone", there), ChangedMeanwhile),
    "create over what expires later": (lambda there, _: Create(mention("expires later", n=2)), Conflict),
    "replace what has expired": (lambda _, expired: Replace(mention("expired", n=2), expired), ChangedMeanwhile),
    "delete what has expired": (lambda there, _: Delete("expired"), ChangedMeanwhile),
    "delete what has expired with an ETag": (lambda _, expired: Delete("expired", expired), ChangedMeanwhile),
}


@pytest.mark.parametrize(("failing", "error"), FAILING.values(), ids=FAILING)
@pytest.mark.parametrize("place", [0, 1, 4])
async def test_an_operation_that_fails_undoes_the_whole_batch(
    store: Store,
    clock: SettableClock,
    failing: Callable[[str, str], Operation],
    error: type[Conflict | ChangedMeanwhile],
    place: int,
) -> None:
    deadline = clock.seconds() + 60
    old = (await store.create("mentions", mention("there", n=0)))["_etag"]
    there = (await store.upsert("mentions", mention("there", n=1)))["_etag"]
    expired = (await store.create("mentions", mention("expired", n=1, ttl_timestamp=deadline)))["_etag"]
    await store.create("mentions", mention("expires later", n=1, ttl_timestamp=deadline + 1))
    replaced = (await store.create("mentions", mention("replaced", n=1)))["_etag"]
    await store.write_many("mentions", [mention("upserted", n=1), mention("deleted", n=1)])
    clock.forward(60)
    before = (await store.query("mentions", Query(partition="t"))).items
    operations: list[Operation] = [
        Create(mention("created", n=2)),
        Upsert(mention("upserted", n=2)),
        Replace(mention("replaced", n=2), replaced),
        Delete("deleted"),
    ]
    operations.insert(place, failing(there, expired if "expired" in str(failing("", "")) else old))
    with pytest.raises(error) as raised:
        await store.batch("mentions", "t", operations)
    assert isinstance(raised.value, Conflict | ChangedMeanwhile)
    assert raised.value.operation == place
    assert (await store.query("mentions", Query(partition="t"))).items == before


async def test_the_first_of_several_operations_that_fail_is_named(store: Store, clock: SettableClock) -> None:
    await store.write_many("mentions", [mention("there"), mention("expired", ttl_timestamp=clock.seconds() - 1)])
    operations: list[Operation] = [
        Upsert(mention("new")),
        Create(mention("expired")),
        Delete("gone"),
        Create(mention("there")),
        Replace(mention("gone too"), "none"),
    ]
    for index, error in ((2, ChangedMeanwhile), (2, Conflict), (2, ChangedMeanwhile)):
        with pytest.raises(error) as raised:
            await store.batch("mentions", "t", operations)
        assert isinstance(raised.value, Conflict | ChangedMeanwhile)
        assert raised.value.operation == index
        del operations[2]
    assert len(await store.batch("mentions", "t", operations)) == 2


async def test_batches_of_one_call_do_not_disturb_each_other(store: Store) -> None:
    await store.create("mentions", mention("taken", "b"))
    outcomes = await store.batch_many(
        "mentions",
        [
            ("a", [Create(mention("one", "a", n=1)), Create(mention("two", "a", n=1))]),
            ("b", [Create(mention("one", "b", n=1)), Create(mention("taken", "b", n=1))]),
            ("c", [Create(mention("one", "c", n=1)), Replace(mention("two", "c"), "none")]),
            ("d", [Upsert(mention("one", "d", n=1))]),
        ],
    )
    first, taken, changed, last = outcomes
    assert first == [await etag_of(store, "one", "a"), await etag_of(store, "two", "a")]
    assert isinstance(taken, Conflict)
    assert isinstance(changed, ChangedMeanwhile)
    assert (taken.operation, changed.operation) == (1, 1)
    assert last == [await etag_of(store, "one", "d")]
    assert [await stored(store, tool) for tool in "abcd"] == [{"one": 1, "two": 1}, {"taken": None}, {}, {"one": 1}]
    assert await store.batch_many("mentions", []) == []


async def test_a_batch_that_is_refused_stops_the_whole_call(store: Store) -> None:
    with pytest.raises(InvalidInput):
        await store.batch_many("mentions", [("a", [Create(mention("one", "a"))]), ("b", [])])
    assert await store.count("mentions") == 0


async def test_of_many_batches_that_race_for_one_document_one_wins_whole(
    another: Callable[[], Store], store: Store
) -> None:
    stores = [store, another()]
    shared = await store.create("mentions", mention("shared", n=-1))

    def operations(n: int) -> list[Operation]:
        return [Create(mention(f"own {n}", n=n)), Replace(mention("shared", n=n), shared["_etag"])]

    outcomes = await asyncio.gather(
        *(stores[n % 2].batch("mentions", "t", operations(n)) for n in range(20)), return_exceptions=True
    )
    winners = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, list)]
    assert len(winners) == 1
    assert all(isinstance(outcome, list | ChangedMeanwhile) for outcome in outcomes)
    assert await stored(store) == {"shared": winners[0], f"own {winners[0]}": winners[0]}
