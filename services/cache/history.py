"""A tool's figures day by day. Canonical: each article once. Raw: once for each source that carried it.

Canonical days are sums of the timeline's hours. What each source carried is with the articles, so the raw layer reads
the mentions of its days and looks their articles up; an article that has expired counts for the source that its mention
names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from models.article import Article
from models.timeline import Numbers, Tally, Timeline
from models.values import Day, format_time
from services.cache.recount import Recount
from services.cache.tables import hours_in, total
from services.ports import Clock, Document, Query, Store, Where
from services.store.containers import ARTICLES, CATALOG, MENTIONS

MOST_DAYS = 30
DEFAULT_DAYS = 7
UNKNOWN_SOURCE = "unknown"
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Point:
    """One UTC day, of one source in the raw layer."""

    day: Day
    tally: Tally
    source: str | None = None

    def shown(self) -> dict[str, str | int | float]:
        source = {} if self.source is None else {"source": self.source}
        return {
            "day": self.day,
            **source,
            "total_mentions": self.tally.total,
            "positive_count": self.tally.positive,
            "negative_count": self.tally.negative,
            "neutral_count": self.tally.neutral,
            "average_sentiment": self.tally.average_sentiment,
        }


class History:
    def __init__(self, store: Store, recount: Recount, clock: Clock) -> None:
        self._store = store
        self._recount = recount
        self._clock = clock

    async def canonical(self, tool_id: str, days: int) -> list[Point]:
        """One point for each of the last `days` days, today included, oldest first."""
        now = self._clock()
        await self._recount.recount_tool(tool_id, now)
        hours = hours_in(await self._store.read(CATALOG.name, tool_id, Timeline.ID))
        return daily(hours, days_until(now.date(), days))

    async def raw(self, tool_id: str, days: int) -> list[Point]:
        """One point for each source and day on which it carried something, by day, then source."""
        listed = days_until(self._clock().date(), days)
        tallies: dict[tuple[str, str], Tally] = {}
        after: str | None = None
        while True:
            where = (
                Where("removed_at", "missing"),
                Where("published_at", "ge", format_time(datetime.combine(listed[0], time(), UTC))),
            )
            query = Query(where, partition=tool_id, order="by_published", limit=_PAGE, after=after)
            page = await self._store.query(MENTIONS.name, query)
            articles = await self._store.read_many(
                ARTICLES.name, [(mention["source_id"], Article.ID) for mention in page.items]
            )
            for mention, article in zip(page.items, articles, strict=True):
                one = Tally.of(mention["sentiment"], mention["polarity"])
                for source in sources_of(mention, article):
                    key = (mention["published_at"][:10], source)
                    tallies[key] = tallies.get(key, Tally()).plus(one)
            after = page.next
            if after is None:
                return [Point(day, tally, source) for (day, source), tally in sorted(tallies.items())]


def sources_of(mention: Document, article: Document | None) -> Iterable[str]:
    if article is not None and article.get("sources"):
        sources: Iterable[str] = article["sources"]
        return sources
    return (mention.get("source") or UNKNOWN_SOURCE,)


def days_until(today: date, days: int) -> list[date]:
    return [today - timedelta(days=back) for back in reversed(range(days))]


def daily(hours: Mapping[str, Numbers], days: Sequence[date]) -> list[Point]:
    by_day: dict[str, list[Numbers]] = {f"{day:%Y%m%d}": [] for day in days}
    for hour, numbers in hours.items():
        if hour[:8] in by_day:
            by_day[hour[:8]].append(numbers)
    return [Point(day.isoformat(), total(by_day[f"{day:%Y%m%d}"])) for day in days]
