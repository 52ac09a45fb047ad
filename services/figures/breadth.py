"""How many stories, publishers and sources are behind some mentions, and what their average is worth. Pure.

Only scored mentions count: those of `total_mentions`. services/figures/counting.py adds them up for any time.

Sums are of integers: polarities in ten-thousandths, as they have four decimals.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from models.cache import FEWEST, ONE_PUBLISHER, ONE_STORY, AggregateVerdict, is_mostly_unscored
from services.parse.publisher_id import counted_publisher

TEN_THOUSANDTHS = 10_000
MEAN_UNIT = 100_000_000
"""The mean of a story is kept in ten-thousandths of this part."""

UNKNOWN_SOURCE = "unknown"


def publisher_of(mention: Mapping[str, Any]) -> str:
    return counted_publisher(mention.get("publisher_id"), source_of(mention))


def source_of(mention: Mapping[str, Any]) -> str:
    return mention.get("source") or UNKNOWN_SOURCE


@lru_cache(maxsize=4096)
def story_key(event_id: str) -> str:
    """A story's key in stored counts: 16 characters instead of 47."""
    return hashlib.sha256(event_id.encode()).hexdigest()[:16]


def polarity_of(polarity: float) -> int:
    """In ten-thousandths."""
    return round(polarity * TEN_THOUSANDTHS)


class Sums(NamedTuple):
    """Sums over stories. `squares` is of the number of mentions of each story, `means` of the mean polarity of each,
    `polarity_squares` of the square of its summed polarity, `products` of its mentions times its summed polarity."""

    stories: int = 0
    ungrouped: int = 0
    mentions: int = 0
    polarity: int = 0
    squares: int = 0
    means: int = 0
    polarity_squares: int = 0
    products: int = 0

    def plus(self, *others: Sequence[int]) -> Sums:
        return Sums(*map(sum, zip(self, *others, strict=True)))


NO_SUMS = Sums()


def sums_of(stories: Iterable[Sequence[int]]) -> Sums:
    """The sums of stories, each given as the number of its mentions and their summed polarity."""
    number = mentions = polarity = squares = means = polarity_squares = products = 0
    for each, summed in stories:
        number += 1
        mentions += each
        polarity += summed
        squares += each * each
        means += summed * MEAN_UNIT // each
        polarity_squares += summed * summed
        products += each * summed
    return Sums(number, 0, mentions, polarity, squares, means, polarity_squares, products)


def of_ungrouped(mentions: int, polarity: int, squares: int) -> Sums:
    """The sums of mentions of which each is a story of its own. `squares` is the sum of their squared polarities."""
    return Sums(mentions, mentions, mentions, polarity, mentions, polarity * MEAN_UNIT, squares, polarity)


def breadth_of(
    sums: Sums, unscored: int, publishers: Mapping[str, int], sources: Mapping[str, int]
) -> Mapping[str, Any]:
    """What aggregates and points of a history show beside the counts, from the sums over stories, and the mentions by
    publisher and by source. The contract describes the fields."""
    return _breadth_of(sums, unscored, len(publishers), *largest(publishers), *largest(sources))


@lru_cache(maxsize=8192)
def _breadth_of(
    sums: Sums,
    unscored: int,
    publishers: int,
    publisher: str | None,
    by_publisher: int,
    source: str | None,
    by_source: int,
) -> Mapping[str, Any]:
    """The same from the number of publishers, and the largest publisher and source with their mentions. Kept, since
    most windows have the same mentions at the next refresh."""
    mentions, interval = sums.mentions, confidence_interval(sums)
    found = {
        "stories": sums.stories,
        "publishers": publishers,
        "ungrouped_mentions": sums.ungrouped,
        "largest_publisher": publisher,
        "largest_publisher_share": round(by_publisher / mentions, 4) if mentions else None,
        "largest_source": source,
        "largest_source_share": round(by_source / mentions, 4) if mentions else None,
        "average_sentiment_by_story": round(sums.means / (max(1, sums.stories) * MEAN_UNIT * TEN_THOUSANDTHS), 4),
        "effective_sample_size": round(mentions**2 / max(1, sums.squares), 2),
        "confidence_interval": None if interval is None else list(interval),
    }
    said = verdict(mentions, unscored, found)
    return {**found, "verdict": said, "verdict_text": in_words(said, mentions, unscored, found)}


def largest(counts: Mapping[str, int]) -> tuple[str | None, int]:
    """The name with the highest count; of equal ones, the first by name."""
    most = max(counts.values(), default=0)
    return min((name for name, count in counts.items() if count == most), default=None), most


_T = (
    *(12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281),
    *(2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860),
    *(2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423),
)
_Z = 1.959964


def t_quantile(degrees: int) -> float:
    """The 97.5 % quantile of Student's distribution with so many degrees of freedom (at least one)."""
    if degrees <= len(_T):
        return _T[degrees - 1]
    first = (_Z**3 + _Z) / (4 * degrees)
    return _Z + first + (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / (96 * degrees**2)


def confidence_interval(sums: Sums) -> tuple[float, float] | None:
    """The 95 % confidence interval of the mean polarity, where mentions of one story are not independent.

    None with fewer than two stories, or if all stories have the same mean: nothing then tells how far other stories
    would differ.
    """
    stories, mentions, polarity = sums.stories, sums.mentions, sums.polarity
    if stories < 2:
        return None
    # The sum over stories of (summed polarity - mentions * mean)^2, times the square of the mentions.
    spread = sums.polarity_squares * mentions**2 - 2 * polarity * mentions * sums.products + polarity**2 * sums.squares
    if spread <= 0:
        return None
    mean = polarity / mentions
    half = t_quantile(stories - 1) * math.sqrt(stories / (stories - 1) * spread) / mentions**2
    low, high = ((mean + side) / TEN_THOUSANDTHS for side in (-half, half))
    return round(max(-1.0, low), 4), round(min(1.0, high), 4)


def verdict(mentions: int, unscored: int, found: Mapping[str, Any]) -> AggregateVerdict:
    """Whether the average can be relied on, and if not, the first reason that applies. `mentions` are the scored."""
    if is_mostly_unscored(mentions, unscored):
        return "MOSTLY_UNSCORED"
    if mentions < FEWEST:
        return "TOO_FEW"
    if (found["largest_publisher_share"] or 0.0) >= ONE_PUBLISHER:
        return "ONE_PUBLISHER"
    if found["effective_sample_size"] < ONE_STORY:
        return "ONE_STORY"
    return "TOO_FEW" if found["effective_sample_size"] < FEWEST else "OK"


def in_words(said: AggregateVerdict, mentions: int, unscored: int, found: Mapping[str, Any]) -> str:
    if said == "MOSTLY_UNSCORED":
        return f"mostly unscored: {unscored} of {mentions + unscored} mentions could not be scored"
    if said == "ONE_PUBLISHER":
        share = f"{found['largest_publisher_share'] or 0.0:.0%}"
        return f"one publisher: {found['largest_publisher']} has {share} of {mentions} mentions"
    stories = "1 story" if found["stories"] == 1 else f"{found['stories']} stories"
    if said == "ONE_STORY":
        return f"one story has most of {mentions} mentions"
    if said == "TOO_FEW":
        return f"too few to say: {mentions} {'mention' if mentions == 1 else 'mentions'} of {stories}"
    return f"{mentions} mentions of {stories} by {found['publishers']} publishers"


NOTHING = breadth_of(NO_SUMS, 0, {}, {})
UNKNOWN: Mapping[str, Any] = dict.fromkeys(NOTHING)
"""Of mentions of which stories, publishers and sources are not known."""
