"""One page of documents as what they are: one that cannot be read does not hide the others, and is named.

The answer says which were left out, the log also why.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from models.errors import UnreadableDocument
from services.logs import log_event
from services.ports import Document, Page

log = logging.getLogger("toolpulse.listed")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """`unreadable` are the ids of those that are not among the items."""

    items: list[T]
    next: str | None = None
    unreadable: tuple[str, ...] = ()


def listed(page: Page, read: Callable[[Document], T], named_by: str) -> Listed[T]:
    """`read` raises UnreadableDocument; `named_by` is the field that callers know such a document by."""
    items: list[T] = []
    unreadable: list[str] = []
    for document in page.items:
        try:
            items.append(read(document))
        except UnreadableDocument as error:
            unreadable.append(str(document.get(named_by) or document["id"]))
            log_unreadable(error)
    return Listed(items, page.next, tuple(unreadable))


def log_unreadable(error: UnreadableDocument) -> None:
    log_event(log, logging.ERROR, "document_unreadable", kind=error.kind, key=error.key, why=error.why)
