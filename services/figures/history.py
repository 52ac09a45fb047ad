"""A tool's figures by hour and by day, each article counted once; of the last days as they are now, of earlier ones as
they were last.

They are added up from the counts of the tool's days. Those of the live days are recounted first; those of earlier days
stay as they were last.

In the raw layer each article counts once for each source that published it, with what that source says of the tool in
its own words. A source whose words do not name the tool does not count. This reads every mention with its article,
which has the sources; if the article has expired, the mention counts for the one source that it names. A mention with
its article takes 0.1 ms on the embedded store and up to 0.5 ms on Cosmos DB. More than 100,000 mentions are refused,
since Azure ends an HTTP request after 230 s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from models.article import Article
from models.cache import Window
from models.errors import InvalidInput, UnreadableDocument
from models.mention import SentimentScore, what_it_says
from models.tally import Tally
from models.timeline import DailyClose, DayCounts, WindowTables
from models.values import Day, format_time
from services.figures.breadth import UNKNOWN_SOURCE
from services.figures.counting import DayCount, reading
from services.figures.coverage import Coverage, Shares
from services.figures.daily_close import stored_progress
from services.figures.points import MENTIONS_KEPT, STEPS, Counted, Point, Span, day_start, days_between, first_live_day
from services.figures.recount import NOT_REMOVED, Recount, published
from services.figures.windows import Windows, analyzers_of
from services.ports import Document, Query, Store, Where, listed, pages, query_all, readable
from services.store.containers import ARTICLES, CATALOG, MENTIONS

MAX_RAW_MENTIONS = 100_000


@dataclass(frozen=True, slots=True)
class ToolHistory:
    """The history of one tool.

    `total` has the figures of the whole span, `change` compares them with the time before.
    """

    points: list[Point]
    total: dict[str, Any]
    change: dict[str, Any] | None
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """Reads histories."""

    store: Store
    recount: Recount
    coverage: Coverage
    most_raw: int = MAX_RAW_MENTIONS

    async def canonical(self, tool_id: str, span: Span) -> ToolHistory:
        """A point for each step of the span, oldest first."""
        counted, live = Counted(span), day_start(first_live_day(span.now))
        unreadable: list[str] = []
        shares, windows = Shares(await self.coverage.fetches(span.now), span.now), list[Windows]()
        if span.until > live:
            recounted = await self.recount.windows_of([tool_id], span.now)
            # The hour of a mention that cannot be read is shown as it was counted last.
            unreadable += [error.key.rpartition(" / ")[2] for error in recounted.failed.values()]
            windows = list(recounted.windows.values())
        since, sources = (windows[0].since, windows[0].sources()) if windows else (None, frozenset[str]())
        days = dict.fromkeys(days_between(counted.start, span.until))
        async for page in pages(self.store, CATALOG.name, _of_days(DayCounts, tool_id, list(days))):
            for document in page.items:
                day = date.fromisoformat(document["id"][-8:])
                del days[day]
                try:
                    with reading([document]):
                        counted.add(day, DayCount.stored(document))
                except UnreadableDocument:
                    unreadable.append(document["id"])
                    counted.add(day, None)
        closes: dict[Day, DailyClose] = {}
        if counted.start < live:
            closes = await self._closes(tool_id, span, live)
            progress = await stored_progress(self.store)
            for day in (each for each in days if each < live.date()):
                if progress is None or not progress.since <= day.isoformat() <= progress.closed_until:
                    counted.add(day, None)
        points = []
        for point, start in zip(counted.points(), span.starts, strict=True):
            step = Window(start, min(start + STEPS[span.step], span.until))
            points.append(_with_coverage(point, closes.get(point.name), shares.of(step, since, sources)))
        share = shares.of(Window(span.start, span.until), since, sources) if span.start >= live else None
        total = {**counted.total.count.figures(), "coverage": share}
        return ToolHistory(points, total, counted.change(), tuple(unreadable))

    async def day(self, tool_id: str, day: date, now: datetime) -> tuple[DailyClose | None, Point]:
        """The close of a day, and the day's present figures."""
        document = await self.store.read(CATALOG.name, tool_id, DailyClose.id_of(day.isoformat()))
        history = await self.canonical(tool_id, Span("day", day_start(day), day_start(day) + STEPS["day"], now))
        return readable(document, DailyClose.from_document), history.points[0]

    async def analyzers(self, tool_id: str) -> list[str]:
        """The analyzers that judged mentions of the last 30 days, as of the tool's last recount."""
        windows = await self.store.read(CATALOG.name, tool_id, WindowTables.ID)
        return analyzers_of(windows)

    async def _closes(self, tool_id: str, span: Span, until: datetime) -> dict[Day, DailyClose]:
        """Those of the span that can be read, before `until`."""
        days = days_between(span.start, min(span.end, until))
        found = await query_all(self.store, CATALOG.name, _of_days(DailyClose, tool_id, days)) if days else []
        closes = (readable(document, DailyClose.from_document) for document in found)
        return {close.day: close for close in closes if close is not None}

    async def raw(self, tool_id: str, span: Span, *, asked_for: str = "days") -> ToolHistory:
        """A point for each source and step with mentions, by step, then source.

        Raises InvalidInput if the span has too many mentions, or begins before the first that is kept. `asked_for` is
        the field of the request that gives the span.
        """
        oldest = day_start((span.now - MENTIONS_KEPT).date())
        if span.start < oldest:
            reason = "the mentions of each source are kept no longer"
            raise InvalidInput(asked_for, f"at least {format_time(oldest)} with layer=raw: {reason}")
        history = await self.canonical(tool_id, span)
        number = sum(point.mentions for point in history.points)
        if number > self.most_raw:
            reason = f"at most {self.most_raw:,} mentions are read, this time has {number:,} of this tool"
            raise InvalidInput(asked_for, f"a shorter time with layer=raw, any with layer=canonical: {reason}")
        unreadable: list[str] = []
        counts: dict[tuple[str, str], Tally] = {}
        analyzers: dict[tuple[str, str], set[str]] = {}
        query = published([tool_id], span.start, span.end, NOT_REMOVED)
        async for page in pages(self.store, MENTIONS.name, query):
            mentions = listed(page, SentimentScore.from_document, "source_id")
            unreadable += mentions.unreadable
            keys = [(mention.source_id, Article.ID) for mention in mentions.items]
            articles = await self.store.read_many(ARTICLES.name, keys) if keys else []
            for mention, article in zip(mentions.items, articles, strict=True):
                step = span.step_of(format_time(mention.published_at))
                for source, revision in sources_of(mention, article):
                    said = what_it_says(mention, revision)
                    if said is None:
                        continue
                    tally = Tally.of(said.sentiment, said.polarity)
                    counts[step, source] = counts.get((step, source), Tally()).plus(tally)
                    analyzers.setdefault((step, source), set()).add(mention.scored_by)
        points = [
            Point(span.step, step, {**tally.figures(), "analyzers": sorted(analyzers[step, source])}, source=source)
            for (step, source), tally in sorted(counts.items())
        ]
        return replace(history, points=points, unreadable=tuple(unreadable))


def _of_days(model: type[DayCounts | DailyClose], tool_id: str, days: Sequence[date]) -> Query:
    """`days` are consecutive."""
    first, last = (model.id_of(day.isoformat().replace("-", "")) for day in (days[0], days[-1]))
    return Query((Where("id", "ge", first), Where("id", "le", last)), partition=tool_id)


def _with_coverage(point: Point, close: DailyClose | None, share: float | None) -> Point:
    """With the coverage that the daily close has kept, or else this one; with all figures of the close if nothing else
    is known."""
    if close is None:
        return replace(point, figures={"coverage": share, **point.figures})
    if point.state == "unknown":
        return replace(point, figures=close.figures, state="closed")
    return replace(point, figures={**point.figures, "coverage": close.figures.get("coverage")})


def sources_of(mention: SentimentScore, article: Document | None) -> Iterable[tuple[str, str | None]]:
    """The sources that published the article of a mention, with their revisions."""
    sources = article.get("sources") if article is not None else None
    if article is None or not sources or not isinstance(sources, list):
        return ((mention.source or UNKNOWN_SOURCE, None),)
    attributions = article.get("source_attribution")
    known = attributions if isinstance(attributions, dict) else {}
    return [(each, (known.get(each) or {}).get("revision")) for each in sources]
