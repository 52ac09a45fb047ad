"""The whole app as it runs on Azure, in one process: several workers on one store, and queues that deliver.

The functions are those of triggers/, called as the Functions host calls them: up to 24 messages of a queue at once in
each worker, a function timeout, another delivery after an error, and a poison queue after the fifth.
"""

from __future__ import annotations

import asyncio
import heapq
import inspect
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from services import container, deadline
from services.container import Container
from services.ports import QueueDepth
from services.topology import LAST_DELIVERY
from tests.builders import MemoryQueues
from triggers.background import queues as queue_functions
from triggers.background import timers as timer_functions

AT_ONCE = 24
"""batchSize and newBatchThreshold of host.json."""
REDELIVERED_AFTER = 1.0
POLLED_EVERY = 0.02


@dataclass(order=True)
class Message:
    """Implements what functions use of azure.functions.QueueMessage."""

    visible_at: float
    number: int
    text: str = field(compare=False)
    dequeue_count: int = field(default=0, compare=False)

    def get_body(self) -> bytes:
        return self.text.encode()


class DeliveringQueues(MemoryQueues):
    """The queues of all workers."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[str, list[Message]] = {}
        self._numbers = itertools.count()
        self.delivering: Counter[str] = Counter()

    async def send(self, name: str, messages: Sequence[str], *, delay_seconds: float = 0) -> None:
        at = time.monotonic() + delay_seconds
        for text in messages:
            heapq.heappush(self._waiting.setdefault(name, []), Message(at, next(self._numbers), text))

    async def depths(self, names: Sequence[str]) -> list[QueueDepth]:
        return [QueueDepth(name, self.waiting(name), len(self.poison.get(name, []))) for name in names]

    async def close(self) -> None:
        """The queues belong to all workers."""

    def waiting(self, name: str) -> int:
        return len(self._waiting.get(name, [])) + self.delivering[name]

    def receive(self, name: str) -> Message | None:
        waiting = self._waiting.get(name)
        if not waiting or waiting[0].visible_at > time.monotonic():
            return None
        message = heapq.heappop(waiting)
        message.dequeue_count += 1
        self.delivering[name] += 1
        return message

    def done(self, name: str, message: Message, *, failed: bool) -> None:
        self.delivering[name] -= 1
        if failed and message.dequeue_count >= LAST_DELIVERY:
            self.poison.setdefault(name, []).append(message.text)
        elif failed:
            message.visible_at = time.monotonic() + REDELIVERED_AFTER
            heapq.heappush(self._waiting.setdefault(name, []), message)


def handlers(blueprint: Any) -> dict[str, Callable[..., Any]]:
    """The handlers of a blueprint, by the name of their queue or else of their function."""
    import azure.functions as func

    app = func.FunctionApp()
    app.register_functions(blueprint)
    found = {}
    for function in app.get_functions():
        trigger = function.get_trigger().get_dict_repr()  # type: ignore[union-attr]
        name = trigger.get("queueName") or function.get_function_name()
        found[str(name)] = inspect.unwrap(function.get_user_function())
    return found


@dataclass
class Invocations:
    """What became of the invocations, by function: `failed` with the names of errors."""

    done: Counter[str] = field(default_factory=Counter)
    timed_out: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    longest: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class _Context:
    invocation_id: str = "flow"


async def call(handler: Callable[..., Any], worker: Container, **given: Any) -> None:
    wanted = inspect.signature(handler).parameters
    await handler(worker, **given, **({"context": _Context()} if "context" in wanted else {}))


async def work(services: Container) -> None:
    """Works on the messages of the worker's MemoryQueues, and on those that follow, one after the other."""
    functions = handlers(queue_functions)
    assert isinstance(services.queues, MemoryQueues)
    while waiting := {name: texts for name, texts in services.queues.sent.items() if texts and name in functions}:
        for name, texts in waiting.items():
            services.queues.sent[name] = []
            for number, text in enumerate(texts):
                await call(functions[name], services, message=Message(0.0, number, text, 1))


class App:
    def __init__(self, workers: list[Container], queues: DeliveringQueues, timeout: float) -> None:
        self.workers = workers
        self.queues = queues
        self.invocations = Invocations()
        self._timeout = timeout
        self._consumers, self._timers = handlers(queue_functions), handlers(timer_functions)
        self._running: set[asyncio.Task[None]] = set()

    @property
    def services(self) -> Container:
        return self.workers[0]

    async def tick(self, name: str) -> None:
        """Runs a timer on the first worker. Raises what it raises."""
        with deadline.within(self._timeout):
            async with asyncio.timeout(self._timeout):
                await call(self._timers[name], self.services, timer_request=None)

    async def consume(self) -> None:
        """Lets every worker consume all queues, until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            for worker in self.workers:
                for name, handler in self._consumers.items():
                    group.create_task(self._consume(worker, name, handler))

    async def _consume(self, worker: Container, name: str, handler: Callable[..., Any]) -> None:
        free = asyncio.Semaphore(AT_ONCE)
        while True:
            await free.acquire()
            while (message := self.queues.receive(name)) is None:  # noqa: ASYNC110 - the queue is polled, as on Azure
                await asyncio.sleep(POLLED_EVERY)
            task = asyncio.create_task(self._deliver(worker, name, handler, message))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
            task.add_done_callback(lambda _: free.release())

    async def _deliver(self, worker: Container, name: str, handler: Callable[..., Any], message: Message) -> None:
        began, failed = time.monotonic(), True
        try:
            with deadline.within(self._timeout):
                async with asyncio.timeout(self._timeout) as limit:
                    await call(handler, worker, message=message)
            failed = False
            self.invocations.done[name] += 1
        except Exception as error:
            if limit.expired():
                self.invocations.timed_out[name] += 1
            else:
                self.invocations.failed[f"{name}: {type(error).__name__}: {error}"] += 1
        finally:
            took = time.monotonic() - began
            self.invocations.longest[name] = max(self.invocations.longest.get(name, 0.0), took)
            self.queues.done(name, message, failed=failed)

    async def idle(self, seconds: float) -> bool:
        """Waits until no message is waiting or being worked on. Returns whether that happened within the time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if not any(self.queues.waiting(name) for name in self._consumers):
                return True
            await asyncio.sleep(0.05)
        return False

    async def stop(self) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


@asynccontextmanager
async def running(environment: Mapping[str, str], workers: int, function_timeout: float) -> AsyncIterator[App]:
    """An app whose workers consume. `function_timeout` is in seconds."""
    queues = DeliveringQueues()
    async with AsyncExitStack() as opened:
        built = []
        for _ in range(workers):
            built.append(await container.build(environment, queues=queues))
            opened.push_async_callback(built[-1].close)
        app = App(built, queues, function_timeout)
        consuming = asyncio.create_task(app.consume())
        try:
            yield app
        finally:
            consuming.cancel()
            await asyncio.gather(consuming, return_exceptions=True)
            await app.stop()
