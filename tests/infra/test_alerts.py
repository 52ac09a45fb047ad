"""Alerts count on what the app really says, and never sooner than it can say it."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from services.operations.checks import PATIENCE
from services.store.sqlite import SqliteStore
from services.topology import CLEAN_UP, QUEUES, REFRESH_SENTIMENT_CACHE, TIMERS
from tests.functional.articles.world import SettableClock, World
from tests.hosting import running_host
from tests.infra.bicep import Bicep

BICEP = Path(__file__).resolve().parents[2] / "infra" / "bicep"
AZURE_WINDOWS = (15, 30, 45, 60, 120, 180, 240, 300, 360, 1440)


@pytest.fixture(scope="module")
def alerts() -> Bicep:
    return Bicep(BICEP / "modules" / "alerts.bicep")


def rules(alerts: Bicep) -> dict[str, str]:
    """The query of each alert, by its name."""
    variables = alerts.all("variable")
    own = [*variables["important"].body, *variables["minor"].body, variables["timerAlerts"].body]
    return {each["name"]: each["query"] for each in own}


def minutes_back(query: str) -> int:
    found = re.search(r"timestamp > ago\((\d+)m\)", query)
    assert found
    return int(found[1])


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def logged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """The lines that the timers write, by their event."""
    data = tmp_path_factory.mktemp("data")
    async with running_host(data=data, settings={"DATA_DIR": str(data)}) as host:
        async with aiohttp.ClientSession(host.url) as session:
            for timer in (CLEAN_UP, REFRESH_SENTIMENT_CACHE, CLEAN_UP):
                async with session.post(f"/admin/functions/{timer.name}?wait=1", json={}) as answer:
                    assert answer.status == 200
        await host.stop()
        printed = host.printed()
    found: dict[str, list[dict[str, Any]]] = {}
    for line in map(json.loads, printed.splitlines()):
        found.setdefault(line.get("event", ""), []).append(line)
    return found


@pytest.mark.parametrize(
    ("variable", "event"),
    [
        ("queueDepths", "queue_depth"),
        ("refreshAges", "refresh_age"),
        ("backlogs", "backlog"),
        ("waitingReviews", "reviews_waiting"),
        ("refreshes", "cache_refreshed"),
    ],
)
def test_each_query_reads_a_line_that_a_timer_writes(
    alerts: Bicep, logged: dict[str, list[dict[str, Any]]], variable: str, event: str
) -> None:
    query = alerts.all("variable")[variable].body
    assert f"== '{event}'" in query
    assert set(re.findall(r"line\.(\w+)", query)) <= logged[event][-1].keys()


def test_the_lines_have_each_queue_the_age_of_the_refresh_and_its_status(
    alerts: Bicep, logged: dict[str, list[dict[str, Any]]]
) -> None:
    assert {each["queue"] for each in logged["queue_depth"]} == set(QUEUES)
    before, after = logged["refresh_age"]
    assert before["seconds"] is None
    assert after["seconds"] >= 0
    assert logged["cache_refreshed"][-1]["status"] == "SUCCEEDED"
    assert 'status != "SUCCEEDED"' in rules(alerts)["refresh-failed"]
    back = minutes_back(alerts.all("variable")["refreshes"].body)
    assert timedelta(minutes=back) >= 2 * REFRESH_SENTIMENT_CACHE.every


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("poison-messages", "queueDepths"),
        ("queue-depths-unknown", "queueDepths"),
        ("aggregates-old", "refreshAges"),
        ("backlog-old", "backlogs"),
        ("articles-failed", "backlogs"),
        ("review-waits", "waitingReviews"),
    ],
)
def test_alerts_on_the_log_of_clean_up_look_back_over_two_of_its_runs(alerts: Bicep, name: str, lines: str) -> None:
    assert timedelta(minutes=minutes_back(alerts.all("variable")[lines].body)) >= 2 * CLEAN_UP.every
    assert rules(alerts)[name].startswith(f"${{{lines}}}")


def test_the_alert_on_reviews_is_as_patient_as_health(alerts: Bicep) -> None:
    batch, document = (int(PATIENCE[kind].total_seconds()) for kind in ("BATCH", "DOCUMENT"))
    assert rules(alerts)["review-waits"].endswith(f'seconds > iff(kind == "BATCH", {batch}, {document})')


async def test_the_query_for_disabled_feeds_reads_the_line_that_ingestion_writes(
    alerts: Bicep, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = SettableClock()
    store = SqliteStore(tmp_path / "store.db", clock)
    await store.ensure_containers()
    world = World(store, clock)
    await world.add_feed("gone")
    world.shelf.pages.clear()
    await world.poll("gone")
    await store.close()
    (line,) = [json.loads(each) for each in caplog.messages if "feed_disabled" in each]
    query = alerts.all("variable")["disabledFeeds"].body
    assert f"== '{line['event']}'" in query
    assert set(re.findall(r"line\.(\w+)", query)) <= line.keys()
    assert rules(alerts)["feed-disabled"] == "disabledFeeds"


def test_aggregates_are_called_old_after_two_refreshes_that_did_not_end(alerts: Bicep) -> None:
    seconds = int(rules(alerts)["aggregates-old"].rpartition("seconds > ")[2])
    assert timedelta(seconds=seconds) >= 3 * REFRESH_SENTIMENT_CACHE.every


def test_every_timer_has_an_alert_for_its_silence_after_two_runs_at_least() -> None:
    watched = {
        each["name"]: each["silentAfterMinutes"] for each in json.loads((BICEP / "topology.json").read_text())["timers"]
    }
    assert watched.keys() == {timer.name for timer in TIMERS}
    for timer in TIMERS:
        assert timedelta(minutes=watched[timer.name]) > 2 * timer.every


def test_the_window_of_the_rules_holds_all_that_their_queries_look_back_over(alerts: Bicep) -> None:
    (logs,) = alerts.resources("Microsoft.Insights/scheduledQueryRules")
    window = int(logs.body["properties"]["windowSize"].removeprefix("PT").removesuffix("M"))
    topology = json.loads((BICEP / "topology.json").read_text())
    back = [int(each) for each in re.findall(r"ago\((\d+)m\)", alerts.path.read_text())]
    assert window in AZURE_WINDOWS
    assert max(back + [each["silentAfterMinutes"] for each in topology["timers"]]) <= window


def test_an_alert_is_called_by_its_name_and_that_of_a_queue_by_the_queue_too(alerts: Bicep) -> None:
    variables = alerts.all("variable")
    named = {each["name"]: each["of"] for each in variables["important"].body}
    assert [name for name, of in named.items() if of] == ["poison-messages"]
    assert named["poison-messages"] == ', " ", queue'
    assert 'strcat("${each.name}"${each.of})' in alerts.path.read_text()


def test_every_alert_is_explained_in_the_operations_page(alerts: Bicep) -> None:
    names = ["web-unreachable", *(name.split("${")[0] for name in rules(alerts))]
    metrics = alerts.resources("Microsoft.Insights/metricAlerts")
    names += [each.body["name"].removeprefix("${appName}-") for each in metrics]
    text = (BICEP.parents[1] / "docs" / "operations.md").read_text()
    assert [name for name in names if f"`{name}" not in text] == []
