"""Telemetry begins with a connection string, and ends with the container."""

from __future__ import annotations

from pathlib import Path

import pytest

from services import container, telemetry
from services.container.adapters import observe_requests
from services.store.cosmos import CosmosStore
from tests.documents import NOW
from tests.exported import exported_to_memory

CONNECTION = "InstrumentationKey=00000000-0000-0000-0000-000000000000;IngestionEndpoint=http://127.0.0.1:9"
QUIET = ("APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL", "APPLICATIONINSIGHTS_CONTROLPLANE_DISABLED")


@pytest.mark.parametrize(
    ("connection", "is_on"),
    [("", False), (CONNECTION, True)],
)
async def test_telemetry_is_on_with_a_connection_string_only(
    connection: str, is_on: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in QUIET:
        monkeypatch.setenv(name, "true")
    built = await container.build(
        {
            "DATA_DIR": str(tmp_path),
            "AzureWebJobsStorage": "UseDevelopmentStorage=true",
            "APPLICATIONINSIGHTS_CONNECTION_STRING": connection,
            "TELEMETRY_SAMPLE_RATIO": "0",
        }
    )
    assert telemetry.is_on() is is_on
    await built.close()
    assert not telemetry.is_on()


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
