"""A call of a traced store is a span with its cost; the answer is that of the store."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from models.errors import ChangedMeanwhile, Unavailable
from services import telemetry
from services.ports import Create, Query, Store
from services.store.sqlite import SqliteStore
from services.store.traced import TracedStore
from tests.documents import NOW
from tests.exported import exported_to_memory

FEED = {"feed_id": "a", "id": "feed", "document_type": "feed"}


def test_every_method_of_the_port_is_passed_on() -> None:
    port = {name for name, _ in inspect.getmembers(Store, inspect.isfunction) if not name.startswith("_")}
    assert port <= set(vars(TracedStore))


async def test_a_call_is_a_span_with_operation_container_and_number(tmp_path: Path) -> None:
    inner = SqliteStore(tmp_path / "store.db", lambda: NOW)
    store: Store = TracedStore(inner, "sqlite")
    with exported_to_memory() as exported:
        made = await store.create("feeds", FEED)
        assert await store.read("feeds", "a", "feed") == made
        assert await store.read_many("feeds", [("a", "feed"), ("b", "feed")]) == [made, None]
        assert (await store.query("feeds", Query(partition="a"))).items == [made]
        assert await store.count("feeds") == 1
        with pytest.raises(ChangedMeanwhile):
            await store.replace("feeds", FEED, "other")
        await store.batch("feeds", "b", [Create({**FEED, "feed_id": "b"})])
        await store.ping()
        spans = exported.spans()
    await store.close()
    operations = ("create", "read", "read_many", "query", "count", "replace", "batch")
    assert {*spans} == {*(f"{each} feeds" for each in operations), "ping"}
    assert all(span.status.is_ok for span in spans.values())
    found = spans["read_many feeds"].attributes or {}
    assert (found["db.system.name"], found["db.operation.name"], found["db.collection.name"]) == (
        "sqlite",
        "read_many",
        "feeds",
    )
    assert found["db.operation.batch.size"] == 2


class Charging:
    """A store on which each ping costs 2.5 request units, and fails if told so."""

    def __init__(self, fails: bool) -> None:
        self._fails = fails

    async def ping(self) -> None:
        telemetry.charge(1.25)
        telemetry.charge(1.25)
        if self._fails:
            raise Unavailable("busy")


@pytest.mark.parametrize("fails", [False, True])
async def test_a_span_has_the_request_units_of_all_its_requests_also_if_it_fails(fails: bool) -> None:
    store = TracedStore(Charging(fails), "azure.cosmosdb")  # type: ignore[arg-type]
    with exported_to_memory() as exported:
        if fails:
            with pytest.raises(Unavailable):
                await store.ping()
        else:
            await store.ping()
        span = exported.spans()["ping"]
    assert (span.attributes or {})["toolpulse.store.request_units"] == 2.5
    assert span.status.is_ok is not fails
