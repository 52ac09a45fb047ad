"""What `clean_up` does every five minutes: says how deep the queues are, so that alerts have something to count.

Silence is an alert of its own: the line comes whether or not there is anything in a queue.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from services.logs import log_event
from services.ports import QueueDepth, Queues
from services.topology import QUEUES

log = logging.getLogger("toolpulse.upkeep")


@dataclass(frozen=True, slots=True)
class UpkeepReport:
    depths: tuple[QueueDepth, ...]


class Upkeep:
    def __init__(self, queues: Queues) -> None:
        self._queues = queues

    async def run(self) -> UpkeepReport:
        report = UpkeepReport(tuple(await self._queues.depths(QUEUES)))
        for depth in report.depths:
            level = logging.ERROR if depth.poison else logging.INFO
            log_event(log, level, "queue_depth", queue=depth.name, messages=depth.messages, poison=depth.poison)
        return report
