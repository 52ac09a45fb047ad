"""How a stored document is changed while others may write it too: read, decide, write conditionally, and if another
writer was first, read and decide again.

`decide` is pure, since it may be called several times. In each round one of the writers succeeds. Those that failed at
the same moment wait for a random time out of a span that doubles with each round. After ROUNDS, or when the deadline of
the invocation does not allow another wait, Contended is raised: the caller's caller tries again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, Literal, TypeVar

from models.errors import ChangedMeanwhile, Conflict, Contended
from models.stored import StoredDocument
from services import deadline
from services.ports import Create, Delete, Document, Operation, Replace, Store

T = TypeVar("T")

_chance = random.SystemRandom().random

ROUNDS = 30
FIRST_SECONDS = 0.02
MAX_SECONDS = 1.0


class Decision(Enum):
    """A decision that is not a document."""

    DELETE = "delete"


DELETE: Final = Decision.DELETE
Decided = Mapping[str, Any] | Literal[Decision.DELETE] | None
"""The new document, DELETE, or None to leave what is stored as it is."""
Decide = Callable[[Document | None], Decided]
"""What becomes of the stored document, or of None if there is none."""
Key = tuple[str, str]
"""The partition and the id of a document."""


async def change(
    store: Store, container: str, partition: str, id: str, decide: Decide, *, known: Document | None = None
) -> Document | None:
    """Changes the document as `decide` says, and returns what is stored then. `known` is the document if the caller has
    read it already: the first round does not read it again."""
    key = (partition, id)
    given = {} if known is None else {key: known}
    (stored,) = await change_many(store, container, [key], lambda _, found: decide(found), known=given)
    return stored


async def change_together(
    store: Store,
    container: str,
    partition: str,
    ids: Sequence[str],
    decide: Callable[[Sequence[Document | None]], Sequence[Operation]],
    *,
    known: Sequence[Document | None] | None = None,
) -> list[str | None]:
    """Reads documents of one partition, and does the operations that `decide` returns for them, all or none. Returns
    the ETags of the batch: none if `decide` returns no operation. `known` are the documents if the caller has read them
    already: the first round does not read them again."""
    given = known

    async def once() -> list[str | None]:
        nonlocal given
        found, given = given, None
        if found is None:
            found = await store.read_many(container, [(partition, each) for each in ids])
        operations = decide(found)
        if not operations:
            return []
        try:
            return await store.batch(container, partition, operations)
        except Conflict as error:
            raise ChangedMeanwhile(str(error)) from error

    return await until_unchanged(once, f"{container} {partition}")


async def change_many(
    store: Store,
    container: str,
    keys: Sequence[Key],
    decide: Callable[[Key, Document | None], Decided],
    *,
    known: Mapping[Key, Document] | None = None,
) -> list[Document | None]:
    """Changes each of these documents as `change` does, in as few requests as possible. Returns what is stored then, in
    the order of `keys`. Only documents that others wrote meanwhile are read and decided again."""
    stored: dict[Key, Document | None] = {}
    first = dict(known or {})

    async def once() -> None:
        waiting = [key for key in dict.fromkeys(keys) if key not in stored]
        unread = [key for key in waiting if key not in first]
        read = await store.read_many(container, unread) if unread else []
        found = dict(zip(unread, read, strict=True))
        wanted: dict[Key, tuple[Mapping[str, Any] | None, Operation]] = {}
        for key in waiting:
            document = found[key] if key in found else first.pop(key)
            decided = decide(key, document)
            if decided is None or (decided is DELETE and document is None):
                stored[key] = document
            elif decided is DELETE:
                wanted[key] = None, Delete(key[1], _etag(document))
            else:
                write = Create(decided) if document is None else Replace(decided, _etag(document))
                wanted[key] = decided, write
        batches = [(key[0], [operation]) for key, (_, operation) in wanted.items()]
        outcomes = await store.batch_many(container, batches) if batches else []
        for (key, (decided, _)), outcome in zip(wanted.items(), outcomes, strict=True):
            if isinstance(outcome, list):
                stored[key] = None if decided is None else {**decided, "_etag": outcome[0]}
        if len(stored) < len(set(keys)):
            raise ChangedMeanwhile(f"{container}: {len(set(keys)) - len(stored)} documents were written meanwhile")

    what = f"{container} {' '.join(keys[0])}" if len(keys) == 1 else f"{len(keys)} documents of {container}"
    await until_unchanged(once, what)
    return [stored[key] for key in keys]


async def until_unchanged(once: Callable[[], Awaitable[T]], what: str) -> T:
    """What `once` returns, which reads, decides and writes. It is called again for as long as it raises
    ChangedMeanwhile. For what `change` cannot express, such as a decision that reads other documents."""
    for round_no in range(ROUNDS):
        if round_no:
            await asyncio.sleep(wait_seconds(round_no - 1, _chance()))
        try:
            return await once()
        except ChangedMeanwhile:
            if deadline.remaining() < MAX_SECONDS:
                break
    raise Contended(f"{what} keeps changing: try again", retry_after=1.0)


def wait_seconds(round_no: int, chance: float) -> float:
    """How long to wait after the failed round, counted from 0. `chance` is random, from 0 to 1."""
    return float(min(MAX_SECONDS, FIRST_SECONDS * 2**round_no)) * chance


def write_of(document: StoredDocument) -> Operation:
    """Creates a document that was not stored yet, and replaces the version that was read."""
    if document.stored_etag is None:
        return Create(document.to_document())
    return Replace(document.to_document(), document.stored_etag)


def _etag(document: Document | None) -> str:
    return "" if document is None else document["_etag"]
