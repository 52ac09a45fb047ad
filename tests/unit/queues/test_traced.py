"""Messages that are sent carry the trace of their sender."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from datetime import datetime

from services import telemetry
from services.ports import QueueDepth, Queues
from services.queues.traced import TracedQueues
from tests.exported import exported_to_memory


class Kept:
    """Queues in memory."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, list[str], float]] = []
        self.is_closed = False

    async def send(self, name: str, messages: Sequence[str], *, delay_seconds: float = 0) -> None:
        self.sent.append((name, list(messages), delay_seconds))

    async def oldest(self, name: str) -> datetime | None:
        return None

    async def depths(self, names: Sequence[str]) -> list[QueueDepth]:
        return [QueueDepth(name, 1, 2) for name in names]

    async def peek_poison(self, name: str, limit: int) -> list[str]:
        return [name] * limit

    async def redrive(self, name: str, limit: int) -> int:
        return limit

    async def close(self) -> None:
        self.is_closed = True


async def test_a_message_carries_the_span_of_its_send_within_the_current_trace() -> None:
    kept = Kept()
    with exported_to_memory() as exported:
        with telemetry.span("work"):
            await TracedQueues(kept).send("some-queue", ['{"run_id":"a"}', '{"run_id":"b"}'], delay_seconds=3)
        spans, metrics = exported.spans(), exported.metrics()
    ((name, messages, delay),) = kept.sent
    assert (name, delay) == ("some-queue", 3)
    assert [json.loads(each)["run_id"] for each in messages] == ["a", "b"]
    send, work = spans["send some-queue"], spans["work"]
    assert send.context is not None
    assert work.context is not None
    expected = f"00-{work.context.trace_id:032x}-{send.context.span_id:016x}-"
    assert all((telemetry.trace_of(each) or "").startswith(expected) for each in messages)
    assert metrics["toolpulse.queue.sent"] == [(2, {"queue": "some-queue"})]


def test_every_method_of_the_port_is_passed_on() -> None:
    port = {name for name, _ in inspect.getmembers(Queues, inspect.isfunction) if not name.startswith("_")}
    assert port <= set(vars(TracedQueues))


async def test_the_other_calls_are_passed_on() -> None:
    kept = Kept()
    queues = TracedQueues(kept)
    assert await queues.depths(["a"]) == [QueueDepth("a", 1, 2)]
    assert await queues.peek_poison("a", 2) == ["a", "a"]
    assert await queues.redrive("a", 3) == 3
    await queues.close()
    assert kept.is_closed
