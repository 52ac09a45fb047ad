"""Items of Azure Cosmos DB: how a document of the port is stored, and how a stored item is read as one. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from services.ports import Document
from services.store import rules

Item = Mapping[str, Any]
"""A document with `ttl` for Cosmos's own purge, and with the fields that Cosmos adds."""

LONGEST_TTL = 2**31 - 1

_OWN_FIELDS = frozenset({"_rid", "_self", "_attachments", "_write", "ttl"})


def item(prepared: rules.Prepared, now: int, token: str | None = None) -> Document:
    """The item to write. Its random `_write` tells a retry that an earlier try was done and its response lost."""
    # Cosmos counts a lifetime from the last write.
    ttl = {} if prepared.expires is None else {"ttl": min(max(1, prepared.expires - now), LONGEST_TTL)}
    return {**prepared.body, **ttl} if token is None else {**prepared.body, **ttl, "_write": token}


def was_written_by(stored: Item | None, token: str) -> bool:
    return stored is not None and stored.get("_write") == token


def expired(stored: Item, now: int) -> bool:
    expires = stored.get("ttl_timestamp")
    return expires is not None and expires <= now


def document(stored: Item) -> Document:
    read = {field: value for field, value in stored.items() if field not in _OWN_FIELDS}
    read["_etag"] = etag(stored)
    return read


def etag(stored: Item) -> str:
    """The port's ETag: the deadline, by which a replace sees without a read that the version has expired, and Cosmos's
    own."""
    expires = stored.get("ttl_timestamp")
    return f"{'' if expires is None else expires}|{stored['_etag']}"


def etag_to_match(etag: str, now: int) -> str | None:
    """Cosmos's own ETag, or None if the version has expired, or the text is no ETag of this store."""
    rules.check_etag(etag)
    deadline, _, stored = etag.partition("|")
    if not stored or not stored.isascii() or not stored.isprintable():
        return None
    if deadline and not (deadline.isdecimal() and int(deadline) > now):
        return None
    return stored
