"""Whether the clock can be trusted, judged by the times that workers have recorded. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from models.operations import Heartbeat
from models.values import format_time
from services.operations.check import Check

JUMP_SHOWN = timedelta(days=1)
"""For how long a jump of the clock is named after it was seen."""
DELETES_AGAIN_AFTER = timedelta(days=1)
"""For how long nothing is deleted by the clock after it moved by more than a day, as in the embedded store."""


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
