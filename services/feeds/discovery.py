"""The discovery delay of articles: first seen minus published, as a histogram that can be added up. Pure.

The bounds of the buckets are 10 seconds times powers of the fourth root of 2: of any two histograms, the sum has the
quantiles of all their articles, each within 10 percent. Articles that were published before the feed was first fetched
do not count, since nobody could have found them earlier; neither do those whose date is missing, unreadable or in the
future.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

SHORTEST_SECONDS = 10.0
PER_OCTAVE = 4
LAST = 72
"""The bucket of all delays over 30 days."""
_NAME = "delay_"


def bucket_of(seconds: float) -> int:
    """0 up to 10 s; n for delays over the bound of n - 1, up to that of n."""
    if seconds <= SHORTEST_SECONDS:
        return 0
    return min(LAST, math.ceil(round(PER_OCTAVE * math.log2(seconds / SHORTEST_SECONDS), 9)))


def seconds_of(bucket: int) -> float:
    """The middle of the bucket, by ratio."""
    return SHORTEST_SECONDS if bucket <= 0 else SHORTEST_SECONDS * 2.0 ** ((bucket - 0.5) / PER_OCTAVE)


def delays(published: Iterable[datetime], first_fetched_at: datetime | None, seen_at: datetime) -> dict[str, int]:
    """The counters of articles that were first seen at `seen_at`, in a feed that was first fetched at
    `first_fetched_at`; empty at the first fetch."""
    if first_fetched_at is None:
        return {}
    found = (max(0.0, (seen_at - each).total_seconds()) for each in published if each >= first_fetched_at)
    return dict(Counter(f"{_NAME}{bucket_of(each)}" for each in found))


def histogram_in(counters: Mapping[str, int]) -> dict[int, int]:
    """The histogram among the counters of a host, by bucket."""
    found = {int(name.removeprefix(_NAME)): number for name, number in counters.items() if name.startswith(_NAME)}
    return dict(sorted(found.items()))


def quantile(histogram: Mapping[int, int], share: float) -> float | None:
    """The delay in seconds that this share of the articles does not exceed; None without articles."""
    total = sum(histogram.values())
    if not total:
        return None
    rank, passed = max(1, math.ceil(share * total)), 0
    for bucket in sorted(histogram):
        passed += histogram[bucket]
        if passed >= rank:
            return round(seconds_of(bucket), 1)
    raise AssertionError("a rank is at most the total")
