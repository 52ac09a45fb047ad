"""Reading runs with their attempts, and the history of one feed. services/runs/engine.py writes them."""

from __future__ import annotations

import dataclasses

from models.errors import InvalidInput, NotFound
from models.run import Attempt, JobRun, read_run
from services.ports import Document, Listed, Page, Query, Store, Where, listed
from services.store.containers import RUNS

_PAGE = 500
_ATTEMPTS = Where("entity_type", "eq", "Attempt")


class Runs:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def page(self, limit: int, after: str | None) -> Listed[JobRun]:
        """Newest first."""
        query = Query((Where("id", "eq", JobRun.ID),), order="by_start", reverse=True, limit=limit, after=after)
        page = await self._store.query(RUNS.name, query)
        return listed(page, read_run, "run_id")

    async def get(self, run_id: str) -> JobRun:
        try:
            document = await self._store.read(RUNS.name, run_id, JobRun.ID)
        except InvalidInput:  # no store would take such an id
            document = None
        if document is None:
            raise NotFound(f"run: there is none with the id {run_id!r}; runs are kept for 14 days")
        return read_run(document)

    async def attempts(self, run: JobRun) -> Listed[Attempt]:
        """In the order of their start."""
        found: list[Document] = []
        after: str | None = None
        while True:
            page = await self._store.query(
                RUNS.name, Query((_ATTEMPTS,), partition=run.run_id, limit=_PAGE, after=after)
            )
            found += page.items
            after = page.next
            if after is None:
                attempts = listed(Page(found), Attempt.from_document, "id")
                in_order = sorted(attempts.items, key=lambda each: (each.started_at, each.subject, each.attempt_no))
                return dataclasses.replace(attempts, items=in_order)

    async def history(self, feed_id: str, limit: int, after: str | None) -> Listed[Attempt]:
        """The attempts at one feed over all runs, newest first."""
        where = (Where("subject", "eq", feed_id), _ATTEMPTS)
        query = Query(where, order="by_subject", reverse=True, limit=limit, after=after)
        page = await self._store.query(RUNS.name, query)
        return listed(page, Attempt.from_document, "id")
