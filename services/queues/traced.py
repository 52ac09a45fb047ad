"""Queues whose messages carry the trace of what sends them. Only if telemetry is on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from services import telemetry
from services.ports import QueueDepth, Queues


class TracedQueues:
    """Passes each call on to `queues`; a call of `send` is a span, which the functions of its messages continue."""

    def __init__(self, queues: Queues) -> None:
        self._queues = queues

    async def send(self, name: str, messages: Sequence[str], *, delay_seconds: float = 0) -> None:
        attributes: dict[str, telemetry.Attribute] = {
            "messaging.system": "azure_queues",
            "messaging.destination.name": name,
            "messaging.batch.message_count": len(messages),
        }
        with telemetry.span(f"send {name}", kind="producer", attributes=attributes):
            traced = [telemetry.with_trace(message) for message in messages]
            await self._queues.send(name, traced, delay_seconds=delay_seconds)
        telemetry.record(telemetry.SENT, len(messages), queue=name)

    async def oldest(self, name: str) -> datetime | None:
        return await self._queues.oldest(name)

    async def depths(self, names: Sequence[str]) -> list[QueueDepth]:
        return await self._queues.depths(names)

    async def peek_poison(self, name: str, limit: int) -> list[str]:
        return await self._queues.peek_poison(name, limit)

    async def redrive(self, name: str, limit: int) -> int:
        return await self._queues.redrive(name, limit)

    async def close(self) -> None:
        await self._queues.close()
