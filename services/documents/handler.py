"""Acquires the due documents of one host, one after the other, as one run."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from models.document import DocumentProduct
from models.run import MAX_ERRORS_KEPT, Attempt, JobRun
from services import deadline
from services.documents import life_cycle
from services.documents.acquisition import Acquisition
from services.documents.robots import Robots
from services.feeds.hosts import HostStates, host_of
from services.fetch.addresses import is_loopback
from services.ports import Clock, Store, listed_documents
from services.store.containers import DOCUMENTS, RUNS
from services.work import rules
from services.work.handling import Worked

PAUSE_SECONDS = 1.0
"""Between two pages of a host, unless its robots.txt asks for more."""


class HostAcquisition:
    """Acquires the documents of one message. `pause` waits for so many seconds."""

    def __init__(
        self,
        store: Store,
        acquisition: Acquisition,
        robots: Robots,
        hosts: HostStates,
        clock: Clock,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self._store = store
        self._acquisition = acquisition
        self._robots = robots
        self._hosts = hosts
        self._clock = clock
        self._pause = pause
        self._new_id = new_id

    async def work(self, source_ids: Sequence[str], *, alone: bool) -> Worked:
        """Tries those documents that are due, until the deadline. The run is stored when it has ended: the attempt of a
        worker that dies is recorded by the next one."""
        began, run_id, attempts = self._clock(), self._new_id(), list[Attempt]()
        due = await self._due(source_ids)
        if not due:
            return Worked()
        cooling = self._hosts.cooling(await self._hosts.listed(), began)
        if cooling.in_outage or all(host_of(_url(each)) in cooling.closed for each in due):
            await self._acquisition.back_off(due)
            return Worked()
        left = list(due)
        while left and not deadline.is_near():
            if len(left) < len(due):
                await self._pause(await self._pause_seconds(_url(left[0])))
            attempt = await self._acquisition.attempt(run_id, left.pop(0))
            attempts += [] if attempt is None else [attempt]
        if attempts:
            await self._store.create(RUNS.name, run_of(run_id, attempts, began, self._clock()).to_document())
        await self._hosts.note(self._clock())
        return Worked(done=len(due) - len(left), left=[each.source_id for each in left])

    async def _due(self, source_ids: Sequence[str]) -> list[DocumentProduct]:
        keys = [(each, DocumentProduct.ID) for each in dict.fromkeys(source_ids)]
        found = await self._store.read_many(DOCUMENTS.name, keys)
        documents = listed_documents(found, DocumentProduct.from_document, "source_id").items
        now = self._clock()
        return [each for each in documents if life_cycle.is_due(each, now)]

    async def _pause_seconds(self, url: str) -> float:
        if is_loopback(host_of(url).rpartition(":")[0]):
            return 0.0
        return max(PAUSE_SECONDS, (await self._robots.decide(url)).delay_seconds or 0.0)


def run_of(run_id: str, attempts: Sequence[Attempt], began: datetime, now: datetime) -> JobRun:
    """The run of these attempts as it ended."""
    counts: Counter[str] = Counter()
    for each in attempts:
        counts.update(each.counts)
    errors = [f"{each.subject}: {each.error_message or each.error_type}" for each in attempts if each.error_type]
    begun = rules.begun(rules.queued(life_cycle.WORKFLOW, run_id, began), None, began)
    return rules.ended(begun, rules.status_of(attempts), now).changed(
        now, progress=len(attempts), metrics=dict(counts), errors=tuple(errors[:MAX_ERRORS_KEPT])
    )


def _url(document: DocumentProduct) -> str:
    return document.locators[0].value
