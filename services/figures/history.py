"""A tool's figures by hour and by day, each article counted once; of the last days as they are now, of earlier ones as
they were last.

Live days are counted from their mentions. A tool with too many of them is counted from the hours of its timeline, which
do not know stories and publishers. Days that are no longer live were frozen by the daily close.

In the raw layer each article counts once for each source that published it, with what that source says of the tool in
its own words. A source whose words do not name the tool does not count. This reads every mention with its article,
which has the sources; if the article has expired, the mention counts for the one source that it names. A mention with
its article takes 0.1 ms on the embedded store and up to 0.5 ms on Cosmos DB. More than 100,000 mentions are refused,
since Azure ends an HTTP request after 230 s.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, cast

from models.article import Article
from models.errors import InvalidInput
from models.history import HistoryDay, HistoryProgress
from models.mention import SentimentScore, what_it_says
from models.tally import Tally, TimelineHours
from models.timeline import Timeline, TimelineDocument, WindowsDocument, WindowTables
from models.values import Day, format_time
from services.articles.sources import further_sources
from services.figures.breadth import UNKNOWN_SOURCE
from services.figures.count_documents import hours_of
from services.figures.coverage import Coverage, ToolCoverage
from services.figures.points import Counted, Point, counted_days, days_between, oldest_counted, put_stored_day
from services.figures.recount import Recount
from services.figures.span import STEPS, Span, day_start, first_live_day
from services.figures.windows import analyzers_of
from services.ports import Clock, Document, Query, Store, Where, listed, listed_documents, pages, query_all, readable
from services.store.containers import ARTICLES, CATALOG, MENTIONS

MOST_COUNTED = 20_000
"""How many mentions a request reads, of all its tools together."""
MOST_RAW_MENTIONS = 100_000
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class ToolHistory:
    """`total` has the figures of the whole span, `change` compares them with the time before."""

    points: list[Point]
    total: dict[str, Any]
    change: dict[str, Any] | None
    unreadable: tuple[str, ...] = ()


class History:
    def __init__(
        self, store: Store, recount: Recount, coverage: Coverage, clock: Clock, most_counted: int = MOST_COUNTED
    ) -> None:
        self._store = store
        self._recount = recount
        self._coverage = coverage
        self._clock = clock
        self._most_counted = most_counted

    async def canonical(self, tool_id: str, span: Span, tools: int = 1) -> ToolHistory:
        """A point for each step of the span, oldest first. It is one of `tools` of the request."""
        live = day_start(first_live_day(span.now))
        counted = Counted(span, oldest_counted(span.now))
        hours = await self._hours_of_many(tool_id, max(counted.start, live), span, self._most_counted // tools)
        if hours is not None:
            counted = Counted(span, live, whole_hours=True)
            counted.add_hours(hours, max(counted.start, live))
        days = days_between(counted.start, span.until)
        stored, unreadable = await self._stored_days(tool_id, [day for day in days if day < live.date().isoformat()])
        progress = await self.progress() if counted.start < live else None
        from_mentions = counted_days(days, stored, span.now)
        for day in days:
            if day not in from_mentions:
                put_stored_day(counted, day, stored.get(day), progress)
        if hours is not None:
            from_mentions = {day for day in from_mentions if day < live.date().isoformat()}
        unreadable += await self._count(tool_id, counted, from_mentions)
        change = counted.change.shown() if counted.change else None
        coverage = (await self._coverage.of_tools([tool_id], span.now))[tool_id]
        points = with_coverage(counted.points(), span, coverage)
        is_known = span.start >= live
        total = {"coverage": coverage.share(span.start, span.until) if is_known else None}
        return ToolHistory(points, {**counted.total.count.figures(), **total}, change, tuple(unreadable))

    async def day(self, tool_id: str, day: date) -> tuple[HistoryDay | None, Point]:
        """The stored document of a day, and the day's present figures."""
        document = await self._store.read(CATALOG.name, tool_id, HistoryDay.id_of(day.isoformat()))
        span = Span("day", day_start(day), day_start(day) + STEPS["day"], self._clock())
        history = await self.canonical(tool_id, span)
        return readable(document, HistoryDay.from_document), history.points[0]

    async def progress(self) -> HistoryProgress | None:
        document = await self._store.read(CATALOG.name, HistoryProgress.PARTITION, HistoryProgress.ID)
        return readable(document, HistoryProgress.from_document)

    async def analyzers(self, tool_id: str) -> list[str]:
        """The analyzers that judged mentions of the last 30 days, as of the tool's last recount."""
        windows = await self._store.read(CATALOG.name, tool_id, WindowTables.ID)
        return analyzers_of(cast("WindowsDocument | None", windows))

    async def _hours_of_many(self, tool_id: str, since: datetime, span: Span, most: int) -> TimelineHours | None:
        """The hours of a tool with more than `most` mentions from `since` on; None for other tools."""
        hours = await self._timeline(tool_id)
        tallies = [hours.of_day(day.replace("-", "")) for day in days_between(since, span.until)]
        if sum(tally.total + tally.unscored for tally in tallies) <= most:
            return None
        await self._recount.recount_tool(tool_id, span.now)
        return await self._timeline(tool_id)

    async def _timeline(self, tool_id: str) -> TimelineHours:
        timeline = await self._store.read(CATALOG.name, tool_id, Timeline.ID)
        return hours_of(cast("TimelineDocument | None", timeline))

    async def _stored_days(self, tool_id: str, days: list[Day]) -> tuple[dict[Day, HistoryDay], list[str]]:
        """`days` are consecutive."""
        if not days:
            return {}, []
        first, last = HistoryDay.id_of(days[0]), HistoryDay.id_of(days[-1])
        query = Query((Where("id", "ge", first), Where("id", "le", last)), partition=tool_id, limit=_PAGE)
        found = await query_all(self._store, CATALOG.name, query)
        read = listed_documents(found, HistoryDay.from_document, "id")
        return {each.day: each for each in read.items}, list(read.unreadable)

    async def _count(self, tool_id: str, counted: Counted, days: Collection[Day]) -> list[str]:
        """Adds the mentions of these days. Returns the ids of those that cannot be counted."""
        if not days:
            return []
        since = max(counted.start, day_start(date.fromisoformat(min(days))))
        until = min(counted.span.until, day_start(date.fromisoformat(max(days))) + STEPS["day"])
        where = (
            Where("removed_at", "missing"),
            Where("published_at", "ge", format_time(since)),
            Where("published_at", "lt", format_time(until)),
        )
        unreadable: list[str] = []
        query = Query(where, partition=tool_id, order="by_published", limit=_PAGE)
        async for page in pages(self._store, MENTIONS.name, query):
            for mention in page.items:
                if mention["published_at"][:10] in days:
                    unreadable += _added(counted, mention)
        return unreadable


def with_coverage(points: Sequence[Point], span: Span, coverage: ToolCoverage) -> list[Point]:
    """The points of the span, those whose coverage was not stored with the present one."""
    found = []
    for point, start in zip(points, span.starts, strict=True):
        share = coverage.share(start, min(start + STEPS[span.step], span.until))
        found.append(replace(point, figures={"coverage": share, **point.figures}))
    return found


def _added(counted: Counted, mention: Document) -> list[str]:
    """Adds the mention; returns its id if it cannot be counted."""
    try:
        counted.add(mention)
    except ValueError:
        return [str(mention.get("source_id") or mention["id"])]
    return []


class RawHistory:
    def __init__(self, store: Store, history: History, most_raw_mentions: int = MOST_RAW_MENTIONS) -> None:
        self._store = store
        self._history = history
        self._most_raw_mentions = most_raw_mentions

    async def raw(self, tool_id: str, span: Span, *, asked_for: str = "days") -> ToolHistory:
        """A point for each source and step with mentions, by step, then source.

        Raises InvalidInput if the span has too many mentions, or begins before the first that is kept. `asked_for` is
        the field of the request that gives the span.
        """
        oldest = oldest_counted(span.now)
        if span.start < oldest:
            reason = "the mentions of each source are kept no longer"
            raise InvalidInput(asked_for, f"at least {format_time(oldest)} with layer=raw: {reason}")
        history = await self._history.canonical(tool_id, span)
        refuse_too_many(history.points, self._most_raw_mentions, asked_for)
        where = (
            Where("removed_at", "missing"),
            Where("published_at", "ge", format_time(span.start)),
            Where("published_at", "lt", format_time(span.end)),
        )
        unreadable: list[str] = []
        counts: dict[tuple[str, str], Tally] = {}
        analyzers: dict[tuple[str, str], set[str]] = {}
        query = Query(where, partition=tool_id, order="by_published", limit=_PAGE)
        async for page in pages(self._store, MENTIONS.name, query):
            mentions = listed(page, SentimentScore.from_document, "source_id")
            unreadable += mentions.unreadable
            keys = [(mention.source_id, Article.ID) for mention in mentions.items]
            articles = await self._store.read_many(ARTICLES.name, keys) if keys else []
            further = await further_sources(self._store, (each for each in articles if each is not None))
            for mention, article in zip(mentions.items, articles, strict=True):
                step = span.step_of(format_time(mention.published_at))
                for source, revision in (*sources_of(mention, article), *further.get(mention.source_id, ())):
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


def refuse_too_many(points: Sequence[Point], most: int, asked_for: str = "days") -> None:
    """Raises InvalidInput, with the largest allowed number of steps, if the points have more than `most` mentions."""
    mentions, steps_that_fit = 0, 0
    for point in reversed(points):
        mentions += point.mentions
        steps_that_fit += mentions <= most
    if mentions <= most:
        return
    allowed = f"at most {steps_that_fit}" if steps_that_fit else "none"
    if asked_for != "days":
        allowed = f"at most {steps_that_fit} {points[0].step}s before `to`" if steps_that_fit else "none"
    reason = f"these {points[0].step}s have {mentions:,} mentions of this tool, and at most {most:,} are read"
    raise InvalidInput(asked_for, f"{allowed} with layer=raw, any with layer=canonical: {reason}")


def sources_of(mention: SentimentScore, article: Document | None) -> Iterable[tuple[str, str | None]]:
    """The sources that published the article of a mention, as far as the article lists them, with their revisions."""
    sources = article.get("sources") if article is not None else None
    if article is None or not sources or not isinstance(sources, list):
        return ((mention.source or UNKNOWN_SOURCE, None),)
    attributions = article.get("source_attribution")
    known = attributions if isinstance(attributions, dict) else {}
    return [(each, (known.get(each) or {}).get("revision")) for each in sources]
