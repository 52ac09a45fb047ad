"""The queues: durable, at least once, with Azure Queue Storage's rules. Knows nothing of functions or HTTP.

A message's text is what is on the wire: with messageEncoding base64 it is the encoded one. A message that the host has
taken for a function is *held*: no other reader gets it, and the next host frees it at its start.
"""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from .data import DataFolder

MESSAGE_BYTES = 64 * 1024
WEEK = 7 * 24 * 3600.0
SET_BACK = 60.0
"""Seconds by which a clock that is kept right may go back."""
LONGEST_STEP = 24 * 3600.0
"""A clock that moves on by more between two hosts may be wrong."""
NEVER = 253402300799.0  # 9999-12-31T23:59:59Z
_NAME = re.compile(r"(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
_COLUMNS = "number, queue, id, text, inserted, expires, visible, dequeue_count, receipt"


def is_queue_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


class NoSuchQueue(Exception):
    """The queue does not exist."""


class NoSuchMessage(Exception):
    """The message is gone."""


class WrongReceipt(Exception):
    """The message was taken again since."""


@dataclass(frozen=True, slots=True)
class Message:
    """Times are Unix seconds."""

    number: int
    queue: str
    id: str
    text: str
    inserted: float
    expires: float
    visible: float
    dequeue_count: int
    receipt: str


class Queues:
    """All queues of one data folder. `on_arrival` is called with the name of a queue that has a new message, and with
    the seconds until the message is visible."""

    def __init__(
        self, folder: DataFolder, clock: Callable[[], float], on_arrival: Callable[[str, float], None]
    ) -> None:
        self._folder = folder
        self._rows = folder.rows
        self._clock = clock
        self._on_arrival = on_arrival
        self._seen = 0.0

    # -- queues

    def create(self, name: str) -> bool:
        """Returns whether the queue is new."""
        return bool(self._rows("INSERT INTO queues (name) VALUES (?) ON CONFLICT DO NOTHING RETURNING 1", name))

    def delete(self, name: str) -> None:
        self.require(name)
        with self._folder.transaction() as connection:
            connection.execute("DELETE FROM messages WHERE queue = ?", (name,))
            connection.execute("DELETE FROM queues WHERE name = ?", (name,))

    def names(self) -> list[str]:
        return [name for (name,) in self._rows("SELECT name FROM queues ORDER BY name")]

    def require(self, name: str) -> None:
        """Raises NoSuchQueue."""
        if not self._rows("SELECT 1 FROM queues WHERE name = ?", name):
            raise NoSuchQueue(name)

    def count(self, name: str, until: float = NEVER) -> int:
        """The number of messages that are visible before `until`, and of held ones."""
        sql = "SELECT count(*) FROM messages WHERE queue = ? AND expires > ? AND (held = 1 OR visible <= ?)"
        return int(self._rows(sql, name, self._clock(), until)[0][0])

    # -- messages

    def put(self, queue: str, text: str, delay: float = 0, lifetime: float = WEEK) -> Message:
        """Raises NoSuchQueue."""
        self.require(queue)
        with self._folder.transaction():
            message = self._insert(queue, text, delay, lifetime)
        self._on_arrival(queue, delay)
        return message

    def send(self, messages: Sequence[tuple[str, str]]) -> None:
        """Sends all (queue, text) pairs or none, and creates missing queues."""
        with self._folder.transaction():
            for queue, text in messages:
                self.create(queue)
                self._insert(queue, text, 0, WEEK)
        for queue in {queue for queue, _ in messages}:
            self._on_arrival(queue, 0)

    def _insert(self, queue: str, text: str, delay: float, lifetime: float) -> Message:
        now = self._clock()
        message = Message(
            0, queue, str(uuid.uuid4()), text, now, min(now + lifetime, NEVER), now + delay, 0, _receipt()
        )
        self._rows(
            "INSERT INTO messages (queue, id, text, inserted, expires, visible, receipt) VALUES (?, ?, ?, ?, ?, ?, ?)",
            queue, message.id, text, now, message.expires, message.visible, message.receipt,
        )  # fmt: skip
        return message

    def peek(self, queue: str, limit: int) -> list[Message]:
        """Raises NoSuchQueue."""
        self.require(queue)
        now = self._clock()
        self._follow_clock(now)
        sql = f"SELECT {_COLUMNS} FROM messages WHERE queue = ? AND held = 0 AND visible <= ? AND expires > ?"  # noqa: S608
        return [Message(*row) for row in self._rows(sql + " ORDER BY visible, number LIMIT ?", queue, now, now, limit)]

    def take(self, queue: str, limit: int, hidden: float, *, hold: bool = False) -> list[Message]:
        """Makes messages invisible for `hidden` seconds, or holds them, and counts the delivery. Holds none on a full
        disk, where their work would fail. Raises NoSuchQueue."""
        waiting = self.peek(queue, limit)
        if not waiting:
            return []
        if hold:
            self._folder.require_room()
        until = self._clock() + hidden
        taken = [
            replace(each, visible=until, dequeue_count=each.dequeue_count + 1, receipt=_receipt()) for each in waiting
        ]
        with self._folder.transaction() as connection:
            connection.executemany(
                "UPDATE messages SET visible = ?, dequeue_count = ?, receipt = ?, held = ? WHERE number = ?",
                [(each.visible, each.dequeue_count, each.receipt, int(hold), each.number) for each in taken],
            )
        return taken

    def remove(self, queue: str, id: str, receipt: str) -> None:
        """Raises NoSuchQueue, NoSuchMessage, WrongReceipt."""
        self._rows("DELETE FROM messages WHERE number = ?", self._owned(queue, id, receipt).number)

    def _owned(self, queue: str, id: str, receipt: str) -> Message:
        self.require(queue)
        sql = f"SELECT {_COLUMNS} FROM messages WHERE queue = ? AND id = ? AND expires > ?"  # noqa: S608
        found = self._rows(sql, queue, id, self._clock())
        if not found:
            raise NoSuchMessage(id)
        message = Message(*found[0])
        if message.receipt != receipt:
            raise WrongReceipt(id)
        return message

    # -- held messages: for the host only

    def done(self, message: Message) -> None:
        self._rows("DELETE FROM messages WHERE number = ?", message.number)

    def release(self, message: Message, delay: float) -> None:
        """Makes the message visible for another try after `delay` seconds."""
        sql = "UPDATE messages SET held = 0, visible = ? WHERE number = ?"
        self._rows(sql, self._clock() + delay, message.number)
        if delay <= 0:
            self._on_arrival(message.queue, 0)

    def move(self, message: Message, queue: str) -> None:
        """Moves the text to another queue, as a new message."""
        with self._folder.transaction():
            self.create(queue)
            self._insert(queue, message.text, 0, WEEK)
            self.done(message)
        self._on_arrival(queue, 0)

    def recover(self) -> int:
        """Frees the messages that an earlier host held, deletes expired ones, and returns how many were freed.

        Deletes none if the clock moved on by over a day since the earlier host: it may be wrong.
        """
        now = self._clock()
        updated, inserted = self._rows("SELECT (SELECT max(updated) FROM timers), max(inserted) FROM messages")[0]
        worked = datetime.fromisoformat(updated).timestamp() if updated else now
        if now - worked <= LONGEST_STEP:
            self._rows("DELETE FROM messages WHERE expires <= ?", now)
        self._seen = max(worked, inserted or now)
        self._follow_clock(now)
        return len(self._rows("UPDATE messages SET held = 0, visible = ? WHERE held = 1 RETURNING 1", now))

    def _follow_clock(self, now: float) -> None:
        """If the clock was set back, messages wait no longer than by the clock of before."""
        back, self._seen = self._seen - now, now
        if back > SET_BACK:
            sql = "UPDATE messages SET inserted = min(inserted, ?), visible = max(?, visible - ?) WHERE visible > ?"
            self._rows(sql, now, now, back, now)

    def waiting(self, names: Iterable[str], until: float) -> int:
        return sum(self.count(name, until) for name in names)


def _receipt() -> str:
    return secrets.token_urlsafe(12)
