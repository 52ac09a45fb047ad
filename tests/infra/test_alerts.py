"""Alerts count on what the app really says, and never sooner than it can say it."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from scripts.bicep_data import WINDOWS_MINUTES
from services.logs import ROUTINE
from services.operations.checks import PATIENCE
from services.store.sqlite import SqliteStore
from services.topology import CLEAN_UP, QUEUES, REFRESH_SENTIMENT_CACHE, TIMERS
from tests.functional.articles.world import SettableClock, World
from tests.hosting import running_host
from tests.infra.bicep import Bicep

BICEP = Path(__file__).resolve().parents[2] / "infra" / "bicep"


@pytest.fixture(scope="module")
def alerts() -> Bicep:
    return Bicep(BICEP / "modules" / "alerts.bicep")


def rule(alerts: Bicep, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in alerts.all("variable")["ownRules"].body if each["name"] == name)
    return found


def minutes(window: str) -> int:
    found = re.fullmatch(r"PT(\d+)M", window)
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
    assert 'status != "SUCCEEDED"' in rule(alerts, "refresh-failed")["query"]
    assert timedelta(minutes=minutes(rule(alerts, "refresh-failed")["window"])) >= 2 * REFRESH_SENTIMENT_CACHE.every


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
    assert timedelta(minutes=minutes(rule(alerts, name)["window"])) >= 2 * CLEAN_UP.every
    assert rule(alerts, name)["query"].startswith(f"${{{lines}}}")


@pytest.mark.parametrize("name", ["backlog-old", "articles-failed"])
def test_alerts_of_the_backlog_filter_as_their_threshold_says(alerts: Bicep, name: str) -> None:
    found = rule(alerts, name)
    assert found["query"].endswith(f"{found['column']} > {found['threshold']}")


def test_the_alert_on_reviews_is_as_patient_as_health(alerts: Bicep) -> None:
    waits = rule(alerts, "review-waits")
    batch, document = (int(PATIENCE[kind].total_seconds()) for kind in ("BATCH", "DOCUMENT"))
    assert waits["query"].endswith(f'seconds > iff(kind == "BATCH", {batch}, {document})')
    assert waits["threshold"] == batch


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
    assert rule(alerts, "feed-disabled")["query"].startswith("${disabledFeeds}")


def test_aggregates_are_called_old_after_two_refreshes_that_did_not_end(alerts: Bicep) -> None:
    too_old = rule(alerts, "aggregates-old")
    assert too_old["query"].endswith(f"seconds > {too_old['threshold']}")
    assert timedelta(seconds=too_old["threshold"]) >= 3 * REFRESH_SENTIMENT_CACHE.every


def test_every_timer_has_an_alert_for_its_silence_after_two_runs_at_least() -> None:
    watched = {
        each["name"]: each["silentAfter"] for each in json.loads((BICEP / "topology.json").read_text())["timers"]
    }
    assert watched.keys() == {timer.name for timer in TIMERS}
    for timer in TIMERS:
        assert timedelta(minutes=minutes(watched[timer.name])) > 2 * timer.every


def test_no_alert_counts_a_line_of_which_only_a_share_is_logged(alerts: Bicep) -> None:
    text = alerts.path.read_text() + (BICEP / "workbook.json").read_text()
    assert [event for event in ROUTINE if event in text] == []


def test_log_alerts_look_at_windows_that_azure_offers(alerts: Bicep) -> None:
    windows = [each["window"] for each in alerts.all("variable")["ownRules"].body]
    assert {minutes(window) for window in windows} <= set(WINDOWS_MINUTES)


def test_every_alert_is_explained_in_the_operations_page(alerts: Bicep) -> None:
    names = [each["name"] for each in alerts.all("variable")["ownRules"].body]
    names.append(alerts.all("variable")["timerRules"].body["name"].split("${")[0])
    metrics = alerts.resources("Microsoft.Insights/metricAlerts")
    names += [each.body["name"].removeprefix("${appName}-") for each in metrics]
    text = (BICEP.parents[1] / "docs" / "operations.md").read_text()
    assert [name for name in names if f"`{name}" not in text] == []
