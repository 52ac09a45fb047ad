"""Where the messages of a command go: to the queues of the running app, or, without any, to this process itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from models.errors import ToolpulseError
from scripts.commands.printed import say
from scripts.local_host.data import origin_of_running_host
from scripts.local_host.storage_rest import connection_string
from services.container import Container
from services.documents.discovery import AcquireMessage
from services.mentions.announcing import RefreshMessage
from services.mentions.handler import source_ids_of
from services.ports import QueueDepth
from services.stories.announcing import GroupMessage, event_ids_of
from services.topology import (
    ACQUIRE_DOCUMENTS,
    ANALYZE_ARTICLES,
    GENERATE_IDEAS,
    GROUP_HEADLINES,
    LAST_DELIVERY,
    REFRESH_TOOLS,
)

EMULATOR = "UseDevelopmentStorage=true"
_EMULATORS_ADDRESS = ("127.0.0.1", 10001)
_STORAGE = "AzureWebJobsStorage"
_CONNECTS_WITHIN_SECONDS = 1.0


class KeptMessages:
    """The Queues port of a command without an app beside it: the command does the work of its messages itself."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[str, str]] = deque()

    async def send(self, name: str, messages: Sequence[str], *, delay_seconds: float = 0) -> None:
        self.waiting.extend((name, message) for message in messages)

    async def oldest(self, name: str) -> datetime | None:
        return None

    async def depths(self, names: Sequence[str]) -> list[QueueDepth]:
        return [QueueDepth(name, sum(queue == name for queue, _ in self.waiting), 0) for name in names]

    async def peek_poison(self, name: str, limit: int) -> list[str]:
        return []

    async def redrive(self, name: str, limit: int) -> int:
        return 0

    async def close(self) -> None:
        """Nothing to release."""


async def queues_for(settings: Mapping[str, str]) -> tuple[Mapping[str, str], KeptMessages | None]:
    """The settings with the queues of the local host that runs on this data folder, if there is one. Without it, and if
    the settings name the emulator and no emulator answers, the command keeps its messages."""
    origin = origin_of_running_host(Path(settings.get("DATA_DIR") or ""))
    if origin is not None:
        return {**settings, _STORAGE: connection_string(origin)}, None
    is_emulator = settings.get(_STORAGE, EMULATOR) in ("", EMULATOR) and not any(
        name.startswith(f"{_STORAGE}__") and value for name, value in settings.items()
    )
    if is_emulator and not await _answers(*_EMULATORS_ADDRESS):
        return {**settings, _STORAGE: EMULATOR}, KeptMessages()
    return settings, None


async def _answers(host: str, port: int) -> bool:
    with contextlib.suppress(OSError, TimeoutError):
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), _CONNECTS_WITHIN_SECONDS)
        writer.close()
        return True
    return False


async def worked_off(app: Container, kept: KeptMessages) -> int:
    """Does the work of all messages, and of those that follow from them. Returns the exit code. What fails stays in
    the store, and the app does it when it runs."""
    articles = sum(len(source_ids_of(message)) for queue, message in kept.waiting if queue == ANALYZE_ARTICLES)
    if articles:
        say(f"no app runs beside this command: it analyses {articles} articles itself")
    code = done = 0
    while kept.waiting:
        queue, message = kept.waiting.popleft()
        try:
            analyzed = await _done(app, queue, message)
        except ToolpulseError as error:
            say(f"  {queue}: {error}; the app tries again when it runs")
            code = 1
            continue
        if analyzed:
            done += analyzed
            say(f"{done} of {articles} articles analysed")
    return code


async def _done(app: Container, queue: str, message: str) -> int:
    """Does the work of the message, in as many tries as a queue would make. Returns how many articles were analysed."""
    for delivery in range(1, LAST_DELIVERY):
        with contextlib.suppress(ToolpulseError):
            return await _work(app, queue, message, delivery)
    return await _work(app, queue, message, LAST_DELIVERY)


async def _work(app: Container, queue: str, message: str, delivery: int) -> int:
    if queue == ANALYZE_ARTICLES:
        handled = await app.analysis.handle(source_ids_of(message), delivery)
        await app.queues.send(ANALYZE_ARTICLES, (*handled.alone, *handled.left))
        await app.grouping.announcer.announce_if_many()
        return handled.analyzed
    if queue == ACQUIRE_DOCUMENTS:
        left = await app.documents.handler.handle(AcquireMessage.from_message(message))
        await app.queues.send(ACQUIRE_DOCUMENTS, [left.to_message()] if left else [])
    if queue == GROUP_HEADLINES:
        await app.grouping.work(GroupMessage.from_message(message))
    if queue == GENERATE_IDEAS:
        signals = await app.signal_work.handle(event_ids_of(message), delivery)
        await app.queues.send(GENERATE_IDEAS, signals.messages)
    if queue == REFRESH_TOOLS:
        await app.figures.refresh.work(RefreshMessage.from_message(message))
    return 0
