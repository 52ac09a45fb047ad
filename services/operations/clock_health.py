"""Whether the clock can be trusted, judged by the times that workers have recorded. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from models.operations import Heartbeat
from models.values import format_time
from services.operations.check import Check

JUMP_SHOWN = timedelta(days=1)
"""For how long a jump of the clock is named after it was seen."""


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
