"""The interfaces through which services reach stores, queues and the archive. Adapters implement them; contract
suites check them.

A port defines what its methods return, promise and raise, never how an adapter does it.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from models.errors import ChangedMeanwhile, Conflict, UnreadableDocument
from services.logs import log_unreadable

T = TypeVar("T")

Document = dict[str, Any]
"""A JSON object with `id` and the partition key of its container.

`ttl_timestamp` (Unix seconds, absent or null for never) is when the document expires; no method finds a document that
has expired. Reads add `_etag` and `_ts` (Unix seconds of the last write). Writes ignore every field whose name starts
with `_`, and refuse `ttl`. A field that an order sorts by is null or text, or a number if the container defines it so.
"""

Scalar = str | int | float | bool
Operator = Literal["eq", "lt", "le", "gt", "ge", "in", "contains", "missing"]
_COMPARED: Mapping[str, Callable[[Any, Any], object]] = {
    **{each.__name__: each for each in (operator.eq, operator.lt, operator.le, operator.gt, operator.ge)},
    "in": lambda found, wanted: found in wanted,
    "contains": lambda found, wanted: isinstance(found, list) and wanted in found,
}


class Clock(Protocol):
    """The time, as an aware datetime in UTC."""

    def __call__(self) -> datetime: ...


LastWrite = Callable[[], object]
"""Returns another value after each write to the store that this process notices without a request: with SQLite, writes
of all processes; with Cosmos DB, its own."""


@dataclass(frozen=True, slots=True)
class Where:
    """One condition on a top-level field. A document must meet all conditions of a query.

    eq, lt, le, gt, ge   the field is equal to, less than, … `value`, which has the same JSON type
    in                   the field equals one of `value`, a sequence of 1 to 100 scalars
    contains             the field is an array that contains `value`
    missing              the field is absent or null; `value` is ignored
    """

    field: str
    op: Operator
    value: Scalar | Sequence[Scalar] | None = None

    def is_met_by(self, document: Document) -> bool:
        """As the store decides it, for a value of the type that the field has."""
        found, wanted = document.get(self.field), self.value
        if found is None or self.op == "missing":
            return found is None and self.op == "missing"
        return bool(_COMPARED[self.op](found, wanted))


@dataclass(frozen=True, slots=True)
class Query:
    """Which documents to list, and in which order.

    `partition` limits the query to one partition; None is all partitions. `order` names an order of the container
    (services/store/containers.py); None sorts by id within a partition, by (partition key, id) across partitions. Ties
    are broken by partition key, then id. An order lists only documents in which all of its fields are set.
    `reverse` reverses the whole order. A page has at most `limit` documents. `after` is the `next` of the previous
    page; that page's query must be the same except for `limit`. With `may_be_stale` the store may miss the writes of
    the last moments, at half the price: for what people look at, and where a conditional write finds out.
    """

    where: tuple[Where, ...] = ()
    partition: str | None = None
    order: str | None = None
    reverse: bool = False
    limit: int = 1000
    after: str | None = None
    may_be_stale: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list.

    `next` is an opaque cursor, None on the last page.

    Each page is a new read of the store: a document that is written between two pages is listed if it sorts after the
    cursor. A document whose sort values do not change is listed exactly once.
    """

    items: list[Document]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """A page as models. `unreadable` names the documents that could not be read: they do not hide the others."""

    items: list[T]
    next: str | None = None
    unreadable: tuple[str, ...] = ()


def listed(page: Page, read: Callable[[Document], T], named_by: str) -> Listed[T]:
    """The documents of the page, as `listed_documents` gives them, with the cursor of the page."""
    return replace(listed_documents(page.items, read, named_by), next=page.next)


def listed_documents(documents: Iterable[Document | None], read: Callable[[Document], T], named_by: str) -> Listed[T]:
    """The documents that exist, read by `read`, which may raise UnreadableDocument; such a document is logged, and
    listed in `unreadable` by its field `named_by`."""
    items: list[T] = []
    unreadable: list[str] = []
    for document in documents:
        if document is None:
            continue
        try:
            items.append(read(document))
        except UnreadableDocument as error:
            unreadable.append(str(document.get(named_by) or document["id"]))
            log_unreadable(error)
    return Listed(items, unreadable=tuple(unreadable))


def readable(document: Document | None, read: Callable[[Document], T]) -> T | None:
    """The document read by `read`; None if `document` is None or cannot be read. An unreadable document is logged."""
    try:
        return None if document is None else read(document)
    except UnreadableDocument as error:
        log_unreadable(error)
        return None


@dataclass(frozen=True, slots=True)
class Create:
    """An operation of a batch. Fails with Conflict if there is a document with the id."""

    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Upsert:
    """An operation of a batch. Writes the document, over a stored one if there is one."""

    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Replace:
    """An operation of a batch. Fails with ChangedMeanwhile if the stored document has another ETag, or is gone."""

    document: Mapping[str, Any]
    etag: str


@dataclass(frozen=True, slots=True)
class Delete:
    """An operation of a batch. Fails with ChangedMeanwhile if the document is gone, or has another ETag than `etag`.
    None deletes any version, and may delete an expired document."""

    id: str
    etag: str | None = None


Operation = Create | Upsert | Replace | Delete
BatchOutcome = list[str | None] | Conflict | ChangedMeanwhile
"""The new ETags of a batch in the order of its operations, None for a Delete; or the error of a batch that failed."""


class Store(Protocol):
    """Documents in containers, by (partition key, id).

    Every method raises InvalidInput for an unknown container or order, an invalid cursor, an id or key that Cosmos
    would refuse, or a document over 2 MB; and Unavailable if the store did not answer within the retry budget.
    A write that returned is durable, and every later read sees it, in any process, unless the read may be stale.
    A write that raised Unavailable may or may not have happened.
    """

    async def read(self, container: str, partition: str, id: str) -> Document | None:
        """The document, or None if it does not exist."""
        ...

    async def read_many(
        self, container: str, keys: Sequence[tuple[str, str]], *, may_be_stale: bool = False
    ) -> list[Document | None]:
        """The result of `read` for each (partition, id), in the same order. Cheaper than single reads.

        With `may_be_stale`, the last writes of other workers may be missing from the result, at half the price.
        """
        ...

    async def create(self, container: str, document: Mapping[str, Any]) -> Document:
        """Returns the document as stored, with its `_etag`. Raises Conflict if there is a document with its partition
        and id that has not expired."""
        ...

    async def upsert(self, container: str, document: Mapping[str, Any]) -> Document:
        """Writes the document, over a stored one if there is one. Returns it with its new `_etag`."""
        ...

    async def replace(self, container: str, document: Mapping[str, Any], etag: str) -> Document:
        """Writes the document if the stored one has `etag`, and returns it with its new `_etag`. Raises
        ChangedMeanwhile if the stored one has another ETag, or is gone."""
        ...

    async def delete(self, container: str, partition: str, id: str, etag: str | None = None) -> bool:
        """Deletes the document. Returns whether it existed, which of an expired one may be either. With `etag`, raises
        ChangedMeanwhile if the stored one has another ETag."""
        ...

    async def query(self, container: str, query: Query) -> Page:
        """One page; see Query. `limit` is 1 to 1000."""
        ...

    async def count(
        self,
        container: str,
        where: tuple[Where, ...] = (),
        partition: str | None = None,
        *,
        may_be_stale: bool = False,
    ) -> int:
        """The number of documents that a query with these conditions lists. For `may_be_stale` see Query."""
        ...

    async def batch(self, container: str, partition: str, operations: Sequence[Operation]) -> list[str | None]:
        """Does all `operations` within one partition, or none. Returns the new ETags in order, None for a Delete.

        If an operation fails, nothing is written, and the Conflict or ChangedMeanwhile carries the index of the first
        operation that failed as `operation`. InvalidInput for 0 or more than 100 operations, more than 2,000,000 bytes
        of documents, a document of another partition, or two operations on one id.

        If a response is lost, the store tries again within the call. If that try fails, the first one may have
        succeeded, and the call raises Unavailable: a Conflict or ChangedMeanwhile never hides a success of this call. A
        second call after Unavailable may find the documents that the first one wrote.
        """
        ...

    async def batch_many(
        self, container: str, batches: Sequence[tuple[str, Sequence[Operation]]]
    ) -> list[BatchOutcome]:
        """Does any number of (partition, operations) as `batch` does: each all or nothing, in any order.

        A batch that fails is an error in the result, and does not affect the others. InvalidInput is raised before
        anything is written. After Unavailable some batches may be written.
        """
        ...

    async def create_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> list[bool]:
        """Creates each document, in any order and not atomically. For each, False if its partition and id were in use
        already. After an error some may be created."""
        ...

    async def write_many(self, container: str, documents: Sequence[Mapping[str, Any]]) -> None:
        """Upserts each document, in any order and not atomically. After an error some may be written."""
        ...

    async def purge(self) -> None:
        """Deletes from the disk what has expired, if the store does not do so by itself."""
        ...

    async def ping(self) -> None:
        """Raises Unavailable if the store does not answer now. One quick attempt."""
        ...

    async def close(self) -> None:
        """Releases all resources. A second call does nothing."""
        ...


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """Approximate numbers of messages: in a queue, with those that are being processed, and in its poison queue."""

    name: str
    messages: int
    poison: int


class Queues(Protocol):
    """Sends messages, reads the state of queues, and moves poison messages back. The functions' triggers receive.

    Every method raises Unavailable if the queue service did not answer.
    """

    @property
    def delays(self) -> bool:
        """Whether a delayed message waits. Otherwise it may be worked on at once, before what it is to gather."""
        ...

    async def send(self, name: str, messages: Sequence[str], *, delay_seconds: float = 0) -> None:
        """Sends each message, a text of at most 48 KB, in any order; a missing queue is created. The functions get a
        message after `delay_seconds`, rounded up to whole seconds, at most 7 days. When this returns, all are durable;
        after Unavailable some may be sent. A message may be delivered more than once."""
        ...

    async def oldest(self, name: str) -> datetime | None:
        """When the oldest of the first messages that wait in the queue was sent; None if none waits. A message that is
        delayed or being processed does not wait."""
        ...

    async def depths(self, names: Sequence[str]) -> list[QueueDepth]:
        """The depth of each queue, in the order of `names`. A queue that does not exist has no messages."""
        ...

    async def peek_poison(self, name: str, limit: int) -> list[str]:
        """The texts of up to `limit` (1 to 32) poison messages. They stay in the poison queue."""
        ...

    async def redrive(self, name: str, limit: int) -> int:
        """Moves up to `limit` poison messages back to their queue, and returns how many. Each is sent before it is
        deleted: after a crash in between it is delivered twice, and never lost."""
        ...

    async def close(self) -> None:
        """Releases all resources. A second call does nothing."""
        ...


class Archived(NamedTuple):
    """An object as the archive has it, and as its FileObject says. `etag` changes with the content only."""

    archive_container: str
    archive_key: str
    sha256: str
    byte_length: int
    etag: str


class Archive(Protocol):
    """Bytes, private to the app, in one folder for each article. services/archive/keys.py names folders and objects.

    The key of an object ends with the SHA-256 of its bytes, so an object never changes. Every method raises
    InvalidInput for a folder or key of another form, and Unavailable if the archive did not answer in time.
    """

    async def put(self, folder: str, data: bytes) -> Archived:
        """Stores the bytes. The same bytes in the same folder are one object, and a second call returns the same. When
        this returns, the object survives the death of the process. InvalidInput for more than LARGEST_OBJECT bytes."""
        ...

    async def get(self, key: str) -> bytes:
        """The bytes, which fit the checksum. Raises NotFound if there is no object, and Damaged if the stored bytes do
        not fit."""
        ...

    async def delete_folder(self, folder: str) -> int:
        """Deletes all objects of the folder. Returns how many; 0 if there is no such folder."""
        ...

    async def folders(self, before: str, *, after: str = "", limit: int = 100) -> list[str]:
        """The first folders that sort between `after` and `before`, in order: the oldest come first. What others have
        put beside them is left out."""
        ...

    async def ping(self) -> None:
        """Raises Unavailable if the archive does not answer now."""
        ...

    async def close(self) -> None:
        """Releases all resources. A second call does nothing."""
        ...


async def pages(store: Store, container: str, query: Query) -> AsyncIterator[Page]:
    """All pages of the query, each read when the caller iterates to it."""
    while True:
        page = await store.query(container, query)
        yield page
        if page.next is None:
            return
        query = replace(query, after=page.next)


MAX_PAGES = 20
"""Pages that one list reads to find documents which no index finds. It then ends early, with a cursor."""


async def filled_page(store: Store, container: str, query: Query, accepts: Callable[[Document], bool]) -> Page:
    """One page of the documents that the query finds and `accepts` takes. It may be shorter than the limit though
    others follow."""
    found: list[Document] = []
    for _ in range(MAX_PAGES):
        page = await store.query(container, replace(query, limit=query.limit - len(found)))
        found += [each for each in page.items if accepts(each)]
        query = replace(query, after=page.next)
        if page.next is None or len(found) == query.limit:
            break
    return Page(found, query.after)


async def query_all(store: Store, container: str, query: Query, most_pages: int = sys.maxsize) -> list[Document]:
    """The documents that the query finds, read page by page: all, or those of the first `most_pages`."""
    found: list[Document] = []
    async for page in pages(store, container, query):
        found += page.items
        most_pages -= 1
        if not most_pages:
            break
    return found


def utc_now() -> datetime:
    """The Clock of production."""
    return datetime.now(UTC)
