"""Which documents, ids and keys both stores refuse: the limits of Cosmos DB, so that a laptop refuses what Azure would.

Pure: knows no SDK and no SQL. Queries are checked in plans.py, batches in batches.py.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any, NamedTuple

import orjson

from models.errors import InvalidInput
from services.ports import Document
from services.store.containers import CONTAINERS, Container

MAXIMUM_ID_BYTES = 1023
MAXIMUM_KEY_BYTES = 2048
MAXIMUM_DOCUMENT_BYTES = 2 * 1024 * 1024
MAXIMUM_DEPTH = 128
MAXIMUM_WHOLE = 2**53  # Cosmos keeps every number as a double
MAXIMUM_INCREMENTS = 10  # operations of one Cosmos patch

# Cosmos forbids the first four; its clients refuse control characters and a space at the end, and "." and ".." get lost
# in the path of a URL.
_ID_CHARACTERS = re.compile(r"[^/\\?#\x00-\x1f\x7f]+").fullmatch
_FIELD = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_SORT_FIELDS = {name: tuple(container.sort_fields) for name, container in CONTAINERS.items()}
_PLAIN = frozenset({str, int, bool, NoneType})
_ARRAYS = frozenset({list, tuple})
_strict = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


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
        or byte_length(value) > MAXIMUM_ID_BYTES
    ):
        raise InvalidInput(
            "id",
            f"must be text of 1 to {MAXIMUM_ID_BYTES} bytes without / \\ ? # or control characters, "
            "not . or .. and with no space at the end",
        )


def check_key(field: str, value: object) -> None:
    if not isinstance(value, str) or not value or byte_length(value) > MAXIMUM_KEY_BYTES:
        raise InvalidInput(field, f"must be text of 1 to {MAXIMUM_KEY_BYTES} bytes")


def addressed(container: str, keys: Iterable[tuple[str, str]]) -> Container:
    """The container. Raises InvalidInput for a (partition, id) that no document can have."""
    spec = container_named(container)
    for partition, name in keys:
        check_key(spec.partition_key, partition)
        check_id(name)
    return spec


def byte_length(text: str) -> int:
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:  # half a surrogate pair: no limit admits it
        return MAXIMUM_DOCUMENT_BYTES


def check_etag(value: object) -> None:
    if not isinstance(value, str):
        raise InvalidInput("etag", "must be text, as a read or write returned it")


class Prepared(NamedTuple):
    """A document that has been checked, without the names that belong to the store."""

    partition: str
    id: str
    body: Document
    encoded: bytes
    expires: int | None


def prepare(container: Container, document: Mapping[str, Any]) -> Prepared:
    """Raises InvalidInput for a document that Cosmos would refuse, or would return as another one."""
    if not isinstance(document, Mapping):
        raise InvalidInput("document", "must be a JSON object")
    if not isinstance(document, dict):
        document = dict(document)
    name, partition = document.get("id"), document.get(container.partition_key)
    check_id(name)
    check_key(container.partition_key, partition)
    try:
        body = document
        if "\0_" in "\0".join(("", *document)):  # one look at all names: most documents have no such name
            body = {field: value for field, value in document.items() if not field.startswith("_")}
        text = encoded(body)
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InvalidInput("document", f"must be JSON with finite numbers ({error})") from error
    if len(text) > MAXIMUM_DOCUMENT_BYTES:
        raise InvalidInput("document", f"must be at most {MAXIMUM_DOCUMENT_BYTES} bytes of JSON")
    if "ttl" in body:
        raise InvalidInput("ttl", "belongs to the store; use ttl_timestamp")
    for field in _SORT_FIELDS[container.name]:
        value = body.get(field)
        if value is not None and (type(value) is not str or field in container.numbers):
            _check_sort_value(container, field, value)
    return Prepared(str(partition), str(name), body, text, _expiry(body))


def encoded(body: Document) -> bytes:
    """The document as JSON. Raises ValueError or TypeError for a value that JSON does not have.

    orjson is ten times as fast as Python's own encoder, but writes NaN as null, enumerations and UUIDs as text, and
    crashes on tuples without end. It gets plain values only.
    """
    if _are_plain(body.values(), MAXIMUM_DEPTH):
        try:
            return memoryview(orjson.dumps(body)).tobytes()  # a copy, since orjson's buffer is twice as large
        except TypeError:  # a number of more than 64 bits, or a name that is no text
            pass
    text = _strict(body).encode()
    orjson.loads(text)  # refuses a number beyond all doubles, which could never be read
    return text


def _are_plain(values: Iterable[Any], levels: int) -> bool:
    """Whether the values are of JSON's own types, down to the last level."""
    if not levels:
        raise ValueError(f"more than {MAXIMUM_DEPTH} levels")
    if _PLAIN.issuperset(map(type, values)):
        return True
    for each in values:
        kind = type(each)
        if kind in _PLAIN:
            continue
        if kind is float:
            if not math.isfinite(each):
                return False
        elif kind is dict:
            if not _are_plain(each.values(), levels - 1):
                return False
        elif kind not in _ARRAYS or not _are_plain(each, levels - 1):
            return False
    return True


def _expiry(body: Mapping[str, Any]) -> int | None:
    expires = body.get("ttl_timestamp")
    if expires is None:
        return None
    if not isinstance(expires, int) or not is_number(expires):
        raise InvalidInput("ttl_timestamp", "must be a whole number of Unix seconds, or null for never")
    return expires


def _check_sort_value(container: Container, name: str, value: object) -> None:
    if name in container.numbers and not is_number(value):
        raise InvalidInput(name, f"must be a number, since {container.name} is sorted by it")
    if name not in container.numbers and not isinstance(value, str):
        raise InvalidInput(name, f"must be text, since {container.name} is sorted by it")


def check_amounts(container: Container, amounts: Mapping[str, int | float]) -> None:
    if not 1 <= len(amounts) <= MAXIMUM_INCREMENTS:
        raise InvalidInput("amounts", f"must name 1 to {MAXIMUM_INCREMENTS} fields")
    for name, amount in amounts.items():
        if not is_field(name) or name in ("id", container.partition_key, "ttl", "ttl_timestamp"):
            raise InvalidInput("amounts", f"{name!r} is not a field that can be incremented")
        if not is_number(amount):
            raise InvalidInput(name, "must be incremented by a finite number")


def counted(seed: Prepared, amounts: Mapping[str, int | float]) -> Document:
    """The document that a first increment stores."""
    raised: Document = {}
    for name, amount in amounts.items():
        start = seed.body.get(name, 0)
        if not is_number(start):
            raise not_a_number(name)
        raised[name] = start + amount
    return {**seed.body, **raised}


def not_a_number(name: str) -> InvalidInput:
    return InvalidInput(name, "holds no number to increment")


def is_number(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MAXIMUM_WHOLE


def is_field(name: object) -> bool:
    return isinstance(name, str) and bool(_FIELD.match(name))
