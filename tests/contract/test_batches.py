"""The promises of services/ports.py about batches: all or nothing, in every store alike."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from models.errors import ChangedMeanwhile, Conflict, InvalidInput
from services.ports import Create, Delete, Document, Operation, Query, Replace, Store, Upsert
from tests.contract.conftest import SettableClock, each_done


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


# Expiry


async def test_a_batch_creates_over_expired_documents(store: Store, clock: SettableClock) -> None:
    deadline = clock.seconds() + 60
    await store.write_many("mentions", [mention(name, n=1, ttl_timestamp=deadline) for name in ("a", "b", "c")])
    clock.forward(60)
    etags = await store.batch(
        "mentions", "t", [Create(mention("a", n=2)), Upsert(mention("b", n=2)), Create(mention("new", n=2))]
    )
    assert await stored(store) == {"a": 2, "b": 2, "new": 2}
    assert etags == [await etag_of(store, name) for name in ("a", "b", "new")]


async def test_a_document_of_a_batch_expires(store: Store, clock: SettableClock) -> None:
    deadline = clock.seconds() + 60
    (etag,) = await store.batch("mentions", "t", [Create(mention("a", ttl_timestamp=deadline))])
    assert etag is not None
    clock.forward(60)
    assert await stored(store) == {}
    for operation in (Replace(mention("a"), etag), Delete("a", etag)):
        with pytest.raises(ChangedMeanwhile):
            await store.batch("mentions", "t", [operation])
    await store.batch("mentions", "t", [Create(mention("a"))])


# ETags


async def test_the_etags_of_a_batch_are_those_of_its_documents(store: Store) -> None:
    first, second = await store.batch("mentions", "t", [Create(mention("a", n=1)), Upsert(mention("b", n=1))])
    assert first is not None
    assert second is not None
    await store.replace("mentions", mention("a", n=2), first)
    (third,) = await store.batch("mentions", "t", [Replace(mention("b", n=2), second)])
    assert third is not None
    with pytest.raises(ChangedMeanwhile):
        await store.batch("mentions", "t", [Replace(mention("b", n=3), second)])
    assert await store.delete("mentions", "t", "b", third)
    assert await stored(store) == {"a": 2}


STRANGE_ETAGS = ("", "never seen", "|", "12|", "*", '"*"', "x|y", "0", "ü", "\ud800", "a\r\nb")


async def test_an_etag_that_no_store_gave_matches_nothing(store: Store, subtests: pytest.Subtests) -> None:
    await store.create("mentions", mention("a", n=1))
    for etag in STRANGE_ETAGS:
        with subtests.test(ascii(etag)):
            conditional = (Replace(mention("a", n=2), etag), Delete("a", etag))
            for operation in conditional:
                with pytest.raises(ChangedMeanwhile):
                    await store.batch("mentions", "t", [Create(mention("b")), operation])
            assert await each_done(store, "mentions", [("t", each) for each in conditional]) == [False, False]
            with pytest.raises(ChangedMeanwhile):
                await store.replace("mentions", mention("a", n=2), etag)
            with pytest.raises(ChangedMeanwhile):
                await store.delete("mentions", "t", "a", etag)
            assert await stored(store) == {"a": 1}


# Limits

BAD_BATCHES: dict[str, tuple[str, list[Any]]] = {
    "none": ("t", []),
    "another partition": ("t", [Create(mention("a")), Create(mention("b", "another"))]),
    "bad document": ("t", [Create(mention("a")), Upsert(mention("b", ttl=60))]),
    "bad partition": ("", [Delete("a")]),
}
"""Some of each kind: tests/unit/store/test_rules.py has all."""


async def test_a_batch_that_azure_would_refuse_is_refused(store: Store, subtests: pytest.Subtests) -> None:
    for case, (partition, operations) in BAD_BATCHES.items():
        with subtests.test(str(case)):
            with pytest.raises(InvalidInput):
                await store.batch("mentions", partition, operations)
            with pytest.raises(InvalidInput):
                await store.batch_many("mentions", [("u", [Create(mention("a", "u"))]), (partition, operations)])
            assert await store.count("mentions") == 0


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")  # aiohttp, over a megabyte
async def test_the_largest_batch_is_written(store: Store, clock: SettableClock) -> None:
    """With its ids and ETags the request must not exceed Cosmos's 2 MiB."""
    padding = "n" * 255
    deadline = clock.seconds() + 1_000_000
    names = [f"{padding}{n:03}" for n in range(100)]
    overhead = len(f'{{"id":"{names[0]}","tool_id":"t","ttl_timestamp":{deadline},"text":""}}')
    documents = [mention(name, ttl_timestamp=deadline, text="é" * ((20_000 - overhead) // 2)) for name in names]
    etags = await store.batch("mentions", "t", [Create(document) for document in documents])
    await store.batch(
        "mentions", "t", [Replace(document, etag or "") for document, etag in zip(documents, etags, strict=True)]
    )
    assert await store.count("mentions", partition="t") == 100
    with pytest.raises(InvalidInput):
        await store.batch("mentions", "t", [Upsert({**document, "more": 1}) for document in documents])


# Many batches, many callers


async def test_the_outcomes_of_hundreds_of_batches_are_in_the_order_of_the_batches(store: Store) -> None:
    taken = {7, 150, 299}
    await store.write_many("mentions", [mention("second", f"t{n}") for n in taken])
    outcomes = await store.batch_many(
        "mentions",
        [(f"t{n}", [Create(mention("first", f"t{n}")), Create(mention("second", f"t{n}"))]) for n in range(300)],
    )
    assert {n for n, outcome in enumerate(outcomes) if isinstance(outcome, Conflict)} == taken
    assert await store.count("mentions") == 600 - len(taken)
    assert outcomes[42] == [await etag_of(store, name, "t42") for name in ("first", "second")]


async def test_of_batches_of_one_call_that_create_one_document_one_wins(store: Store) -> None:
    outcomes = await store.batch_many(
        "mentions", [("t", [Create(mention("shared", n=n)), Create(mention(f"own {n}", n=n))]) for n in range(5)]
    )
    (winner,) = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, list)]
    assert [outcome.operation for outcome in outcomes if isinstance(outcome, Conflict)] == [0] * 4
    assert await stored(store) == {"shared": winner, f"own {winner}": winner}


async def test_calls_of_every_kind_at_once_each_get_their_own_results(
    another: Callable[[], Store], store: Store
) -> None:
    other = another()
    first = await store.create("mentions", mention("a", n=0))
    calls: list[Any] = [
        store.batch("mentions", "t", [Upsert(mention("b", n=1))]),
        store.batch("mentions", "t", []),
        store.batch("mentions", "t", [Create(mention("lost")), Replace(mention("gone"), "none")]),
        other.batch("mentions", "u", [Create(mention("a", "u")), Create(mention("b", "u"))]),
        store.create_many("mentions", [mention("a"), mention("c")]),
        store.create_many("mentions", [mention("bad", ttl=60)]),
        store.write_many("articles", [{"id": "article", "source_id": "s"}]),
        each_done(
            store,
            "mentions",
            [("t", Replace(mention("a", n=2), first["_etag"])), ("t", Replace(mention("gone"), "none"))],
        ),
        each_done(store, "mentions", [("t", Delete("gone", "none"))]),
        store.batch_many("mentions", [("v", [Create(mention("a", "v"))]), ("t", [Delete("gone")])]),
    ]
    outcomes: list[Any] = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [
        *(list, InvalidInput, ChangedMeanwhile, list, list, InvalidInput, type(None), list, list, list)
    ]
    assert outcomes[2].operation == 1
    assert outcomes[3] == [await etag_of(store, name, "u") for name in ("a", "b")]
    assert outcomes[4] == [False, True]
    assert outcomes[7] == [True, False]
    assert outcomes[8] == [False]
    assert isinstance(outcomes[9][0], list)
    assert isinstance(outcomes[9][1], ChangedMeanwhile)
    assert await stored(store) == {"a": 2, "b": 1, "c": None}
    assert await store.count("articles") == 1


async def test_a_cancelled_batch_is_done_whole_or_not_at_all(store: Store) -> None:
    for delay in (0, 0.0005, 0.002, 0.01):
        calls = [
            asyncio.create_task(
                store.batch("mentions", f"{delay}-{n}", [Create(mention(name, f"{delay}-{n}")) for name in "abc"])
            )
            for n in range(8)
        ]
        await asyncio.sleep(delay)
        for call in calls[::2]:
            call.cancel()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(outcome, list) for outcome in outcomes[1::2])
    await store.batch("mentions", "u", [Create(mention("after", "u"))])
    for delay in (0, 0.0005, 0.002, 0.01):
        for n in range(8):
            assert await store.count("mentions", partition=f"{delay}-{n}") in (0, 3)
