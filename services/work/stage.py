"""What a stage declares: where its due items are stored, how workers are told of them, and when one is given up.

A message is a JSON object that names what is due: it wakes a worker up, and says nothing more.
An item is due while its document has a time in the stage's `due` field, and that time has come. The time is written by
the change that makes the item due, in the same write, and removed by the write that does the work. So no item is lost,
whatever happens to messages: these only wake workers up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from models.errors import InvalidInput
from models.run import WORKER_DIED
from models.values import format_time, is_over, parse_time
from services.ports import Document, Where

T = TypeVar("T")

MAX_TRIES = 5
FIRST_WAIT = timedelta(seconds=30)
LONGEST_WAIT = timedelta(days=1)
OVERDUE_AFTER = timedelta(minutes=1)
"""An item that has been due for longer is overdue, unless its message waits in the queue."""


def message_of(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":"))


def parts_of(items: Sequence[T], most: int) -> list[list[T]]:
    """The items in parts of at most `most`, such as the keys that one message names."""
    return [list(items[start : start + most]) for start in range(0, len(items), most)]


def fields_of(text: str, *names: str) -> dict[str, Any]:
    """The object in a message. Raises InvalidInput if it is none, or lacks one of these fields."""
    try:
        fields = json.loads(text)
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or any(name not in fields for name in names):
        raise InvalidInput("message", f"must be a JSON object with {', '.join(names)}")
    return fields


def ids_in(text: str, name: str) -> list[str]:
    """The ids that a message has under `name`: one, or a list, each once. Raises InvalidInput."""
    value = fields_of(text, name)[name]
    ids = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str) and each for each in ids):
        raise InvalidInput("message", f"must have {name}, an id or a list of ids")
    return list(dict.fromkeys(ids))


def id_in(text: str, name: str) -> str:
    """The only id that a message has under `name`. Raises InvalidInput."""
    ids = ids_in(text, name)
    if len(ids) != 1:
        raise InvalidInput("message", f"must have {name}, an id")
    return ids[0]


def backoff(tries: int) -> timedelta:
    """The wait after so many tries: twice as long each time."""
    doubled: int = 2 ** min(max(0, tries - 1), 16)
    return min(FIRST_WAIT * doubled, LONGEST_WAIT)


@dataclass(frozen=True, slots=True)
class Tries:
    """How the document of an item counts its failures: `count` and `error` are its fields, `address` gives its
    partition and id. After `most` failures it is given up: no longer due, with the fields of `given_up`."""

    address: Callable[[str], tuple[str, str]]
    count: str = "tries"
    error: str = "error"
    most: int = MAX_TRIES
    given_up: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stage:
    """One kind of work: where its due items are stored, and how workers are told of them.

    `order` is the order of the container that lists items by `due`, the field with the time before which nobody works
    on them; `where` are further conditions of that list. `key` is the field that names an item in messages. A message
    lists at most `most` keys under `named`, or has the only one; `form` gives further fields. Items with another
    `group` are in other messages. `furthest` is the longest time by which the stage sets `due` ahead. An item is
    overdue after `overdue_after`. Messages wait for `delay_seconds`. A stage without `tries` counts no failures: an
    item that fails stays due. `failed` finds items that were given up. `workflow` names the runs of its invocations;
    without it, the stage records runs of its own. A stage that `pauses` needs a service besides the store.
    """

    name: str
    queue: str
    container: str
    order: str
    due: str
    key: str
    named: str
    form: Callable[[Sequence[str]], Mapping[str, Any]] | None = None
    most: int = 100
    where: tuple[Where, ...] = ()
    group: Callable[[Document], str] | None = None
    furthest: timedelta = LONGEST_WAIT
    overdue_after: timedelta = OVERDUE_AFTER
    delay_seconds: float = 0.0
    tries: Tries | None = None
    failed: tuple[Where, ...] = ()
    workflow: str | None = None
    pauses: bool = False

    def messages(self, keys: Sequence[str]) -> list[str]:
        """The messages that name these items."""
        parts = parts_of(keys, self.most)
        if self.form is None:
            return [message_of({self.named: part[0] if self.most == 1 else part}) for part in parts]
        return [message_of(self.form(part)) for part in parts]

    def keys_of(self, text: str) -> list[str]:
        """The items that a message names, each once. Raises InvalidInput for a text that is no message of the stage."""
        return ids_in(text, self.named)

    def due_at(self, document: Document) -> datetime | None:
        """None if the item is not due at any time."""
        value = document.get(self.due)
        return None if value is None else parse_time(value)

    def is_due(self, document: Document | None, now: datetime) -> bool:
        """Whether the time has come. One further ahead than the stage sets it was set by a wrong clock, and has come.

        Of a stage with tries, only failures set the time ahead, and the work itself, which looks again. So an item
        without failures is due whatever its time: the clock of the worker that wrote it may be ahead of this one's.
        """
        due_at = None if document is None else self.due_at(document)
        if document is None or due_at is None:
            return False
        has_failed = self.tries is None or bool(document.get(self.tries.count))
        return not has_failed or is_over(due_at, now, self.furthest)

    def turns(
        self, documents: Iterable[Document | None], now: datetime, *, alone: bool
    ) -> tuple[list[Document], list[str]]:
        """The items to work on, and the keys of those that are to be worked on alone first. An item that is worked on
        alone counts as due."""
        due = [each for each in documents if each is not None and (alone or self.is_due(each, now))]
        kill = [] if alone else [each[self.key] for each in due if self.has_killed(each)]
        return [each for each in due if each[self.key] not in kill], kill

    def has_killed(self, document: Document) -> bool:
        """Whether the last worker that worked on this item alone has died."""
        return self.tries is not None and document.get(self.tries.error) == WORKER_DIED

    def after_failure(self, document: Document, why: str, now: datetime, *, is_counted: bool = False) -> Document:
        """The document after a failure: `is_counted` if the try was counted when it began."""
        tries = self.tries
        assert tries is not None, "a stage without tries counts no failures"
        number = (document.get(tries.count) or 0) + (not is_counted)
        after = {**document, tries.count: number, tries.error: why, "updated_at": format_time(now)}
        if number >= tries.most:
            del after[self.due]
            return {**after, **tries.given_up}
        return after | {self.due: format_time(now + backoff(number))}

    def uncounted(self, document: Document, now: datetime) -> Document:
        """The document after a try that another service's outage ended: it does not count, and the item is due."""
        tries = self.tries
        assert tries is not None, "a stage without tries counts no failures"
        count = max(0, (document.get(tries.count) or 0) - 1)
        after = {**document, tries.count: count, self.due: format_time(now)}
        del after[tries.error]
        return after

    def redriven(self, document: Document, now: datetime) -> Document:
        """The document of an item that was given up, due again with all its tries."""
        tries = self.tries
        assert tries is not None, "a stage without tries gives nothing up"
        at = format_time(now)
        return {**document, tries.count: 0, self.due: at, "updated_at": at}
