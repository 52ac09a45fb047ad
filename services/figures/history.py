"""A tool's figures day by day. Canonical: each article once. Raw: once for each source that carried it.

Canonical days are sums of the timeline's hours. What each source carried is with the articles, so the raw layer reads
the mentions of its days and looks their articles up; an article that has expired counts for the source that its mention
names. That takes about 0.1 ms for each mention on the embedded store and up to 0.5 ms on Cosmos, so that days with more
than 100,000 together are refused: HTTP would end before the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from models.article import Article
from models.errors import InvalidInput
from models.mention import SentimentScore
from models.timeline import Numbers, Tally, Timeline
from models.values import Day, format_time
from services.figures.recount import Recount
from services.figures.tables import hours_in, total
from services.ports import Clock, Document, Query, Store, Where
from services.store.containers import ARTICLES, CATALOG, MENTIONS
from services.store.listed import Listed, listed

MOST_DAYS = 30
DEFAULT_DAYS = 7
UNKNOWN_SOURCE = "unknown"
MOST_RAW_MENTIONS = 100_000
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
    def __init__(
        self, store: Store, recount: Recount, clock: Clock, most_raw_mentions: int = MOST_RAW_MENTIONS
    ) -> None:
        self._store = store
        self._recount = recount
        self._clock = clock
        self._most_raw_mentions = most_raw_mentions

    async def canonical(self, tool_id: str, days: int) -> list[Point]:
        """One point for each of the last `days` days, today included, oldest first."""
        now = self._clock()
        await self._recount.recount_tool(tool_id, now)
        hours = hours_in(await self._store.read(CATALOG.name, tool_id, Timeline.ID))
        return daily(hours, days_until(now.date(), days))

    async def raw(self, tool_id: str, days: int) -> Listed[Point]:
        """One point for each source and day on which it carried something, by day, then source.

        Raises InvalidInput if so many days have too many mentions.
        """
        self._refuse_too_many(await self.canonical(tool_id, days))
        since = days_until(self._clock().date(), days)[0]
        unreadable: list[str] = []
        tallies: dict[tuple[str, str], Tally] = {}
        after: str | None = None
        while True:
            where = (
                Where("removed_at", "missing"),
                Where("published_at", "ge", format_time(datetime.combine(since, time(), UTC))),
            )
            query = Query(where, partition=tool_id, order="by_published", limit=_PAGE, after=after)
            page = await self._store.query(MENTIONS.name, query)
            mentions = listed(page, SentimentScore.from_document, "source_id")
            unreadable += mentions.unreadable
            keys = [(mention.source_id, Article.ID) for mention in mentions.items]
            articles = await self._store.read_many(ARTICLES.name, keys) if keys else []
            for mention, article in zip(mentions.items, articles, strict=True):
                one = Tally.of(mention.sentiment, mention.polarity)
                for source in sources_of(mention, article):
                    key = (mention.published_at.date().isoformat(), source)
                    tallies[key] = tallies.get(key, Tally()).plus(one)
            after = page.next
            if after is None:
                points = [Point(day, tally, source) for (day, source), tally in sorted(tallies.items())]
                return Listed(points, unreadable=tuple(unreadable))

    def _refuse_too_many(self, points: Sequence[Point]) -> None:
        looked_at, fitting = 0, 0
        for point in reversed(points):
            looked_at += point.tally.total
            fitting += looked_at <= self._most_raw_mentions
        if looked_at > self._most_raw_mentions:
            allowed = f"at most {fitting} with layer=raw" if fitting else "none with layer=raw; ask for layer=canonical"
            most = f"{self._most_raw_mentions:,} at most are looked up"
            raise InvalidInput("days", f"{allowed}: these have {looked_at:,} mentions of this tool, and {most}")


def sources_of(mention: SentimentScore, article: Document | None) -> Iterable[str]:
    sources = article.get("sources") if article is not None else None
    return sources if sources and isinstance(sources, list) else (mention.source or UNKNOWN_SOURCE,)


def days_until(today: date, days: int) -> list[date]:
    return [today - timedelta(days=back) for back in reversed(range(days))]


def daily(hours: Mapping[str, Numbers], days: Sequence[date]) -> list[Point]:
    by_day: dict[str, list[Numbers]] = {f"{day:%Y%m%d}": [] for day in days}
    for hour, numbers in hours.items():
        if hour[:8] in by_day:
            by_day[hour[:8]].append(numbers)
    return [Point(day.isoformat(), total(by_day[f"{day:%Y%m%d}"])) for day in days]
