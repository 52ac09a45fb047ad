"""What waits in quarantine for a person: how much, and for how long. `judge_reviews` is pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import get_args

from models.quarantine import QuarantineKind
from models.values import parse_time
from services.operations.check import Check
from services.ports import Query, Store, Where
from services.store.containers import QUARANTINE

KINDS: tuple[QuarantineKind, ...] = get_args(QuarantineKind)
PATIENCE: Mapping[QuarantineKind, timedelta] = {"BATCH": timedelta(days=1), "DOCUMENT": timedelta(days=7)}
"""For how long an item may wait. The figures lack a batch; of a full text they have what the feed said."""
_WORDS: Mapping[QuarantineKind, str] = {"BATCH": "batches of entries", "DOCUMENT": "full texts"}
_PENDING = Where("manual_review_status", "eq", "PENDING")


@dataclass(frozen=True, slots=True)
class Waiting:
    """The items of one kind that wait, the first of them since `since`."""

    pending: int = 0
    since: datetime | None = None

    def oldest_seconds(self, now: datetime) -> int:
        return 0 if self.since is None else max(0, int((now - self.since).total_seconds()))


async def waiting_reviews(store: Store) -> dict[QuarantineKind, Waiting]:
    """One query if nothing waits, which is the rule."""
    any_item = await store.query(QUARANTINE.name, Query((_PENDING,), limit=1, may_be_stale=True))
    if not any_item.items:
        return {kind: Waiting() for kind in KINDS}
    return {kind: await _waiting(store, kind) for kind in KINDS}


async def _waiting(store: Store, kind: QuarantineKind) -> Waiting:
    where = (Where("kind", "eq", kind), _PENDING)
    first = await store.query(QUARANTINE.name, Query(where, order="by_created", limit=1, may_be_stale=True))
    if not first.items:
        return Waiting()
    pending = await store.count(QUARANTINE.name, where, may_be_stale=True)
    return Waiting(max(1, pending), parse_time(first.items[0]["created_at"]))


def judge_reviews(waiting: Mapping[QuarantineKind, Waiting], now: datetime) -> Check:
    """Degraded if an item has waited for longer than its kind may."""
    facts = {
        "pending": {kind: each.pending for kind, each in waiting.items()},
        "oldest_seconds": {kind: each.oldest_seconds(now) for kind, each in waiting.items() if each.pending},
    }
    late = [
        f"{each.pending} {_WORDS[kind]} wait for a review, the first for {each.oldest_seconds(now) // 86_400} days"
        for kind, each in waiting.items()
        if each.since is not None and now - each.since > PATIENCE[kind]
    ]
    if late:
        return Check("degraded", f"{'; '.join(late)}: see GET quarantine?status=PENDING", facts)
    number = sum(each.pending for each in waiting.values())
    return Check("healthy", f"{number} items wait for a review" if number else "nothing waits for a review", facts)
