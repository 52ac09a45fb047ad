"""The requests to Cosmos DB, added up over workers by minute."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from models.operations import StoreLoad, StoreTotals
from services.operations.traffic import LOOKED_BACK_MINUTES, MIN_UNITS, Load, StoreTraffic, sums_of
from services.store.cosmos_connection import Counters
from services.store.counting import add_counts
from services.store.sqlite import SqliteStore
from tests.builders import NOON, Watch, existing


def test_the_rules_are_those_of_the_documentation() -> None:
    assert (LOOKED_BACK_MINUTES, MIN_UNITS) == (5, 100)


def test_the_counters_of_all_containers_are_added_up() -> None:
    each = Counters(operations=3, retries=1, throttles=2, request_units=10.6, waited_seconds=0.25)
    assert sums_of([each, each]) == {
        "requests": 6,
        "retries": 2,
        "throttles": 4,
        "request_units": 20,
        "waited_milliseconds": 500,
    }


async def test_the_load_of_all_workers_in_the_last_five_minutes_is_that_of_these_minutes(store: SqliteStore) -> None:
    watch = Watch()
    watch.now = NOON - timedelta(minutes=2)
    workers = [Counters(), Counters()]
    traffics = [StoreTraffic(store, watch, {"articles": own}) for own in workers]

    async def flush() -> None:
        for traffic in traffics:
            for seed, amounts in traffic.take():
                await add_counts(store, seed, amounts)

    for own in workers:
        own.operations, own.throttles, own.request_units, own.waited_seconds = 50, 5, 100.0, 1.0
    await flush()
    await flush()
    watch.advance(minutes=2)
    workers[0].operations, workers[0].throttles, workers[0].request_units = 60, 6, 200.0
    await flush()
    assert [await traffic.recent() for traffic in traffics] == [Load(110, 11, 2.0)] * 2
    watch.advance(minutes=2)
    assert await traffics[0].recent() == Load(110, 11, 2.0)
    watch.advance(minutes=1)
    assert await traffics[0].recent() == Load(10, 1, 0.0)
    totals = await existing(store, "catalog", StoreTotals.PARTITION, StoreTotals.ID)
    assert (totals["requests"], totals["request_units"], totals["throttles"]) == (110, 300, 11)


async def test_little_is_added_with_what_comes_later_so_that_an_idle_worker_writes_nothing(store: SqliteStore) -> None:
    own = Counters(operations=9, request_units=99.9)
    traffic = StoreTraffic(store, Watch(), {"articles": own})
    assert list(traffic.take()) == []
    own.request_units = 100.0
    (_, totals), (load, minute) = traffic.take()
    assert totals["requests"] == 9
    assert isinstance(load, StoreLoad)
    assert minute == Counter({"requests_00": 9})


async def test_the_embedded_store_has_no_load(store: SqliteStore) -> None:
    traffic = StoreTraffic(store, Watch())
    assert list(traffic.take()) == []
    assert await traffic.recent() is None
