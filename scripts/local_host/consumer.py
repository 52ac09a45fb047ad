"""The trigger of one queue for one function, with the timing and the rules of the storage extension.

It fetches up to batchSize messages as soon as at most newBatchThreshold are being processed. It polls an empty queue
after 0.1 s, then after ever longer waits up to maxPollingInterval; a message sent through this host ends the
wait as soon as it is visible.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from .console import Console
from .data import Blocked
from .functions import Function
from .invoke import Invoker, Outcome
from .queues import Message, NoSuchQueue, Queues
from .settings import QueueOptions
from .values import decoded, queue_message

HOLD_SECONDS = 600.0
WRITE_AGAIN_SECONDS = 5.0
_POISON = "-poison"


@dataclass(slots=True)
class Backoff:
    """The waits between polls of an empty queue."""

    longest: float
    shortest: float = 0.1
    empty_looks: int = 0

    def next(self, jitter: float) -> float:
        """`jitter` is from 0.8 to 1.2."""
        delay = self.shortest
        if self.empty_looks:
            delay += self.shortest * jitter * 2 ** min(self.empty_looks - 1, 20)
        self.empty_looks += 1
        return min(delay, self.longest)


class Consumer:
    """Runs until it is cancelled. Functions that run by then go on in the invoker.

    While the file of the queues is Blocked, it takes no message, and writes again what became of those that were taken.
    """

    def __init__(
        self,
        function: Function,
        queues: Queues,
        invoker: Invoker,
        options: QueueOptions,
        console: Console,
        on_poison: Callable[[], None],
        on_fault: Callable[[BaseException], None],
    ) -> None:
        assert function.queue is not None
        self.queue = function.queue
        self._function = function
        self._queues = queues
        self._invoker = invoker
        self._options = options
        self._console = console
        self._on_poison = on_poison
        self._on_fault = on_fault
        self._arrival = asyncio.Event()
        self.in_work: set[asyncio.Task[None]] = set()

    def wake(self) -> None:
        self._arrival.set()

    async def run(self) -> None:
        backoff = Backoff(self._options.max_polling_interval)
        while True:
            self._arrival.clear()
            batch = self._take()
            for message in batch:
                task = asyncio.create_task(self._handle(message))
                self.in_work.add(task)
                task.add_done_callback(self._handled)
            if batch:
                backoff.empty_looks = 0
                while len(self.in_work) > self._options.new_batch_threshold:
                    await asyncio.wait(self.in_work, return_when=asyncio.FIRST_COMPLETED)
                continue
            try:
                delay = backoff.next(random.uniform(0.8, 1.2))  # noqa: S311
                await asyncio.wait_for(self._arrival.wait(), delay)
            except TimeoutError:
                pass

    def _handled(self, task: asyncio.Task[None]) -> None:
        self.in_work.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._on_fault(error)

    def _take(self) -> list[Message]:
        try:
            return self._queues.take(self.queue, self._options.batch_size, HOLD_SECONDS, hold=True)
        except NoSuchQueue:
            return []
        except Blocked as error:
            self._on_fault(error)
            return []

    async def _handle(self, message: Message) -> None:
        text = decoded(message.text, self._options.base64)
        if text is None:
            self._log("Message decoding has failed! Check messageEncoding.", message)
            end = partial(self._poison, message)
        elif message.dequeue_count > self._options.max_dequeue_count:
            # Its tries were used up by hosts that died during them.
            end = partial(self._poison, message)
        else:
            value = text if self._function.parameters.as_text else queue_message(message, text)
            reason = f"New queue message detected on '{self.queue}'."
            end = partial(self._finish, message, await self._invoker.start(self._function, value, reason))
        while True:
            try:
                return end()
            except Blocked as error:
                self._on_fault(error)
            await asyncio.sleep(WRITE_AGAIN_SECONDS)

    def _finish(self, message: Message, outcome: Outcome) -> None:
        if outcome.error is None:
            self._queues.done(message)
        elif outcome.stopped:
            return  # it stays held, and the next host frees it at its start
        elif self.queue.endswith(_POISON):
            # A poison queue has no poison queue: the message stays hidden for HOLD_SECONDS.
            self._queues.release(message, HOLD_SECONDS)
        elif message.dequeue_count >= self._options.max_dequeue_count:
            self._poison(message)
        else:
            self._queues.release(message, self._options.visibility_timeout)

    def _poison(self, message: Message) -> None:
        if self.queue.endswith(_POISON):
            self._queues.release(message, HOLD_SECONDS)
            return
        limit = self._options.max_dequeue_count
        where = self.queue + _POISON
        self._queues.move(message, where)
        self._log(f"Message has reached MaxDequeueCount of {limit}. Moving message to queue '{where}'.", message)
        self._on_poison()

    def _log(self, text: str, message: Message) -> None:
        self._console.log("warning", "Host.Triggers.Queues", {"message": text, "message_id": message.id})
