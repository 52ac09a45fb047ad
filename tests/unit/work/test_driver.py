"""What the attempts of a run of pages add up to, which page comes next, and the messages of runs."""

from __future__ import annotations

from typing import Any

import pytest

from models.run import Attempt
from services.work.driver import (
    changed_tools,
    next_page,
    summary,
)
from tests.documents import NOW, attempt, feed, run


def page(number: int, try_: int = 1, *, status: str = "SUCCEEDED", **fields: Any) -> Attempt:
    error = "worker_died" if status == "FAILED" else None
    fields = {"task_name": "reanalyze_tool", "error_type": error, **fields}
    return attempt(subject=f"page:{number:04}", attempt_no=try_, status=status, **fields)


def test_a_run_has_the_sums_of_its_pages_that_succeeded() -> None:
    found = summary(
        [
            page(2, progress=5, counts={"rescored": 1, "failed": 1}, errors=("b: odd",)),
            page(1, 2, progress=10, counts={"rescored": 4, "removed": 0, "failed": 2}, errors=("a: odd", "c: odd")),
            page(1, 1, status="FAILED", progress=10, counts={"rescored": 9, "failed": 9}, errors=("x: odd",)),
            page(3, status="STARTED", progress=10),
        ]
    )
    assert found == {
        "progress": 15,
        "metrics": {"rescored": 5, "removed": 0, "failed": 3},
        "errors": ("a: odd", "c: odd", "b: odd"),
    }


def test_a_run_without_pages_has_done_nothing_and_nothing_failed() -> None:
    assert summary([]) == {"progress": 0, "metrics": {"failed": 0}, "errors": ()}


def test_fifty_errors_are_kept_in_the_order_of_the_pages() -> None:
    pages = [page(number, errors=tuple(f"{number}-{n}" for n in range(30))) for number in (10, 9)]
    errors = summary(pages)["errors"]
    assert (len(errors), errors[0], errors[-1]) == (50, "9-0", "10-19")


@pytest.mark.parametrize(
    ("attempts", "subject", "number"),
    [
        ([], "page:0001", 1),
        ([page(1)], "page:0002", 1),
        ([page(1), page(2, status="FAILED")], "page:0002", 2),
        ([page(10), page(9)], "page:0011", 1),
        ([page(9999)], "page:10000", 1),
        ([page(10_000), page(9999)], "page:10001", 1),
        ([page(0)], "page:0001", 1),
        ([page(1, 3, status="FAILED"), page(1, 2, status="FAILED")], "page:0001", 4),
    ],
)
def test_the_next_attempt_is_at_the_page_after_those_that_succeeded(
    attempts: list[Attempt], subject: str, number: int
) -> None:
    following = next_page(run(), attempts, NOW)
    assert (following.task_name, following.subject, following.attempt_no) == ("reanalyze_tool", subject, number)
    assert (following.run_id, following.status, following.started_at) == (run().run_id, "STARTED", NOW)


def test_a_page_has_no_subject_that_a_feed_could_have() -> None:
    """Else it would be among the feed's history."""
    subject = next_page(run(), [], NOW).subject
    with pytest.raises(ValueError, match="letters, digits"):
        feed(feed_id=subject)


def test_the_changed_tools_are_returned_once_each_in_the_order_of_the_pages() -> None:
    pages = [page(2, tool_ids=("c", "a")), page(1, tool_ids=("a", "b"))]
    assert changed_tools(pages) == ("a", "b", "c")
