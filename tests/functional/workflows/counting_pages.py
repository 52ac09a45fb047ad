"""A workflow of a few pages that counts how often each was done, and drivers for it on any store."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from models.run import Attempt, JobRun
from services.ports import Store
from services.work.driver import PageResult, Workflows
from services.work.runs import RunEngine

WORKFLOW = "counting"


@dataclass
class CountingPages:
    """Of `pages` pages, each of 10 items of which one fails; the last one changes a tool. `before` a page is done, a
    test may do something; `done` has the number of each page, as often as it was done."""

    pages: int = 3
    before: Callable[[int], Awaitable[None]] | None = None
    done: list[int] = field(default_factory=list)

    async def page(self, run: JobRun) -> PageResult:
        number = int((run.checkpoint or {}).get("next", 1))  # type: ignore[arg-type]
        if self.before is not None:
            await self.before(number)
        self.done.append(number)
        failed = {f"article-{number}": "odd"}
        if number < self.pages:
            return PageResult({"next": number + 1}, 10, {"articles": 10}, failed)
        return PageResult(None, 10, {"articles": 10, "removed": 2}, failed, ("tool",))


class Office:
    """Workers of one store that have the same workflow."""

    def __init__(self, store: Store, clock: Any, work: CountingPages | None = None) -> None:
        self.store = store
        self.clock = clock
        self.work = work or CountingPages()
        self._numbers = itertools.count(1)
        self.engine = RunEngine(store, clock, self._new_id)

    def worker(self, store: Store | None = None, **fields: Any) -> Workflows:
        engine = RunEngine(store or self.store, self.clock, self._new_id)
        return Workflows(engine, {WORKFLOW: self.work.page}, self.clock, **fields)

    async def run(self, run_id: str) -> JobRun:
        found = await self.engine.find(run_id)
        assert found is not None
        return found

    async def tried(self, run_id: str) -> list[tuple[str, int, str, str | None]]:
        """The attempts of a run by page and number, with what became of each."""
        attempts = await self.engine.attempts(await self.run(run_id))
        return [
            (each.subject, each.attempt_no, each.status, each.error_type)
            for each in sorted(attempts, key=lambda each: (each.subject, each.attempt_no))
        ]

    def _new_id(self) -> str:
        return f"run-{next(self._numbers)}"


def check_attempts(attempts: list[Attempt]) -> None:
    """One attempt at each page succeeded, those before it failed since a worker died, and none is without an end."""
    by_page: dict[str, list[Attempt]] = {}
    for each in sorted(attempts, key=lambda each: each.attempt_no):
        by_page.setdefault(each.subject, []).append(each)
    assert sorted(by_page) == [f"page:{number:04}" for number in range(1, len(by_page) + 1)]
    for tries in by_page.values():
        assert [each.attempt_no for each in tries] == list(range(1, len(tries) + 1))
        assert [each.status for each in tries] == ["FAILED"] * (len(tries) - 1) + ["SUCCEEDED"]
        assert {each.error_type for each in tries[:-1]} <= {"worker_died"}
