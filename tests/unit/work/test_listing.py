"""Which runs and attempts a list has."""

from datetime import timedelta
from typing import Any

import pytest

from models.errors import InvalidInput
from models.resources.runs import RunResource
from models.run import CLOSE, INGEST_FEEDS, LONG_WORKFLOWS, STAGE_WORKFLOWS, WORKFLOWS, IngestionBatch, JobRun
from models.values import format_time
from services.container.workflows import PAGES
from services.documents import life_cycle
from services.figures import refresh
from services.ports import Store
from services.store.containers import RUNS
from services.work import rules
from services.work.listing import attempt_filter, history, page_of_runs, run_filter
from tests.documents import NOW, attempt, ingestion_batch, run


def at(minutes: int) -> str:
    return format_time(NOW + timedelta(minutes=minutes))


def batch(number: int, status: Any = "SUCCEEDED", **counts: int) -> IngestionBatch:
    """A run of one attempt, which begins after so many minutes."""
    began, error = NOW + timedelta(minutes=number), "timeout" if status == "FAILED" else None
    queued = JobRun.queued(INGEST_FEEDS, f"r{number}", began).begun(None, began)
    one = attempt(run_id=f"r{number}", subject="feed", started_at=began, status=status, error_type=error, **counts)
    ended = rules.closed(rules.with_attempts(queued, [one]), [one], rules.ingestion_summary, began)
    assert isinstance(ended, IngestionBatch)
    return ended


@pytest.mark.parametrize(
    ("status", "counts", "is_quiet"),
    [
        ("SUCCEEDED", {}, True),
        ("FAILED", {}, False),
        ("SUCCEEDED", {"articles_stored": 1, "articles_new": 1}, False),
        ("SUCCEEDED", {"articles_found": 9, "collisions_detected": 1}, False),
        ("SUCCEEDED", {"articles_new": 1}, False),
        ("SUCCEEDED", {"articles_held": 1}, False),
        ("SUCCEEDED", {"articles_skipped": 1}, False),
    ],
)
def test_a_run_is_quiet_if_it_succeeded_and_nothing_new_came(status: str, counts: Any, is_quiet: bool) -> None:
    found = batch(1, status, **counts)
    assert found.is_quiet is is_quiet
    assert found.to_document().get("is_quiet") == (True if is_quiet else None)
    assert RunResource.of(found).shown()["is_quiet"] is is_quiet
    assert IngestionBatch.from_document(found.to_document()) == found


def test_a_run_under_way_is_not_quiet() -> None:
    assert not ingestion_batch(status="RUNNING", ended_at=None, metrics=None).is_quiet
    assert not ingestion_batch(metrics=None).is_quiet


@pytest.fixture
async def stocked(store: Store) -> Store:
    merge = run(run_id="r4", workflow_name="merge_tool", subject="tool", started_at=NOW + timedelta(minutes=4))
    analysis = JobRun.queued("analyze_articles", "r5", NOW + timedelta(minutes=5)).begun(None, NOW)
    runs = [batch(0), batch(1, "FAILED"), batch(2, articles_new=1, articles_stored=1), batch(3), merge]
    runs.append(analysis.ended("SUCCEEDED", NOW))
    await store.create_many(RUNS.name, [each.to_document() for each in runs])
    return store


async def listed(store: Store, given: dict[str, str], *, quiet: bool = False) -> str:
    found, after = [], None
    while True:
        page = await page_of_runs(store, 2, after, run_filter(given), with_quiet=quiet)
        found += [each.run_id for each in page.items]
        after = page.next
        if after is None:
            return " ".join(found)


async def test_runs_are_listed_by_filter_newest_first(stocked: Store) -> None:
    assert await listed(stocked, {}) == "r4 r2 r1"
    assert await listed(stocked, {}, quiet=True) == "r5 r4 r3 r2 r1 r0"
    assert await listed(stocked, {"workflow": "merge_tool"}) == "r4"
    assert await listed(stocked, {"workflow": "analyze_articles"}) == "r5"
    assert await listed(stocked, {"status": "FAILED"}) == "r1"
    assert await listed(stocked, {"subject": "tool"}) == "r4"
    assert await listed(stocked, {"feed": "feed"}) == "r2 r1"
    assert await listed(stocked, {"feed": "other"}, quiet=True) == ""
    assert await listed(stocked, {"since": at(1), "until": at(3)}, quiet=True) == "r2 r1"
    assert await listed(stocked, {"subject": "tool", "since": at(5)}) == ""


async def attempts(store: Store, given: dict[str, str], limit: int) -> str:
    found, after = [], None
    while True:
        page = await history(store, "feed", limit, after, attempt_filter(given))
        found += [each.run_id for each in page.items]
        after = page.next
        if after is None:
            return " ".join(found)


@pytest.mark.parametrize("limit", [1, 2, 100])
async def test_attempts_at_a_feed_are_listed_by_filter(stocked: Store, limit: int) -> None:
    assert await attempts(stocked, {}, limit) == "r3 r2 r1 r0"
    assert await attempts(stocked, {"status": "FAILED"}, limit) == "r1"
    assert await attempts(stocked, {"status": "SUCCEEDED", "since": at(0), "until": at(3)}, limit) == "r2 r0"
    assert await attempts(stocked, {"until": at(0)}, limit) == ""
    assert await attempts(stocked, {"status": "STARTED"}, limit) == ""


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"subject": ""}, "subject"),
        ({"feed": "a/b"}, "feed"),
        ({"since": "yesterday"}, "since"),
        ({"since": at(1), "until": at(1)}, "until"),
    ],
)
def test_a_wrong_filter_is_refused_by_its_name(given: dict[str, str], field: str) -> None:
    readers: list[Any] = [run_filter]
    if given.keys() <= {"since", "until"}:
        readers.append(attempt_filter)
    for read in readers:
        with pytest.raises(InvalidInput) as refused:
            read(given)
        assert refused.value.field == field


def test_every_workflow_can_be_asked_for_and_the_long_ones_are_carried_out() -> None:
    others = {life_cycle.WORKFLOW, refresh.WORKFLOW, INGEST_FEEDS, CLOSE}
    assert {*others, *STAGE_WORKFLOWS, *LONG_WORKFLOWS} == set(WORKFLOWS)
    assert PAGES.keys() == set(LONG_WORKFLOWS)
