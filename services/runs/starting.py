"""Sends the messages of runs that people asked for, and decides what happens to a run whose message cannot be sent."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from models.errors import Unavailable
from models.run import JobRun
from services.logs import log_event
from services.ports import Queues
from services.runs.driver import run_message
from services.runs.engine import RunEngine
from services.topology import REANALYZE_TOOLS

log = logging.getLogger("toolpulse.analysis")


class RunStarts:
    def __init__(self, queues: Queues, engine: RunEngine) -> None:
        self._queues = queues
        self._engine = engine

    async def start(self, run: JobRun) -> None:
        """Sends the message of a workflow's run. If that fails, withdraws the run and raises Unavailable."""
        await self.send(run.run_id, REANALYZE_TOOLS, [run_message(run.run_id)])

    async def send(self, run_id: str, queue: str, messages: Sequence[str]) -> None:
        """Sends the messages of a run. If that fails, withdraws the run and raises Unavailable."""
        try:
            await self._queues.send(queue, messages)
        except Unavailable:
            await self._engine.withdraw(run_id)
            raise

    async def send_each(self, queue: str, messages: Sequence[tuple[str, str]]) -> None:
        """Sends the messages of several runs, each with the id of its run. If one fails, withdraws its run and those
        after it, and raises Unavailable."""
        for number, (_, message) in enumerate(messages):
            try:
                await self._queues.send(queue, [message])
            except Unavailable:
                for run_id, _ in messages[number:]:
                    await self._engine.withdraw(run_id)
                raise

    async def start_after_change(self, run: JobRun) -> None:
        """Sends the message of a run that follows from a change. The change is stored, and its run with it: if the
        message cannot be sent, `clean_up` sends it later."""
        try:
            await self._queues.send(REANALYZE_TOOLS, [run_message(run.run_id)])
        except Unavailable as error:
            log_event(log, logging.WARNING, "run_message_not_sent", run_id=run.run_id, error=str(error))
