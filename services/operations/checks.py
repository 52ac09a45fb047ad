"""The result of one check of the app's health; the heartbeats of timers, and what they tell of the clock; and the check
of what waits in quarantine.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from models.errors import Unavailable
from models.operations import Heartbeat
from models.quarantine import QuarantineKind
from models.values import format_time, parse_time
from services.logs import log_event
from services.ports import Clock, Query, Store, Where, readable
from services.store.containers import CATALOG, QUARANTINE

log = logging.getLogger("toolpulse.heartbeats")

Status = Literal["healthy", "degraded", "unhealthy"]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check: a status, the reason as text, and figures."""

    status: Status
    detail: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def shown(self) -> dict[str, Any]:
        return {"status": self.status, "detail": self.detail, **self.facts}


STORED_AT_LEAST_EVERY = timedelta(minutes=5)


class Heartbeats:
    """Records in the store when each timer ran, so that every instance can read it.

    A timer that runs every 30 seconds does not write every 30 seconds: a heartbeat is stored when the last one that
    this process stored is five minutes old or, by a clock that was set back, in the future, or when the outcome has
    changed.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._stored: dict[str, tuple[datetime, bool]] = {}

    async def record(self, timer: str, started: datetime, error: str | None = None) -> None:
        """Records the outcome of a run that began at `started`. Without `error` it succeeded.

        A heartbeat that cannot be stored is logged, not raised: the run has done its work, and its messages must be
        sent.
        """
        now, succeeded = self._clock(), error is None
        last = self._stored.get(timer)
        if last and last[1] == succeeded and timedelta(0) <= now - last[0] < STORED_AT_LEAST_EVERY:
            return
        try:
            document = await self._store.read(CATALOG.name, Heartbeat.PARTITION, timer)
            known = readable(document, Heartbeat.from_document) or Heartbeat.first(timer, now)
            await self._store.upsert(CATALOG.name, known.beaten(started, now, error).to_document())
        except Unavailable as failure:
            log_event(log, logging.WARNING, "heartbeat_not_stored", timer=timer, error=str(failure))
            return
        self._stored[timer] = (now, succeeded)

    async def list(self, timers: Sequence[str]) -> dict[str, Heartbeat]:
        """The stored heartbeats among `timers`, by name."""
        keys = [(Heartbeat.PARTITION, timer) for timer in timers]
        stored = await self._store.read_many(CATALOG.name, keys, may_be_stale=True)
        beats = [readable(document, Heartbeat.from_document) for document in stored]
        return {beat.id: beat for beat in beats if beat is not None}


JUMP_SHOWN = timedelta(days=1)
"""For how long a jump of the clock is named after it was seen."""
DELETES_AGAIN_AFTER = timedelta(days=1)
"""For how long nothing is deleted by the clock after it moved by more than a day."""


def judge_clock(beats: Mapping[str, Heartbeat], last_success: datetime | None, now: datetime) -> Check:
    """Degraded while a time that a worker has recorded lies in the future: this clock went back, or another worker's
    clock is ahead. A jump that was seen in the last day is named."""
    recorded = [beat.last_beat_at for beat in beats.values()] + ([last_success] if last_success else [])
    latest = max(recorded, default=now)
    gaps = {(beat.gap_from, beat.gap_until) for beat in beats.values() if beat.gap_from and beat.gap_until}
    seen = [(since, until) for since, until in gaps if timedelta(0) <= now - until <= JUMP_SHOWN]
    jump = max(seen, key=lambda gap: abs(gap[1] - gap[0]), default=None)
    facts = {
        "ahead_seconds": max(0, int((latest - now).total_seconds())),
        "jump": [format_time(time) for time in jump] if jump else None,
    }
    details = []
    is_ahead = latest > now + Heartbeat.CLOCK_WENT_BACK
    if is_ahead:
        details.append(
            f"the clock went back by {latest - now}, or another worker's clock is ahead: a worker recorded"
            f" {format_time(latest)}"
        )
    if jump is not None:
        since, until = map(format_time, jump)
        what = "no worker ran, or the clock jumped," if jump[0] < jump[1] else "the clock went back"
        details.append(f"{what} from {since} to {until}")
    return Check("degraded" if is_ahead else "healthy", "; ".join(details) or "no jump in the last day", facts)


def may_delete_by_clock(beat: Heartbeat | None, now: datetime) -> bool:
    """Whether a timer's heartbeat shows that the clock has been steady for a day, or has moved by less than a day. At a
    first run nothing is known yet."""
    if beat is None or not -Heartbeat.CLOCK_WENT_BACK <= now - beat.last_beat_at <= DELETES_AGAIN_AFTER:
        return False
    if beat.gap_from is None or beat.gap_until is None:
        return True
    moved, since = abs(beat.gap_until - beat.gap_from), abs(now - beat.gap_until)
    return moved <= DELETES_AGAIN_AFTER or since > DELETES_AGAIN_AFTER


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
