"""Which references a tool has by its mentions, and which of them are kept of a day. Pure.

While a mention exists it decides: it is the reference, or says that there is none any more. What is kept of a day
counts for articles whose mention has expired.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from models.mention import SentimentScore
from models.reference import Reference

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


def kept_after(before: Iterable[Reference], mentions: Iterable[SentimentScore]) -> list[Reference]:
    """The references of a day, latest first. `mentions` are those of the day that exist, also removed ones."""
    found = {each.source_id: each for each in before}
    for mention in mentions:
        found.pop(mention.source_id, None)
        if mention.counts:
            found[mention.source_id] = reference_of(mention)
    return sorted(found.values(), key=lambda each: (each.published_at, each.source_id), reverse=True)


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
