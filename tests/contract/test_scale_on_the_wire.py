"""The model of docs/scaling.md is what the same steps cost on the wire of a Cosmos DB server."""

from pathlib import Path

import pytest

from benchmarks.scale import report
from benchmarks.scale.counting import Operation
from benchmarks.scale.steps import measured
from services.ports import Clock
from services.store.cosmos import CosmosStore
from tests.contract.charged_requests import Request
from tests.contract.conftest import SettableClock, ensured
from tests.contract.cosmos_server import CosmosServer
from tests.contract.limited_proxy import LimitedProxy

TOLERANCE = 0.08
STEPS = (
    "poll a feed: 304",
    "poll a feed: the same body",
    "poll a feed: 3 new articles",
    "poll a feed: an article that another feed had",
    "analyse an article that names 0 tools",
    "analyse an article that names 1 tools",
    "analyse an article that names 3 tools",
    "refresh of all: the batches of 50 tools, nothing new",
    "recount an hour of 220 mentions, after 768 hours",
)


class _OnTheWire(CosmosStore):
    """Lists what the proxy has charged."""

    def __init__(self, proxy: LimitedProxy, server: CosmosServer, clock: Clock) -> None:
        super().__init__(proxy.endpoint, "scale", clock, key=server.key)
        self.operations: list[Operation] = []
        proxy.observe = self._observe
        proxy.charges.now = lambda: clock().timestamp()

    def _observe(self, request: Request, units: float) -> None:
        self.operations.append(Operation(request.kind, request.container, request.partition, 0, units))


@pytest.mark.slow
async def test_each_main_step_costs_on_the_wire_what_the_model_says(cosmos: CosmosServer, tmp_path: Path) -> None:
    first = CosmosStore(cosmos.endpoint, "scale", SettableClock(), key=cosmos.key)
    await ensured(first, cosmos.endpoint, "scale")
    await first.close()
    async with LimitedProxy(cosmos.endpoint).serving() as proxy:
        wire = await measured(tmp_path, lambda clock: _OnTheWire(proxy, cosmos, clock), with_grouping=False)
    model = report.recorded()
    found = {name: (round(wire[name].units, 1), model[name].units) for name in STEPS}
    assert {name: both for name, both in found.items() if both[0] != pytest.approx(both[1], rel=TOLERANCE)} == {}
