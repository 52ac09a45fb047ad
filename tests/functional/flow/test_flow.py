"""The whole app under pressure: four workers on a Cosmos DB server that refuses what exceeds a limit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.feeds.claims import TICK_SECONDS
from tests.contract import cosmos_server
from tests.contract.cosmos_server import CosmosServer
from tests.functional.flow.scenario import Report, Scenario, playing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.soak,
    pytest.mark.skipif(not cosmos_server.available(), reason="needs the Cosmos DB server of tests/cosmos_server"),
]
WORKERS = 4
FEEDS, ENTRIES = 24, 8
DUE_IN_A_TICK = 120
LIMIT = 500.0
FUNCTION_TIMEOUT = 40.0
FEW = 4


@pytest.fixture(scope="module")
def server() -> Iterator[CosmosServer]:
    with cosmos_server.running() as server:
        yield server


def nothing_went_wrong(report: Report, scenario: Scenario) -> None:
    """A message may be delivered again: an invocation that waits for the store until its deadline puts it back.
    How many do depends on the machine, so the bound is a share."""
    assert report.is_idle
    assert report.invocations.timed_out == {}
    assert scenario.app.queues.poison == {}
    assert [each for each in report.invocations.failed if "Unavailable" not in each] == []
    assert report.invocations.failed.total() <= max(FEW, report.invocations.done.total() // 10)


async def all_is_counted(scenario: Scenario, articles: int) -> None:
    """Nothing is lost or doubled on the way from the feeds to the figures: each article has one mention."""
    scenario.proxy.limit = None
    assert await scenario.articles() == articles
    assert await scenario.articles("analyzed") == articles
    assert await scenario.mentions() == articles
    assert await scenario.figures() == articles
    assert await scenario.differences() == []


async def test_a_first_import_that_needs_far_more_than_the_limit_is_slow_and_complete(
    server: CosmosServer, tmp_path: Path
) -> None:
    """The work takes longer than one invocation may. One story is in all feeds, and becomes one article."""
    async with playing(server, tmp_path, "import", workers=WORKERS, function_timeout=FUNCTION_TIMEOUT) as scenario:
        await scenario.add(FEEDS, ENTRIES, story="Widget1x was bought by its greatest competitor")
        scenario.proxy.limit = LIMIT
        report = await scenario.import_all(within=400)
        nothing_went_wrong(report, scenario)
        assert sum(report.spent.refused.values()) > 0
        assert report.seconds > FUNCTION_TIMEOUT
        await all_is_counted(scenario, FEEDS * ENTRIES + 1)


async def test_in_a_steady_state_the_load_is_even(server: CosmosServer, tmp_path: Path) -> None:
    """As many feeds as 2,000 feeds have due in a tick: the busiest second costs at most three times the average."""
    async with playing(server, tmp_path, "steady", workers=WORKERS, function_timeout=FUNCTION_TIMEOUT) as scenario:
        await scenario.add(DUE_IN_A_TICK, 1)
        nothing_went_wrong(await scenario.tick(within=400), scenario)
        # Other work on the machine can only make a second busier.
        for _ in range(3):
            report = await scenario.steady(within=400, every=20)
            nothing_went_wrong(report, scenario)
            assert report.invocations.failed == {}
            if report.peak(TICK_SECONDS) <= 3.0:
                break
        assert report.peak(TICK_SECONDS) <= 3.0
        await all_is_counted(scenario, DUE_IN_A_TICK + scenario.ticks * len(range(0, DUE_IN_A_TICK, 21)))
