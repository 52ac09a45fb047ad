"""The container observes the requests of its store."""

from __future__ import annotations

from services.container.adapters import observe_requests
from services.store.cosmos import CosmosStore
from tests.documents import NOW
from tests.exported import exported_to_memory


async def test_the_counters_of_cosmos_db_are_metrics_by_container() -> None:
    store = CosmosStore("http://127.0.0.1:9", "toolpulse", lambda: NOW, key="a2V5")
    counted = store.counters["feeds"]
    counted.operations, counted.retries, counted.throttles = 4, 2, 1
    counted.request_units, counted.waited_seconds = 12.5, 0.5
    with exported_to_memory() as exported:
        observe_requests(store)
        found = exported.metrics()
    await store.close()
    assert found == {
        name: [(value, {"container": "feeds"})]
        for name, value in {
            "toolpulse.store.requests": 4,
            "toolpulse.store.retries": 2,
            "toolpulse.store.throttles": 1,
            "toolpulse.store.request_units": 12.5,
            "toolpulse.store.wait_seconds": 0.5,
        }.items()
    }
