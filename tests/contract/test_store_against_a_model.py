"""Any sequence of calls leaves a store as it leaves a plain dict."""

import asyncio
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import ChangedMeanwhile, Conflict
from services.ports import Create, Delete, Document, Operation, Query, Replace, Store, Upsert, Where
from tests.contract.conftest import SettableClock

TOOLS = st.sampled_from(["a", "b", "ü"])
NAMES = st.sampled_from(["1", "2", "3"])
# Characters of one width in UTF-16: beyond them stores sort by different rules.
TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=0xD7FF), max_size=5)
TIMES = st.sampled_from([None, "2026-02-21T20:00:00Z", "2026-02-21T20:00:01Z", "2026-02-21T20:00:02Z"])
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "created_at": TIMES,
        "n": st.integers(-5, 5)
        | st.floats(-5, 5).map(lambda value: round(value, 3))
        | st.booleans()
        | st.none()
        | TEXT,
        "tags": st.lists(TEXT | st.integers(0, 3), max_size=3),
        "deep": st.recursive(
            st.none() | TEXT, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=4
        ),
        "lifetime": st.sampled_from([None, 1, 5]),
    },
)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["create", "upsert", "replace", "stale"]), NAMES, FIELDS),
        st.tuples(st.sampled_from(["delete", "delete if", "delete stale"]), NAMES, st.none()),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda operation: operation[1],
)
STEPS = st.one_of(
    st.tuples(st.just("batch"), TOOLS, st.just(""), OPERATIONS),
    st.tuples(st.sampled_from(["create", "upsert", "replace", "stale"]), TOOLS, NAMES, FIELDS),
    st.tuples(st.sampled_from(["delete", "delete if"]), TOOLS, NAMES, st.none()),
    st.tuples(st.just("wait"), TOOLS, NAMES, st.integers(1, 3)),
)


class Model:
    """The store as a dict: (partition, id) to document."""

    def __init__(self, clock: SettableClock) -> None:
        self.clock = clock
        self.documents: dict[tuple[str, str], Document] = {}

    def alive(self) -> dict[tuple[str, str], Document]:
        now = self.clock.seconds()
        return {
            key: document
            for key, document in self.documents.items()
            if document.get("ttl_timestamp") is None or document["ttl_timestamp"] > now
        }


def document_of(tool: str, name: str, fields: dict[str, Any], now: int) -> Document:
    document = {"id": name, "pk": tool, **fields}
    lifetime = document.pop("lifetime", None)
    return document if lifetime is None else {**document, "ttl_timestamp": now + lifetime}


def plain(document: Document) -> Document:
    return {name: value for name, value in document.items() if name not in ("_etag", "_ts")}


async def take(step: tuple[str, str, str, Any], store: Store, model: Model, etags: dict[tuple[str, str], str]) -> None:
    what, tool, name, given_value = step
    if what == "batch":
        await batch(tool, given_value, store, model)
        return
    key, there, now = (tool, name), (tool, name) in model.alive(), model.clock.seconds()
    held = await store.read("quarantine", *key)
    assert (held is not None) == there
    etag = held["_etag"] if held is not None else "none"
    if held is not None:
        etags[key] = etag
    if what == "wait":
        model.clock.forward(given_value)
    elif what.startswith("delete"):
        deleted = await store.delete("quarantine", *key, etag if what == "delete if" else None)
        assert deleted is there or key in model.documents
        model.documents.pop(key, None)
    else:
        document = document_of(tool, name, given_value, now)
        try:
            if what == "create":
                await store.create("quarantine", document)
            elif what == "upsert":
                await store.upsert("quarantine", document)
            else:
                await store.replace("quarantine", document, etag if what == "replace" else etags.get(key, "") + "0")
        except Conflict:
            assert what == "create"
            assert there
        except ChangedMeanwhile:
            assert what == "stale" or not there
        else:
            assert what == "upsert" or there == (what == "replace")
            model.documents[key] = document


async def batch(tool: str, wanted: list[tuple[str, str, Any]], store: Store, model: Model) -> None:
    """The model does the operations one by one on a copy, which it keeps if none fails."""
    now, alive, documents = model.clock.seconds(), model.alive(), dict(model.documents)
    operations: list[Operation] = []
    failed: list[int] = []
    for index, (asked, name, fields) in enumerate(wanted):
        key, there = (tool, name), (tool, name) in alive
        is_expired = key in documents and not there
        what = "delete if" if is_expired and asked == "delete" else asked  # a store may delete what has expired
        document = document_of(tool, name, fields or {}, now)
        held = await store.read("quarantine", *key)
        etag = "none" if held is None else held["_etag"]
        if what in ("create", "upsert"):
            operations.append(Create(document) if what == "create" else Upsert(document))
            fails = what == "create" and there
        elif what in ("replace", "stale"):
            operations.append(Replace(document, etag if what == "replace" else etag + "0"))
            fails = what == "stale" or not there
        else:
            operations.append(Delete(name, {"delete": None, "delete if": etag, "delete stale": etag + "0"}[what]))
            fails = what == "delete stale" or not there
        failed += [index] * fails
        if what.startswith("delete"):
            documents.pop(key, None)
        else:
            documents[key] = document
    (outcome,) = await store.batch_many("quarantine", [(tool, operations)])
    if isinstance(outcome, list):
        assert failed == []
        assert [etag is None for etag in outcome] == [isinstance(operation, Delete) for operation in operations]
        model.documents = documents
    else:
        assert outcome.operation == failed[0]
        assert isinstance(outcome, Conflict) == isinstance(operations[failed[0]], Create)


async def all_pages(store: Store, query: dict[str, Any], limit: int) -> list[Document]:
    found: list[Document] = []
    after = None
    while True:
        page = await store.query("quarantine", Query(**query, limit=limit, after=after))
        found += [plain(item) for item in page.items]
        if page.next is None:
            return found
        after = page.next


async def compare(store: Store, model: Model, limit: int, number: int) -> None:
    alive = model.alive()
    for key in {(tool, name) for tool in ("a", "b", "ü") for name in ("1", "2", "3")}:
        held = await store.read("quarantine", *key)
        assert (held and plain(held)) == alive.get(key)
    everything = [alive[key] for key in sorted(alive)]
    dated = sorted(
        (document for document in everything if document.get("created_at")),
        key=lambda document: (document["created_at"], document["pk"], document["id"]),
    )
    for reverse in (False, True):
        way = -1 if reverse else 1
        assert await all_pages(store, {"reverse": reverse}, limit) == everything[::way]
        assert await all_pages(store, {"reverse": reverse, "order": "by_created"}, limit) == dated[::way]
        within = [document for document in dated if document["pk"] == "a"]
        query = {"reverse": reverse, "order": "by_created", "partition": "a"}
        assert await all_pages(store, query, limit) == within[::way]
    larger = [
        document
        for document in everything
        if isinstance(document.get("n"), int | float) and not isinstance(document["n"], bool) and document["n"] > number
    ]
    assert await all_pages(store, {"where": (Where("n", "gt", number),)}, limit) == larger
    assert await store.count("quarantine", (Where("n", "gt", number),)) == len(larger)


async def run(make: Callable[[], Store], clock: SettableClock, steps: Any, limit: int, number: int) -> None:
    store = make()
    try:
        left = (await store.query("quarantine", Query(limit=1000))).items
        for document in left:
            await store.delete("quarantine", document["pk"], document["id"])
        model, etags = Model(clock), dict[tuple[str, str], str]()
        for step in steps:
            await take(step, store, model, etags)
        await compare(store, model, limit, number)
    finally:
        await store.close()


def test_a_store_behaves_like_a_dict(
    kind: str, store: Store, another: Callable[[], Store], clock: SettableClock
) -> None:
    with asyncio.Runner() as runner:

        @settings(max_examples=60 if kind == "sqlite" else 15, database=None)
        @given(steps=st.lists(STEPS, max_size=12), limit=st.integers(1, 4), number=st.integers(-5, 5))
        def check(steps: Any, limit: int, number: int) -> None:
            runner.run(run(another, clock, steps, limit, number))

        check()
