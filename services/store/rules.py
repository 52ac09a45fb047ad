"""What both stores refuse, and how both read a query: so that a laptop says no wherever Azure would.

Everything here is pure. It knows the limits of Cosmos DB, not its SDK, and no SQL.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, NamedTuple

import orjson

from models.errors import InvalidInput
from services.ports import Document, Page, Query, Scalar, Where
from services.store import cursors
from services.store.containers import CONTAINERS, DESCENDING, Container

MAXIMUM_ID_BYTES = 1023
MAXIMUM_KEY_BYTES = 2048
MAXIMUM_DOCUMENT_BYTES = 2 * 1024 * 1024
MAXIMUM_DEPTH = 128
MAXIMUM_LIMIT = 1000
MAXIMUM_CHOICES = 100
MAXIMUM_WHOLE = 2**53  # Cosmos keeps every number as a double
MAXIMUM_INCREMENTS = 10  # operations of one Cosmos patch

# Besides the four that Cosmos forbids, its clients refuse control characters and a space at the end,
# and an address swallows "." and "..".
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
        or _bytes(value) > MAXIMUM_ID_BYTES
    ):
        raise InvalidInput(
            "id",
            f"must be text of 1 to {MAXIMUM_ID_BYTES} bytes without / \\ ? # or control characters, "
            "not . or .. and with no space at the end",
        )


def check_key(field: str, value: object) -> None:
    if not isinstance(value, str) or not value or _bytes(value) > MAXIMUM_KEY_BYTES:
        raise InvalidInput(field, f"must be text of 1 to {MAXIMUM_KEY_BYTES} bytes")


def addressed(container: str, keys: Iterable[tuple[str, str]]) -> Container:
    """The container, if every (partition, id) is one that a document could have."""
    spec = container_named(container)
    for partition, name in keys:
        check_key(spec.partition_key, partition)
        check_id(name)
    return spec


def _bytes(text: str) -> int:
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:  # half a surrogate pair is not text
        return MAXIMUM_DOCUMENT_BYTES


class Prepared(NamedTuple):
    """A document that a store may write: checked, without the names that are the store's own."""

    partition: str
    id: str
    body: Document
    encoded: bytes
    expires: int | None


def prepare(container: Container, document: Mapping[str, Any]) -> Prepared:
    """Raises InvalidInput for what Cosmos would refuse, or would keep as something else."""
    if not isinstance(document, dict):
        if not isinstance(document, Mapping):
            raise InvalidInput("document", "must be a JSON object")
        document = dict(document)
    name, partition = document.get("id"), document.get(container.partition_key)
    check_id(name)
    check_key(container.partition_key, partition)
    try:
        body = document
        if "\0_" in "\0".join(("", *document)):  # a look at all names at once: most documents have none of these
            body = {field: value for field, value in document.items() if not field.startswith("_")}
        text = encoded(body)
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InvalidInput("document", f"must be JSON with finite numbers ({error})") from error
    if len(text) > MAXIMUM_DOCUMENT_BYTES:
        raise InvalidInput("document", f"must be at most {MAXIMUM_DOCUMENT_BYTES} bytes of JSON")
    if "ttl" in body:
        raise InvalidInput("ttl", "is the store's own; say ttl_timestamp")
    for field in _SORT_FIELDS[container.name]:
        value = body.get(field)
        if value is not None and (type(value) is not str or field in container.numbers):
            _check_sort_value(container, field, value)
    return Prepared(str(partition), str(name), body, text, _expiry(body))


def encoded(body: Document) -> bytes:
    """The document as JSON. ValueError, or TypeError, for what JSON does not have.

    orjson is ten times as quick as Python's own encoder, but writes numbers that are none as null, enumerations and
    UUIDs as what they stand for, and beyond its buffer where tuples go on without end: it gets plain values only.
    """
    if _are_plain(body.values(), MAXIMUM_DEPTH):
        try:
            return memoryview(orjson.dumps(body)).tobytes()  # the copy has no spare room, as its buffer has
        except TypeError:  # a number of more than 64 bits, a name that is none
            pass
    text = _strict(body).encode()
    orjson.loads(text)  # a number beyond all doubles could be written, but never read again
    return text


def _are_plain(values: Iterable[Any], levels: int) -> bool:
    """Whether these hold nothing but JSON's own types, to the last level."""
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
    if not isinstance(expires, int) or not _is_number(expires):
        raise InvalidInput("ttl_timestamp", "must be a whole number of Unix seconds, or null for never")
    return expires


def _check_sort_value(container: Container, name: str, value: object) -> None:
    if name in container.numbers and not _is_number(value):
        raise InvalidInput(name, f"must be a number, since {container.name} is sorted by it")
    if name not in container.numbers and not isinstance(value, str):
        raise InvalidInput(name, f"must be text, since {container.name} is sorted by it")


def check_amounts(container: Container, amounts: Mapping[str, int | float]) -> None:
    if not 1 <= len(amounts) <= MAXIMUM_INCREMENTS:
        raise InvalidInput("amounts", f"must name 1 to {MAXIMUM_INCREMENTS} fields")
    for name, amount in amounts.items():
        if not _is_field(name) or name in ("id", container.partition_key, "ttl", "ttl_timestamp"):
            raise InvalidInput("amounts", f"{name!r} is not a field that counts")
        if not _is_number(amount):
            raise InvalidInput(name, "must be raised by a finite number")


def counted(seed: Prepared, amounts: Mapping[str, int | float]) -> Document:
    """The document that a first increment leaves behind."""
    raised: Document = {}
    for name, amount in amounts.items():
        start = seed.body.get(name, 0)
        if not _is_number(start):
            raise not_a_number(name)
        raised[name] = start + amount
    return {**seed.body, **raised}


def not_a_number(name: str) -> InvalidInput:
    return InvalidInput(name, "holds no number to raise")


def _is_number(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MAXIMUM_WHOLE


def _is_field(name: object) -> bool:
    return isinstance(name, str) and bool(_FIELD.match(name))


@dataclass(frozen=True, slots=True)
class Plan:
    """A query that has been checked. `keys` are (field, descending) pairs, complete; `present` are the fields that a
    document must have to be listed; `after` has one value for each of `keys`."""

    container: Container
    query: Query
    keys: tuple[tuple[str, bool], ...]
    present: tuple[str, ...]
    after: tuple[cursors.SortValue, ...] | None
    fingerprint: str

    def moving(self) -> list[int]:
        """Which of the keys differ between the documents of this query: no equality fixes them. Never none."""
        fixed = {where.field for where in self.query.where if where.op == "eq"}
        if self.query.partition is not None:
            fixed.add(self.container.partition_key)
        return [n for n, (field, _) in enumerate(self.keys) if field not in fixed] or [len(self.keys) - 1]

    def page(self, documents: list[Document]) -> Page:
        """The page of what was found when one more than the limit was asked for."""
        items = documents[: self.query.limit]
        if len(documents) <= self.query.limit:
            return Page(items)
        return Page(items, cursors.encode(self.fingerprint, [items[-1][field] for field, _ in self.keys]))


def plan(container: Container, query: Query) -> Plan:
    """Raises InvalidInput for whatever no index backs, a limit out of range, or a cursor of another query."""
    if isinstance(query.limit, bool) or not isinstance(query.limit, int) or not 1 <= query.limit <= MAXIMUM_LIMIT:
        raise InvalidInput("limit", f"must be 1 to {MAXIMUM_LIMIT}")
    if query.partition is not None:
        check_key(container.partition_key, query.partition)
    for where in query.where:
        _check_where(container, where)
    keys, present = _keys(container, query)
    mark = cursors.fingerprint(
        [container.name, query.partition, [[w.field, w.op, _plain(w.value)] for w in query.where], query.order, keys]
    )
    after = None
    if query.after is not None:
        after = cursors.decode(mark, query.after, [field in container.numbers for field, _ in keys])
    return Plan(container, query, keys, present, after, mark)


def _keys(container: Container, query: Query) -> tuple[tuple[tuple[str, bool], ...], tuple[str, ...]]:
    if query.order is None:
        pairs = container.key_order() if query.partition is None else (("id", "ascending"),)
        present: tuple[str, ...] = ()
    elif query.order in container.orders:
        pairs = container.complete_order(query.order)
        present = tuple(field for field, _ in container.orders[query.order])
    else:
        known = ", ".join(sorted(container.orders)) or "none: this container has no orders"
        raise InvalidInput("order", f"must be one of {known}")
    return tuple((field, (way == DESCENDING) != query.reverse) for field, way in pairs), present


def _plain(value: Scalar | Sequence[Scalar] | None) -> object:
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def _check_where(container: Container, where: Where) -> None:
    if not (_is_field(where.field) or where.field == "_ts") or not container.filterable(where.field):
        raise InvalidInput(str(where.field), f"is not indexed in {container.name}, so it cannot be asked for")
    if where.op == "missing":
        return
    if where.op == "in":
        choices = _plain(where.value)
        if not isinstance(choices, list) or not 1 <= len(choices) <= MAXIMUM_CHOICES:
            raise InvalidInput(where.field, f"must be compared with 1 to {MAXIMUM_CHOICES} values")
        for choice in choices:
            _check_scalar(where.field, choice)
    elif where.op in ("eq", "contains"):
        _check_scalar(where.field, where.value)
    elif where.op in ("lt", "le", "gt", "ge"):
        if not isinstance(where.value, str) and not _is_number(where.value):
            raise InvalidInput(where.field, "must be compared with text or a finite number")
        _check_scalar(where.field, where.value)
    elif where.op == "text":
        if not isinstance(where.value, str) or not where.value:
            raise InvalidInput(where.field, "must be searched for text that is not empty")
        _check_scalar(where.field, where.value)
    else:
        raise InvalidInput("op", "must be eq, lt, le, gt, ge, in, contains, missing or text")


def _check_scalar(field: str, value: object) -> None:
    if isinstance(value, str) and _bytes(value) < MAXIMUM_DOCUMENT_BYTES:
        return
    if not isinstance(value, bool) and not _is_number(value):
        raise InvalidInput(field, "must be compared with text, a finite number, true or false")
