"""The run of one invocation of a stage."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from models.run import WORKER_DIED, JobRun, StageRun, read_run
from services.work.handling import BATCH, Handled, run_of
from services.work.rules import in_run
from tests.documents import NOW

LATER = NOW + timedelta(seconds=2)


def ended(**handled: Any) -> JobRun:
    counts = Counter(analyzed=3, mentions=4)
    return run_of("analyze_articles", "run-1", Handled(counts=counts, **{"done": 3, **handled}), NOW, LATER, "call-1")


def test_a_run_has_one_attempt_at_what_was_done_and_one_at_each_item_that_failed() -> None:
    failed = {"dedup:a": "Conflict: it was there", "dedup:b": WORKER_DIED, "dedup:c": "KeyError"}
    run = ended(failed=failed, tries={"dedup:a": 2, "dedup:b": 5})
    assert (run.status, run.progress, run.invocation_id, run.duration_ms) == ("PARTIAL", 3, "call-1", 2000)
    assert run.metrics == {"analyzed": 3, "mentions": 4, "failed": 3}
    stored = read_run(run.to_document())
    attempts = {each.subject: each for each in in_run(stored).items}
    assert (attempts[BATCH].status, attempts[BATCH].counts) == ("SUCCEEDED", {"analyzed": 3, "mentions": 4})
    assert [(each.attempt_no, each.error_type) for each in (attempts["dedup:a"], attempts["dedup:b"])] == [
        (2, "Conflict"),
        (5, WORKER_DIED),
    ]
    assert (attempts["dedup:c"].error_type, attempts["dedup:c"].articles_found) == ("KeyError", None)


@pytest.mark.parametrize(
    ("done", "failed", "status", "is_quiet"), [(3, {}, "SUCCEEDED", True), (0, {"a": "KeyError"}, "FAILED", False)]
)
def test_a_run_that_succeeded_is_quiet(done: int, failed: dict[str, str], status: str, is_quiet: bool) -> None:
    run = ended(done=done, failed=failed)
    assert isinstance(run, StageRun)
    assert (run.status, run.is_quiet, "is_quiet" in run.to_document()) == (status, is_quiet, is_quiet)
