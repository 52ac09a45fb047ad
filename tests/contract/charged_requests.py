"""What a request for items of Cosmos DB costs, as it is seen on the wire: by the rules of benchmarks/scale/charges.py.

A write costs by the document that it replaces. So a Charges remembers size and indexed terms of every document that is
written through it: it must see all writes. An expired document
counts as deleted, as Azure purges it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

import orjson

from benchmarks.scale import charges
from services.store.containers import CONTAINERS

Answer = tuple[int, Any]
"""The status of a response and its JSON."""


class Request(NamedTuple):
    """A request for items. `id` is empty unless the path names an item; `headers` do not mind their case."""

    method: str
    container: str
    id: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def kind(self) -> str:
        if self.method != "POST":
            return {"GET": "read", "PUT": "replace", "DELETE": "delete"}[self.method]
        if self.headers.get("x-ms-documentdb-isquery", "").lower() == "true":
            return "query"
        if self.headers.get("x-ms-cosmos-is-batch-request", "").lower() == "true":
            return "batch"
        return "upsert" if self.headers.get("x-ms-documentdb-is-upsert", "").lower() == "true" else "create"

    @property
    def partition(self) -> str:
        """The partition key, empty for a query across partitions. The SDK escapes every character beyond ASCII."""
        keys = orjson.loads(self.headers.get("x-ms-documentdb-partitionkey", "[]"))
        return str(keys[0]) if keys else ""

    @property
    def is_weak(self) -> bool:
        return self.headers.get("x-ms-consistency-level", "Strong") not in ("Strong", "BoundedStaleness")


def parsed(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Request | None:
    """The request, or None if it is not for items."""
    parts = path.split("?", maxsplit=1)[0].strip("/").split("/")
    if len(parts) < 5 or parts[2] != "colls" or parts[4] != "docs" or parts[3] not in CONTAINERS:
        return None
    return Request(method, parts[3], unquote(parts[5]) if len(parts) > 5 else "", headers, body)


class Charges:
    """`now` is the time of the documents' `ttl_timestamp`."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self.now = now
        self._stored: dict[tuple[str, str, str], tuple[int, set[charges.Term]]] = {}
        self._expires: dict[tuple[str, str, str], float] = {}

    def of(self, request: Request, answer: Answer) -> float:
        """The request units of a request with this response. A request that failed costs a read."""
        status, found = answer
        name, partition, weak = request.container, request.partition, request.is_weak
        match request.kind:
            case "query":
                return self._query(found, request.body, weak) if status == 200 else charges.query([], weak=weak)
            case "read":
                return charges.read(charges.size_of(found) if status == 200 else 0, weak=weak)
            case "batch":
                return self._batch(name, partition, orjson.loads(request.body), found, status)
            case "delete":
                return self._delete(name, partition, request.id, done=status < 300)
            case _:
                return self._write(name, partition, orjson.loads(request.body), done=status < 300)

    def _query(self, found: Any, body: bytes, weak: bool) -> float:
        if b"SELECT VALUE COUNT(1)" in body:
            return charges.count(sum(found["Documents"]), weak=weak)
        return charges.query([charges.size_of(each) for each in found["Documents"]], weak=weak)

    def _batch(
        self, container: str, partition: str, operations: list[dict[str, Any]], found: Any, status: int
    ) -> float:
        if status != 200:
            return charges.read(0)
        units = 0.0
        for operation in operations:
            if operation["operationType"] == "Delete":
                units += self._delete(container, partition, operation["id"], done=True)
            else:
                units += self._write(container, partition, operation["resourceBody"], done=True)
        return units

    def _write(self, container: str, partition: str, document: Any, *, done: bool) -> float:
        if not done:
            return charges.read(charges.size_of(document) if "id" in document else 0)
        key = (container, partition, document["id"])
        after = charges.measured(CONTAINERS[container], document)
        is_expired = self._expires.get(key, math.inf) <= self.now()
        units = charges.over(None if is_expired else self._stored.get(key), after)
        self._stored[key], self._expires[key] = after, document.get("ttl_timestamp") or math.inf
        return units

    def _delete(self, container: str, partition: str, id: str, *, done: bool) -> float:
        size, terms = self._stored.get((container, partition, id), (0, set()))
        if not done:
            return charges.read(size)
        self._stored.pop((container, partition, id), None)
        return charges.delete(size, len(terms))
