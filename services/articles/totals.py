"""What ingestion counts besides the figures of its runs: totals for `GET metrics`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from models.metrics import IngestionTotals, within
from models.run import Attempt
from services.articles.runs import FETCH
from services.ports import Store
from services.store.containers import CATALOG


def amounts_of(attempts: Iterable[Attempt]) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for attempt in attempts:
        found, stored, held = attempt.articles_found or 0, attempt.articles_stored or 0, attempt.articles_held or 0
        counted["articles_inserted"] += stored
        counted["articles_deduplicated"] += max(0, found - stored - held)
        counted["fetch_errors"] += attempt.status == "FAILED"
        if attempt.task_name == FETCH:  # what is let in was parsed when it was fetched
            counted["articles_parsed"] += found
            took = attempt.duration_ms or 0
            counted["fetches"] += 1
            counted["fetch_milliseconds"] += took
            counted.update(within(took, IngestionTotals.BOUNDS_MS))
    return {name: number for name, number in counted.items() if number}


async def add_totals(store: Store, attempts: Iterable[Attempt], now: datetime) -> None:
    amounts = amounts_of(attempts)
    if amounts:
        await store.increment(CATALOG.name, IngestionTotals.at(now).to_document(), amounts)
