"""Small real things that tests are built from."""

from __future__ import annotations

import asyncio
import itertools
import selectors
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial, wraps
from typing import Any

from models.errors import Unavailable
from services.archive.keys import KeyedArchive
from services.ports import Clock, Document, QueueDepth, Queues, Store
from services.work.announcing import Announcer, Sweeper
from services.work.stage import Stage

NOON = datetime(2026, 2, 21, 12, 0, tzinfo=UTC)


class Watch:
    """A Clock that stands still until it is moved."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **span: float) -> datetime:
        self.now += timedelta(**span)
        return self.now


class _Selector(selectors.SelectSelector):
    """Instead of waiting, the time goes on."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        self.now += max(0.0, timeout or 0.0)
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.selector = _Selector()
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.now


def on_a_clock_of_its_own(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Runs the coroutine on a loop whose clock begins at 0 and does not wait: for work without network or threads."""

    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        with asyncio.Runner(loop_factory=_Loop) as runner:
            runner.run(test(*args, **kwargs))

    return run


def now_of_loop() -> float:
    return asyncio.get_running_loop().time()


class MemoryArchive(KeyedArchive):
    """The Archive port over a dictionary; `down` makes it answer as an archive that does not."""

    CONTAINER = "memory"

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.down = False

    async def delete_folder(self, folder: str) -> int:
        self._ask()
        keys = [key for key in self.objects if key.startswith(f"{folder}/")]
        for key in keys:
            del self.objects[key]
        return len(keys)

    async def ping(self) -> None:
        self._ask()

    async def close(self) -> None:
        pass

    async def _write(self, key: str, data: bytes) -> str:
        self._ask()
        self.objects[key] = data
        return key

    async def _read(self, key: str) -> bytes | None:
        self._ask()
        return self.objects.get(key)

    async def _folders_in(self, path: str) -> list[str]:
        self._ask()
        return sorted({key.removeprefix(path).split("/")[0] for key in self.objects if key.startswith(path)})

    def _ask(self) -> None:
        if self.down:
            raise Unavailable("the archive is down")


def forgetful(queues: Queues) -> Announcer:
    """Takes every message that was sent as delivered: tests deliver them at once."""
    return Announcer(queues, partial(next, itertools.count(0, 1_000)))


async def overdue_keys(store: Store, stage: Stage, clock: Clock) -> list[str]:
    """The keys of the items of the stage that a sweep announces."""
    queues = MemoryQueues()
    await Sweeper(store, queues, forgetful(queues), clock).sweep(stage, ahead=True)
    return [key for text in queues.sent.get(stage.queue, []) for key in stage.keys_of(text)]


class MemoryQueues:
    """The Queues port over dictionaries; `down` makes it answer as a queue service that does not.

    `sent` has the texts that were sent to each queue, which nobody receives; `sendings` the queue and the delay of each
    call. `messages` are the depths, `waiting_since` is what `oldest` returns.
    """

    delays = True

    def __init__(self) -> None:
        self.messages: dict[str, int] = {}
        self.sent: dict[str, list[str]] = {}
        self.sendings: list[tuple[str, float]] = []
        self.waiting_since: dict[str, datetime] = {}
        self.poison: dict[str, list[str]] = {}
        self.down = False
        self.closed = False

    async def send(self, name: str, messages: Sequence[str], *, delay_seconds: float = 0) -> None:
        self._ask()
        self.sendings.append((name, delay_seconds))
        self.sent.setdefault(name, []).extend(messages)
        self.messages[name] = self.messages.get(name, 0) + len(messages)

    async def oldest(self, name: str) -> datetime | None:
        self._ask()
        return self.waiting_since.get(name)

    async def depths(self, names: Sequence[str]) -> list[QueueDepth]:
        self._ask()
        return [QueueDepth(name, self.messages.get(name, 0), len(self.poison.get(name, []))) for name in names]

    async def peek_poison(self, name: str, limit: int) -> list[str]:
        self._ask()
        return self.poison.get(name, [])[:limit]

    async def redrive(self, name: str, limit: int) -> int:
        self._ask()
        waiting = self.poison.get(name, [])
        moved, self.poison[name] = waiting[:limit], waiting[limit:]
        self.messages[name] = self.messages.get(name, 0) + len(moved)
        return len(moved)

    async def close(self) -> None:
        self.closed = True

    def _ask(self) -> None:
        if self.down:
            raise Unavailable("the queues did not answer")


async def existing(store: Store, container: str, partition: str, key: str) -> Document:
    """A document that must be there."""
    document = await store.read(container, partition, key)
    assert document is not None
    return document
