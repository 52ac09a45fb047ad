"""What services ask of the world. Adapters keep these promises; one contract suite holds them to it.

A port says what it raises, what it orders and what it promises; it never says how.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from models.errors import ChangedMeanwhile, Conflict

Document = dict[str, Any]
"""A JSON object with `id` and its container's partition key.

`ttl_timestamp` (Unix seconds, absent or null for never) is the one way to say when it expires: the adapter turns it
into what its store wants, and no read returns a document whose time has passed. Reads add `_etag` and `_ts`
(Unix seconds of the last write). Top-level names that begin with `_` are the store's own: writes ignore them; `ttl` is
refused. Fields that an order sorts by hold text, or numbers where the container says so, or null.
"""

Scalar = str | int | float | bool
Operator = Literal["eq", "lt", "le", "gt", "ge", "in", "contains", "missing", "text"]


class Clock(Protocol):
    """The time, as an aware datetime in UTC."""

    def __call__(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class Where:
    """One condition on a top-level field; the conditions of a query all hold.

    eq, lt, le, gt, ge   the field is there and compares so with `value` (same JSON type)
    in                   the field equals one of `value`, a sequence of 1 to 100 scalars
    contains             the field is an array with `value` in it
    missing              the field is absent or null; `value` is not looked at
    text                 the field is a string with `value` in it, ASCII letters of either case
    """

    field: str
    op: Operator
    value: Scalar | Sequence[Scalar] | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """What to list, in which order, from where on.

    `partition` keeps to one partition; None goes across all. `order` is the name of an order of the container
    (services/store/containers.py); None is by id within a partition and by (partition key, id) across. Ties are broken
    by partition key, then id, so that an order is always complete. Documents that lack a field of the order, or have
    null there, are not listed.
    `reverse` turns the whole order round. `after` is the `next` of the page before, of a query that was the same but
    for `limit`.
    """

    where: tuple[Where, ...] = ()
    partition: str | None = None
    order: str | None = None
    reverse: bool = False
    limit: int = 100
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Create:
    """An operation of a batch: fails with Conflict if the document's id is taken."""

    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Upsert:
    """An operation of a batch: writes the document, whatever is stored. Never fails."""

    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Replace:
    """An operation of a batch: fails with ChangedMeanwhile if the stored document has another ETag, or is gone."""

    document: Mapping[str, Any]
    etag: str


@dataclass(frozen=True, slots=True)
class Delete:
    """An operation of a batch: fails with ChangedMeanwhile if the document is gone, or has another ETag than `etag`.
    Without `etag` any version is deleted."""

    id: str
    etag: str | None = None


Operation = Create | Upsert | Replace | Delete
BatchFailure = Conflict | ChangedMeanwhile


@dataclass(frozen=True, slots=True)
class Page:
    """`next` is an opaque cursor, None on the last page. A page is a fresh look: what is written between two pages is
    seen if it sorts behind the cursor, and nothing that stays put is listed twice or left out."""

    items: list[Document]
    next: str | None = None


class Store(Protocol):
    """Documents in containers, by (partition key, id).

    Every method raises InvalidInput for an unknown container or order, a bad cursor, an id or key that Cosmos would
    refuse, or a document over 2 MB; and Unavailable when the store could not be asked within the retry budget.
    A write that returned is durable and seen by every later read, in any process. A write that raised Unavailable may
    or may not have happened. Writes return the document as stored, with its new `_etag`.
    """

    async def read(self, container: str, partition: str, id: str) -> Document | None:
        """The document, or None if there is none."""
        ...

    async def read_many(self, container: str, keys: Sequence[tuple[str, str]]) -> list[Document | None]:
        """For each (partition, id) what `read` would answer, in that order. Cheaper than one by one."""
        ...

    async def create(self, container: str, document: Mapping[str, Any]) -> Document:
        """Raises Conflict if (partition, id) is taken; an expired document does not count."""
        ...

    async def upsert(self, container: str, document: Mapping[str, Any]) -> Document:
        """Writes whatever is or is not there."""
        ...

    async def replace(self, container: str, document: Mapping[str, Any], etag: str) -> Document:
        """Writes if the stored document still has `etag`; else, or if it is gone, raises ChangedMeanwhile."""
        ...

    async def increment(self, container: str, seed: Mapping[str, Any], amounts: Mapping[str, int | float]) -> None:
        """Adds `amounts` to top-level fields of the document with `seed`'s key, atomically; a missing field is 0.

        If there is no such document, `seed` is created first. 1 to 10 amounts; a field that holds no number is
        InvalidInput. For counters that may be a little off: a retry after a time-out may count twice.
        """
        ...

    async def delete(self, container: str, partition: str, id: str, etag: str | None = None) -> bool:
        """True if it was there. With `etag`, raises ChangedMeanwhile if the stored one differs."""
        ...

    async def query(self, container: str, query: Query) -> Page:
        """One page; see Query for filters, order and cursor. `limit` is 1 to 1000."""
        ...

    async def count(self, container: str, where: tuple[Where, ...] = (), partition: str | None = None) -> int:
        """How many documents a query with these conditions would list."""
        ...

    async def batch(self, container: str, partition: str, operations: Sequence[Operation]) -> list[str | None]:
        """Does all `operations` within one partition, or none. Returns the new ETags in order, None for a Delete.

        If an operation fails, nothing is written, and Conflict (a Create) or ChangedMeanwhile (a Replace or Delete)
        carries the index of the first that failed as `operation`. InvalidInput for 0 or more than 100 operations, more
        than 2,000,000 bytes of documents, a document of another partition, or two operations on one id.

        A retry after a lost response recognises the batch by the documents it wrote, and returns their ETags; the ETag
        of a document that another writer has changed since matches nothing. Where a retry cannot tell (the batch only
        deletes, or every document it wrote has changed since), it raises Unavailable, never Conflict or
        ChangedMeanwhile.
        """
        ...

    async def batch_many(
        self, container: str, batches: Sequence[tuple[str, Sequence[Operation]]]
    ) -> list[list[str | None] | Conflict | ChangedMeanwhile]:
        """Does any number of (partition, operations), each as `batch` does, in no order and not as one.

        A batch that fails is its error in the list, and does not disturb the others. InvalidInput is raised before
        anything is written; after Unavailable some batches may be written.
        """
        ...

    async def create_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> list[bool]:
        """Creates each that is not there yet, in no order and not as one: True where it was created, False where
        (partition, id) was taken. After an error some may be there."""
        ...

    async def write_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> None:
        """Upserts all of them, in no order and not as one: after an error some may be written."""
        ...

    async def replace_many(self, container: str, changes: Sequence[tuple[Mapping[str, Any], str]]) -> list[bool]:
        """Replaces each of the (document, etag), in no order and not as one: True where it was replaced, False where
        the stored document has another ETag by now, or is gone. After an error some may be replaced."""
        ...

    async def delete_many(self, container: str, deletions: Sequence[tuple[str, str, str]]) -> list[bool]:
        """Deletes each (partition, id, etag), in no order and not as one: True where it was deleted, False where the
        stored document has another ETag, or is gone. After an error some may be deleted."""
        ...

    async def ping(self) -> None:
        """Raises Unavailable if the store cannot be asked now. One attempt, quick."""
        ...

    async def close(self) -> None:
        """Releases everything. Calling it again does nothing."""
        ...


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """How many messages wait in a queue, held ones included, and how many in its poison queue. Both approximate."""

    name: str
    messages: int
    poison: int


class Queues(Protocol):
    """A look at the queues, and redrive. Messages are *sent* through the functions' bindings, never through here.

    Every method raises Unavailable when the queue service could not be asked.
    """

    async def depths(self, names: Sequence[str]) -> list[QueueDepth]:
        """One for each name, in that order; a queue that does not exist yet has none waiting."""
        ...

    async def peek_poison(self, name: str, limit: int) -> list[str]:
        """The texts of up to `limit` (1 to 32) poison messages, which stay where they are."""
        ...

    async def redrive(self, name: str, limit: int) -> int:
        """Moves up to `limit` poison messages back; how many. Each is sent before it is taken out: a crash in between
        delivers it twice, never not at all."""
        ...

    async def close(self) -> None:
        """Releases everything. Calling it again does nothing."""
        ...


def utc_now() -> datetime:
    """The Clock of production."""
    return datetime.now(UTC)
