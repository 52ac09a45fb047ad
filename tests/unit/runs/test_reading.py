"""Runs and attempts, newest first, each where it belongs."""

from datetime import timedelta

import pytest

from models.errors import NotFound
from services.runs.reading import Runs
from services.store.sqlite import SqliteStore
from tests.documents import NOW, attempt, ingestion_batch, run
from tests.unit.conftest import Put


@pytest.fixture
def runs(store: SqliteStore) -> Runs:
    return Runs(store)


async def test_runs_are_listed_newest_first_without_their_attempts(runs: Runs, put: Put) -> None:
    for n in range(5):
        at = NOW + timedelta(minutes=n)
        await put(
            run(run_id=f"r{n}", started_at=at),
            *(attempt(run_id=f"r{n}", subject=f"f{m}", started_at=at) for m in range(3)),
        )
    first = await runs.page(3, None)
    rest = await runs.page(3, first.next)
    assert [each.run_id for each in first.items + rest.items] == ["r4", "r3", "r2", "r1", "r0"]
    assert rest.next is None


async def test_a_run_has_its_attempts_in_order_and_a_batch_its_specified_names(runs: Runs, put: Put) -> None:
    await put(
        ingestion_batch(run_id="r"),
        attempt(run_id="r", subject="b", attempt_no=2, started_at=NOW + timedelta(seconds=5)),
        attempt(run_id="r", subject="b"),
        attempt(run_id="r", subject="a"),
        attempt(run_id="other"),
    )
    found = await runs.get("r")
    attempts = (await runs.attempts(found)).items
    assert [(each.subject, each.attempt_no) for each in attempts] == [("a", 1), ("b", 1), ("b", 2)]
    fields = found.shown()
    assert (fields["batch_id"], fields["completed_at"]) == ("r", "2026-02-21T20:00:02Z")
    assert fields["metrics"]["collision_rate"] == 0.2


async def test_a_feeds_history_is_its_attempts_over_all_runs_newest_first(runs: Runs, put: Put) -> None:
    for n in range(5):
        at = NOW + timedelta(minutes=n)
        await put(
            run(run_id=f"r{n}", subject="a", started_at=at),
            attempt(run_id=f"r{n}", subject="a", started_at=at),
            attempt(run_id=f"r{n}", subject="b", started_at=at),
        )
    first = await runs.history("a", 2, None)
    second = await runs.history("a", 2, first.next)
    third = await runs.history("a", 2, second.next)
    assert [each.run_id for each in first.items + second.items + third.items] == ["r4", "r3", "r2", "r1", "r0"]
    assert third.next is None


@pytest.mark.parametrize("run_id", ["nobody", "", "x" * 3000, "a/b"])
async def test_no_such_run_is_not_found(runs: Runs, run_id: str) -> None:
    with pytest.raises(NotFound):
        await runs.get(run_id)
