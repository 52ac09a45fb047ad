"""Which references a tool has by its mentions, and those that are kept of a day, so that they outlive mentions and
articles. The daily close keeps them, once for each day. While a mention exists, it decides (tool_references.py).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from models.mention import SentimentScore
from models.reference import Reference, ReferenceDay
from services.logs import log_event
from services.ports import Document, Store, listed_documents
from services.store.containers import CATALOG

log = logging.getLogger("toolpulse.references")

KEPT_AFTER = timedelta(days=30)
"""The references of days that began so long ago are kept. Days are frozen two days later, and mentions live for 45."""
MOST_BYTES = 1_500_000
"""Of the references of a day. A stored document has two megabytes at most."""


def is_kept(day: date, now: datetime) -> bool:
    return day < (now - KEPT_AFTER).date()


def reference_of(mention: SentimentScore) -> Reference:
    return Reference(
        source_id=mention.source_id,
        source=mention.publisher or mention.source,
        source_identifier=mention.url or mention.source_id,
        title=mention.headline,
        published_at=mention.published_at,
        role=mention.role,
        event_id=mention.event_id,
        created_at=mention.created_at,
    )


@dataclass(frozen=True, slots=True)
class Fitting:
    references: tuple[Reference, ...]
    left_out: int


def fitting(references: Sequence[Reference], most_bytes: int = MOST_BYTES) -> Fitting:
    """As many of the references as fit into a document, the first ones."""
    size = 0
    for number, each in enumerate(references):
        size += len(each.model_dump_json().encode()) + 1
        if size > most_bytes:
            return Fitting(tuple(references[:number]), len(references) - number)
    return Fitting(tuple(references), 0)


async def keep_references(store: Store, tool_id: str, day: date, mentions: Sequence[Document], now: datetime) -> None:
    """Keeps the references of a day that is old enough; `mentions` are those of the tool on that day. Those that cannot
    be read are logged and left out."""
    if not is_kept(day, now):
        return
    read = listed_documents(mentions, SentimentScore.from_document, "source_id").items
    latest_first = sorted(read, key=lambda each: (each.published_at, each.source_id), reverse=True)
    fit = fitting([reference_of(each) for each in latest_first])
    if fit.left_out:
        fields = {"tool_id": tool_id, "day": day.isoformat(), "left_out": fit.left_out}
        log_event(log, logging.WARNING, "references_not_kept", **fields)
    kept = ReferenceDay(
        created_at=now,
        updated_at=now,
        tool_id=tool_id,
        day=day.isoformat(),
        references=fit.references,
        not_kept=fit.left_out,
    )
    await store.upsert(CATALOG.name, kept.to_document())
