"""The data behind an aggregate: the mentions that it counts (Evidence), and the tool's figures by day (History).

A history is canonical, where each article counts once, or raw, where it counts once for each source. Canonical days are
sums of the timeline's hours. The raw layer reads every mention and its article, which has the sources; if the article
has expired, the mention counts for the one source that it names. Reading a mention with its article takes 0.1 ms on
the embedded store and up to 0.5 ms on Cosmos DB. More than 100,000 mentions are refused, since Azure ends an HTTP
request after 230 s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, cast

from models.article import Article
from models.cache import SentimentCacheEntry, Window
from models.errors import InvalidInput
from models.mention import SentimentScore
from models.tally import Tally, TimelineHours
from models.timeline import Timeline, TimelineDocument, WindowTables
from models.values import Day, format_time
from services.articles.observations import further_sources
from services.figures.counts import hours_of, recounts_of
from services.figures.recount import Recount
from services.mentions.dirty_hours import dirty_hours_of
from services.mentions.listing import mentions_page
from services.ports import Clock, Document, Listed, Query, Store, Where, listed, pages
from services.store.containers import ARTICLES, CATALOG, MENTIONS

MOST_DAYS = 30
DEFAULT_DAYS = 7
UNKNOWN_SOURCE = "unknown"
MOST_RAW_MENTIONS = 100_000
_PAGE = 1000

# The cursor has the end of the first page's window: later pages have the same window even if the entry was refreshed.
_CURSOR = re.compile(r"([0-9]{1,10})-([A-Za-z0-9_=-]+)")


class Evidence:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def window_facts(self, entry: SentimentCacheEntry, cursor: str | None) -> dict[str, int | bool | None]:
        """The window of a page, and whether the entry still counts the mentions in it. To be called after `page`.

        `figures_updated_ts` is when the figures of that window were computed, None if the entry is of a later window
        now. `changed_since`: a mention of the tool was added, changed or removed since the entry was computed.
        """
        window, _ = window_of(entry, cursor)
        start_ts, end_ts = window.seconds
        # Dirty hours are read before the timeline: a recount deletes them in the batch that raises the timeline's
        # number, so one of the two reads shows the change.
        dirty_hours = await dirty_hours_of(self._store, entry.tool_id)
        timeline = await self._store.read(CATALOG.name, entry.tool_id, Timeline.ID)
        recounts = recounts_of(cast("TimelineDocument | None", timeline))
        return {
            "period_start_ts": start_ts,
            "period_end_ts": end_ts,
            "figures_updated_ts": entry.last_updated_ts if end_ts == entry.period_end_ts else None,
            "changed_since": bool(dirty_hours) or recounts != entry.recounts,
        }

    async def page(
        self, entry: SentimentCacheEntry, limit: int, cursor: str | None, said: str | None = None
    ) -> Listed[SentimentScore]:
        """With `said`, the mentions with this sentiment, or the unscored ones."""
        window, after = window_of(entry, cursor)
        where = (
            Where("published_at", "ge", format_time(window.start)),
            Where("published_at", "lt", format_time(window.end)),
        )
        page = await mentions_page(self._store, entry.tool_id, where, limit, after, said)
        mentions = listed(page, SentimentScore.from_document, "source_id")
        return replace(mentions, next=page.next and f"{window.seconds[1]}-{page.next}")


def window_of(entry: SentimentCacheEntry, cursor: str | None) -> tuple[Window, str | None]:
    """The window that the cursor continues, and the store's cursor in it."""
    if cursor is None:
        return entry.window, None
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise InvalidInput("cursor", "must be the `next` of a page of the same query")
    return Window.ending(entry.period, datetime.fromtimestamp(int(found[1]), UTC)), found[2]


@dataclass(frozen=True, slots=True)
class Point:
    """The figures of a UTC day; in the raw layer, those of one source. For the fields see SentimentCacheEntry."""

    day: Day
    tally: Tally
    analyzers: tuple[str, ...] = ()
    source: str | None = None

    def shown(self) -> dict[str, Any]:
        source = {} if self.source is None else {"source": self.source}
        return {"day": self.day, **source, **self.tally.figures(), "analyzers": list(self.analyzers)}


class History:
    def __init__(
        self, store: Store, recount: Recount, clock: Clock, most_raw_mentions: int = MOST_RAW_MENTIONS
    ) -> None:
        self._store = store
        self._recount = recount
        self._clock = clock
        self._most_raw_mentions = most_raw_mentions

    async def canonical(self, tool_id: str, days: int) -> Listed[Point]:
        """A point for each of the last `days` days, oldest first; the last is today."""
        now = self._clock()
        await self._recount.recount_tool(tool_id, now)
        timeline = await self._store.read(CATALOG.name, tool_id, Timeline.ID)
        hours = hours_of(cast("TimelineDocument | None", timeline))
        return Listed(daily(hours, days_until(now.date(), days)))

    async def analyzers(self, tool_id: str) -> list[str]:
        """The analyzers that judged mentions of the last 30 days, as of the tool's last recount."""
        windows = await self._store.read(CATALOG.name, tool_id, WindowTables.ID)
        return sorted((windows or {}).get("analyzers") or ())

    async def raw(self, tool_id: str, days: int) -> Listed[Point]:
        """A point for each source and day with mentions, by day, then source.

        Raises InvalidInput if these days have too many mentions.
        """
        refuse_too_many((await self.canonical(tool_id, days)).items, self._most_raw_mentions)
        since = datetime.combine(days_until(self._clock().date(), days)[0], time(), UTC)
        where = (Where("removed_at", "missing"), Where("published_at", "ge", format_time(since)))
        unreadable: list[str] = []
        tallies: dict[tuple[str, str], Tally] = {}
        analyzers: dict[tuple[str, str], set[str]] = {}
        query = Query(where, partition=tool_id, order="by_published", limit=_PAGE)
        async for page in pages(self._store, MENTIONS.name, query):
            mentions = listed(page, SentimentScore.from_document, "source_id")
            unreadable += mentions.unreadable
            keys = [(mention.source_id, Article.ID) for mention in mentions.items]
            articles = await self._store.read_many(ARTICLES.name, keys) if keys else []
            further = await further_sources(self._store, (each for each in articles if each is not None))
            for mention, article in zip(mentions.items, articles, strict=True):
                of_mention = Tally.of(mention.sentiment, mention.polarity)
                for source in (*sources_of(mention, article), *further.get(mention.source_id, ())):
                    key = (mention.published_at.date().isoformat(), source)
                    tallies[key] = tallies.get(key, Tally()).plus(of_mention)
                    analyzers.setdefault(key, set()).add(mention.scored_by)
        points = [
            Point(day, tally, tuple(sorted(analyzers[day, source])), source)
            for (day, source), tally in sorted(tallies.items())
        ]
        return Listed(points, unreadable=tuple(unreadable))


def refuse_too_many(points: Sequence[Point], most: int) -> None:
    """Raises InvalidInput, with the largest allowed number of days, if the points have more than `most` mentions."""
    mentions, days_that_fit = 0, 0
    for point in reversed(points):
        mentions += point.tally.total + point.tally.unscored
        days_that_fit += mentions <= most
    if mentions <= most:
        return
    allowed = f"at most {days_that_fit}" if days_that_fit else "none"
    reason = f"these days have {mentions:,} mentions of this tool, and at most {most:,} are read"
    raise InvalidInput("days", f"{allowed} with layer=raw, any with layer=canonical: {reason}")


def sources_of(mention: SentimentScore, article: Document | None) -> Iterable[str]:
    """The sources that published the article of a mention, as far as the article lists them."""
    sources = article.get("sources") if article is not None else None
    return sources if sources and isinstance(sources, list) else (mention.source or UNKNOWN_SOURCE,)


def days_until(today: date, days: int) -> list[date]:
    """The last `days` days, oldest first."""
    return [today - timedelta(days=back) for back in reversed(range(days))]


def daily(hours: TimelineHours, days: Sequence[date]) -> list[Point]:
    """The sum of the hours of each day."""
    keys = {day: f"{day:%Y%m%d}" for day in days}
    return [Point(day.isoformat(), hours.of_day(key), hours.analyzers_of_day(key)) for day, key in keys.items()]
