"""What a document is in Azure Cosmos DB: the port's, with `ttl` worked out from `ttl_timestamp`, its ETag of two parts.

Talks to no store: an item comes in as it was answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from services.ports import Document
from services.store import rules

LONGEST_TTL = 2**31 - 1

_OWN_FIELDS = frozenset({"_rid", "_self", "_attachments", "_write", "ttl"})


def body(prepared: rules.Prepared, now: int) -> Document:
    # Cosmos counts a lifetime from the last write.
    ttl = {} if prepared.expires is None else {"ttl": min(max(1, prepared.expires - now), LONGEST_TTL)}
    return {**prepared.body, **ttl}


def expired(held: Mapping[str, Any], now: int) -> bool:
    expires = held.get("ttl_timestamp")
    return expires is not None and expires <= now


def document(held: Mapping[str, Any]) -> Document:
    read = {field: value for field, value in held.items() if field not in _OWN_FIELDS}
    read["_etag"] = etag(held)
    return read


def etag(held: Mapping[str, Any]) -> str:
    """The port's ETag carries the deadline, so that a replace knows without a read that the version has expired."""
    return f"{held.get('ttl_timestamp') or ''}|{held['_etag']}"


def etag_parts(etag: str) -> tuple[float, str | None]:
    deadline, found, stored = etag.partition("|")
    if not found or not stored or not (deadline == "" or deadline.isdecimal()):
        return 0.0, None
    return float(deadline or "inf"), stored
