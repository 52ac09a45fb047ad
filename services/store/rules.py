"""Which documents, ids, keys and batches every store refuses: the limits of Cosmos DB.

So the embedded store refuses every write that Azure would refuse. Pure: no SDK and no SQL. plans.py checks queries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import orjson

from models.errors import ChangedMeanwhile, Conflict, InvalidInput
from services.ports import Create, Delete, Document, Operation, Replace, Upsert
from services.store.containers import CONTAINERS, Container

MAX_ID_BYTES = 1023
MAX_KEY_BYTES = 2048
MAX_OPERATIONS = 100
MAX_BATCH_BYTES = 2_000_000
"""Of documents in a batch. Cosmos accepts requests of 2 MiB, which leaves each operation almost a kilobyte for its id
and ETag."""
MAX_DOCUMENT_BYTES = MAX_BATCH_BYTES

# Cosmos forbids the first four, its clients refuse control characters and a space at the end, and a URL loses "." and
# ".." from its path.
_ID_CHARACTERS = re.compile(r"[^/\\?#\x00-\x1f\x7f]+").fullmatch
_FIELD = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
"""A time or an object that nobody has made a JSON value of is refused."""


def container_named(name: str) -> Container:
    container = CONTAINERS.get(name)
    if container is None:
        raise InvalidInput("container", f"must be one of {', '.join(sorted(CONTAINERS))}")
    return container


def check_id(value: object) -> None:
    if (
        not isinstance(value, str)
        or not _ID_CHARACTERS(value)
        or value[-1] == " "
        or value in (".", "..")
        or byte_length(value) > MAX_ID_BYTES
    ):
        raise InvalidInput(
            "id",
            f"must be text of 1 to {MAX_ID_BYTES} bytes without / \\ ? # or control characters, "
            "not . or .. and with no space at the end",
        )


def check_key(field: str, value: object) -> None:
    if not isinstance(value, str) or not value or "\0" in value or byte_length(value) > MAX_KEY_BYTES:
        raise InvalidInput(field, f"must be text of 1 to {MAX_KEY_BYTES} bytes without NUL")


def check_addresses(container: str, keys: Iterable[tuple[str, str]]) -> None:
    """Raises InvalidInput for a (partition, id) that no document can have."""
    spec = container_named(container)
    for partition, name in keys:
        check_key(spec.partition_key, partition)
        check_id(name)


def byte_length(text: str) -> int:
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:  # half a surrogate pair: counts as too long
        return MAX_DOCUMENT_BYTES


def check_etag(value: object) -> None:
    if not isinstance(value, str):
        raise InvalidInput("etag", "must be text, as a read or write returned it")


class Prepared(NamedTuple):
    """A document that has been checked, without the names that begin with an underscore."""

    partition: str
    id: str
    body: Document
    encoded: bytes
    expires: int | None


def prepare(container: Container, document: Mapping[str, Any]) -> Prepared:
    """Raises InvalidInput for a document that Cosmos would refuse. Its values are those of JSON, its numbers finite."""
    name, partition = document.get("id"), document.get(container.partition_key)
    check_id(name)
    check_key(container.partition_key, partition)
    try:
        body = {field: value for field, value in document.items() if field[:1] != "_"}
        # A copy, since orjson's buffer is twice as large.
        text = memoryview(orjson.dumps(body, option=_OPTIONS)).tobytes()
    except TypeError as error:
        raise InvalidInput("document", f"must be JSON ({error})") from error
    if len(text) > MAX_DOCUMENT_BYTES:
        raise InvalidInput("document", f"must be at most {MAX_DOCUMENT_BYTES} bytes of JSON")
    if "ttl" in body:
        raise InvalidInput("ttl", "belongs to the store; use ttl_timestamp")
    return Prepared(str(partition), str(name), body, text, _expiry(container, body))


def _expiry(container: Container, body: Mapping[str, Any]) -> int | None:
    expires = body.get("ttl_timestamp")
    if expires is None:
        return None
    if container.lasting:
        raise InvalidInput("ttl_timestamp", f"must be null: no document of {container.name} expires")
    if type(expires) is not int:
        raise InvalidInput("ttl_timestamp", "must be a whole number of Unix seconds, or null for never")
    return expires


def is_field(name: object) -> bool:
    return isinstance(name, str) and bool(_FIELD.match(name))


OperationKind = Literal["create", "upsert", "replace", "delete"]
_KINDS: dict[type[Operation], OperationKind] = {
    Create: "create",
    Upsert: "upsert",
    Replace: "replace",
    Delete: "delete",
}


class Step(NamedTuple):
    """A checked operation of a batch. `etag` is the version that it needs; a delete has no `prepared`."""

    kind: OperationKind
    id: str
    etag: str | None
    prepared: Prepared | None


def prepare_batch(container: Container, partition: str, operations: Sequence[Operation]) -> list[Step]:
    """Raises InvalidInput for a batch that Cosmos would refuse."""
    check_key(container.partition_key, partition)
    if not 1 <= len(operations) <= MAX_OPERATIONS:
        raise InvalidInput("operations", f"must be 1 to {MAX_OPERATIONS} of one batch")
    steps = [step(container, operation) for operation in operations]
    size = 0
    for _, _, _, prepared in steps:
        if prepared is not None:
            size += len(prepared.encoded)
            if prepared.partition != partition:
                raise InvalidInput(container.partition_key, f"must be {partition!r} in every document of the batch")
    if size > MAX_BATCH_BYTES:
        raise InvalidInput("operations", f"must have at most {MAX_BATCH_BYTES} bytes of documents in one batch")
    if len({each.id for each in steps}) < len(steps):
        raise InvalidInput("operations", "must be about different ids in one batch")
    return steps


def step(container: Container, operation: Operation) -> Step:
    kind = _KINDS[type(operation)]
    etag = operation.etag if isinstance(operation, Replace | Delete) else None
    if etag is not None or kind == "replace":
        check_etag(etag)
    if isinstance(operation, Delete):
        check_id(operation.id)
        return Step(kind, operation.id, etag, None)
    prepared = prepare(container, operation.document)
    return Step(kind, prepared.id, etag, prepared)


def failed_batch(container: str, partition: str, steps: Sequence[Step], index: int) -> Conflict | ChangedMeanwhile:
    """The error of a batch whose operation at `index` failed."""
    failed = steps[index]
    if failed.kind == "create":
        return Conflict(f"{container}: {partition} / {failed.id} exists already", index)
    return ChangedMeanwhile(f"{container}: {partition} / {failed.id} has changed or is gone", index)
