"""Acquires the due documents of one host, one after the other, as one run."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from models.document import DocumentProduct
from models.errors import ToolpulseError
from models.run import MOST_ERRORS_KEPT, Attempt, JobRun
from services import deadline
from services.documents import life_cycle
from services.documents.acquisition import Acquisition
from services.documents.robots import Robots
from services.feeds.hosts import HostStates, host_of
from services.fetch.addresses import is_loopback
from services.logs import log_event
from services.ports import Clock, Store, listed_documents
from services.store.containers import DOCUMENTS
from services.work.handling import Worked
from services.work.runs import RunEngine

log = logging.getLogger("toolpulse.documents")

PAUSE_SECONDS = 1.0
"""Between two pages of a host, unless its robots.txt asks for more."""


class HostAcquisition:
    """Acquires the documents of one message. `pause` waits for so many seconds."""

    def __init__(
        self,
        store: Store,
        engine: RunEngine,
        acquisition: Acquisition,
        robots: Robots,
        hosts: HostStates,
        clock: Clock,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._store = store
        self._engine = engine
        self._acquisition = acquisition
        self._robots = robots
        self._hosts = hosts
        self._clock = clock
        self._pause = pause

    async def work(self, source_ids: Sequence[str], *, alone: bool) -> Worked:
        """Tries those documents that are due."""
        due = await self._due(source_ids)
        if not due:
            return Worked()
        cooling = self._hosts.cooling(await self._hosts.listed(), self._clock())
        if cooling.in_outage or all(host_of(_url(each)) in cooling.closed for each in due):
            await self._acquisition.back_off(due)
            return Worked()
        run = await self._engine.open(life_cycle.WORKFLOW, since=self._clock())
        left = await self._try_all(run.run_id, due)
        await self._engine.close(run.run_id, summary)
        await self._hosts.note(self._clock())
        return Worked(done=len(due) - len(left), left=left)

    async def _try_all(self, run_id: str, due: Sequence[DocumentProduct]) -> list[str]:
        """Tries one after the other. Returns those that the deadline left."""
        for number, each in enumerate(due):
            if deadline.is_near():
                return [one.source_id for one in due[number:]]
            if number:
                await self._pause(await self._pause_seconds(_url(each)))
            await self._try(run_id, each.source_id)
        return []

    async def _due(self, source_ids: Sequence[str]) -> list[DocumentProduct]:
        keys = [(each, DocumentProduct.ID) for each in dict.fromkeys(source_ids)]
        found = await self._store.read_many(DOCUMENTS.name, keys)
        documents = listed_documents(found, DocumentProduct.from_document, "source_id").items
        now = self._clock()
        return [each for each in documents if life_cycle.is_due(each, now)]

    async def _try(self, run_id: str, source_id: str) -> None:
        """An unforeseen error ends the try of this document only. It is logged, and the document is tried again."""
        try:
            await self._acquisition.attempt(run_id, source_id)
        except ToolpulseError:
            raise
        except Exception as error:
            log.exception("document_not_acquired source_id=%s", source_id)
            await self._acquisition.broke(run_id, source_id, type(error).__name__)

    async def _pause_seconds(self, url: str) -> float:
        if is_loopback(host_of(url).rpartition(":")[0]):
            return 0.0
        return max(PAUSE_SECONDS, (await self._robots.decide(url)).delay_seconds or 0.0)


async def close_overdue(engine: RunEngine, clock: Clock) -> int:
    """Ends the runs whose worker died. Their documents are due again by themselves."""
    overdue = await engine.overdue([life_cycle.WORKFLOW], clock())
    for run in overdue:
        await engine.close(run.run_id, summary)
    if overdue:
        log_event(log, logging.WARNING, "acquisitions_closed", runs=len(overdue))
    return len(overdue)


def summary(run: JobRun, attempts: Sequence[Attempt]) -> Mapping[str, Any]:
    counts: Counter[str] = Counter()
    for each in attempts:
        counts.update(each.counts)
    errors = [f"{each.subject}: {each.error_message or each.error_type}" for each in attempts if each.error_type]
    return {"progress": len(attempts), "metrics": dict(counts), "errors": tuple(errors[:MOST_ERRORS_KEPT])}


def _url(document: DocumentProduct) -> str:
    return document.locators[0].value
