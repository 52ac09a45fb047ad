"""A cache on a store, articles with their judgements of tools, and the processes that write these as mentions."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from models.cache import PERIODS, CacheGeneration, Period, SentimentCacheEntry, entry_id, percentages, window_end
from models.mention import SentimentScore
from models.tally import Tally
from models.tool import Tool
from models.values import Sentiment, hour_key
from services.figures.counting import UNSCORED, Count, CountedMention
from services.figures.figures import Figures
from services.figures.windows import Windows, edges_of
from services.mentions.due import RefreshMessage, dirty_hours_of, mark_dirty
from services.ports import Clock, Document, LastWrite, Query, Queues, Store
from services.store.containers import CATALOG, MENTIONS, SENTIMENT_CACHE
from services.tools.catalog import Catalog
from tests.builders import MemoryQueues, forgetful
from tests.documents import by_hour as by_hour_of
from tests.functional.articles.dying import Died, DyingStore

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
POLARITY: dict[Sentiment, float] = {"positive": 0.75, "negative": -0.5, "neutral": 0.0}
Said = Sentiment | Literal["unscored"]


ANALYZER = "embedded/1"
"""The present analyzer."""


def judged(said: Said) -> dict[str, Any]:
    """The fields of a mention that has this sentiment, or that could not be scored."""
    if said == "unscored":
        return {"sentiment": None, "score": None, "polarity": None, "unscored_reason": "LANGUAGE"}
    return {"sentiment": said, "score": 0.9, "polarity": POLARITY[said], "unscored_reason": None}


def a_tool(number: int, now: datetime, **changes: Any) -> Tool:
    fields: dict[str, Any] = {
        "tool_id": str(uuid.UUID(int=number + 1)),
        "primary_name": f"tool {number}",
        "created_at": now,
        "updated_at": now,
    }
    return Tool(**(fields | changes))


async def some_tools(store: Store, count: int) -> list[Tool]:
    tools = [a_tool(number, NOW - timedelta(days=40)) for number in range(count)]
    await store.write_many(CATALOG.name, [tool.to_document() for tool in tools])
    return tools


def a_mention(
    tool_id: str, source_id: str, published_at: datetime, sentiment: Said = "positive", **changes: Any
) -> SentimentScore:
    fields: dict[str, Any] = {
        "created_at": published_at,
        "updated_at": published_at,
        "tool_id": tool_id,
        "source_id": source_id,
        **judged(sentiment),
        "published_at": published_at,
        "analyzer": "embedded",
        "analyzer_version": "1",
        "source": "reuters-world",
    }
    return SentimentScore(**(fields | changes))


@dataclass(frozen=True)
class Judgement:
    """The sentiment of an article about a tool; None if the article does not mention the tool any more."""

    published_at: datetime
    sentiment: Said | None
    version: str = "1"
    story: str | None = None
    publisher: str | None = None
    source: str = "reuters-world"

    @property
    def breadth(self) -> dict[str, Any]:
        return {"event_id": self.story, "publisher_id": self.publisher, "source": self.source}


class Process:
    """One process of the app on a store, with a memory of its own."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        memory_seconds: float = 0.0,
        queues: Queues | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        last_write: LastWrite = lambda: None,
    ) -> None:
        numbers = itertools.count()
        start = uuid.uuid4().hex[:12]
        self.store = store
        self.clock = clock
        self.catalog = Catalog(store, clock, lambda: str(uuid.uuid4()))
        self.queues: Queues = queues or MemoryQueues()
        self.announcer = forgetful(self.queues)
        new_id = lambda: f"{start}-{next(numbers)}"  # noqa: E731
        self.cache = Figures(
            *(store, self.catalog, self.announcer, clock, new_id, memory_seconds, lambda: ANALYZER),
            sleep=sleep,
            last_write=last_write,
        )

    async def close(self) -> None:
        """Also closes a process that died, which cannot flush any more."""
        with contextlib.suppress(Died):
            await self.cache.close()

    async def analyse(self, tool_id: str, source_id: str, judgement: Judgement) -> None:
        """Writes the mention of the article, then marks its hour dirty, as the analysis does."""
        document = await self.store.read(MENTIONS.name, tool_id, source_id)
        now, moment = self.clock(), judgement.published_at
        if document is None:
            if judgement.sentiment is not None:
                mention = a_mention(
                    *(tool_id, source_id, judgement.published_at, judgement.sentiment),
                    analyzer_version=judgement.version,
                    **judgement.breadth,
                )
                await self.store.create(MENTIONS.name, mention.to_document())
        else:
            before = SentimentScore.from_document(document)
            moment = before.published_at
            if judgement.sentiment is None:
                after = before.changed(now, removed_at=now)
            else:
                version = {"analyzer_version": judgement.version, **judgement.breadth}
                again = {"removed_at": None}
                after = before.changed(now, **judged(judgement.sentiment), **version, **again)
            await self.store.replace(MENTIONS.name, after.to_document(), document["_etag"])
        await mark_dirty(self.store, {tool_id: [moment]}, now)

    async def refresh(self) -> None:
        begun = await self.cache.refresh.tick()
        for message in begun.messages:
            await self.cache.refresh.work(RefreshMessage.from_message(message))

    async def reanalyse(self, tool_id: str) -> None:
        await self.cache.recount.rebuild_tool(tool_id, self.clock())
        await self.cache.generations.raise_(tool_id)


class Meanwhile(DyingStore):
    """A store whose answers take so long that something `happens`, once, between the `turn`-th operation of this name
    on this container and its answer."""

    def __init__(
        self, store: Store, name: str, container: str, turn: int, happens: Callable[[], Awaitable[Any]]
    ) -> None:
        super().__init__(store)
        self._awaited = (name, container)
        self._turns_left = turn
        self._happens = happens
        self.happened = False

    async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
        answer = await super()._do(name, *arguments, **options)
        if (name, arguments[0]) == self._awaited:
            self._turns_left -= 1
            if self._turns_left == 0:
                await self._happens()
                self.happened = True
        return answer


async def everything(store: Store, container: str, partition: str | None = None) -> list[Document]:
    found: list[Document] = []
    after: str | None = None
    while True:
        page = await store.query(container, Query(partition=partition, limit=1000, after=after))
        found += page.items
        after = page.next
        if after is None:
            return found


async def entries_in(store: Store) -> list[Document]:
    return [each for each in await everything(store, SENTIMENT_CACHE.name) if "period" in each]


async def mentions_of(store: Store, tool_id: str) -> list[SentimentScore]:
    return [SentimentScore.from_document(each) for each in await everything(store, MENTIONS.name, tool_id)]


def within(mentions: Iterable[SentimentScore], since: datetime, until: datetime) -> Count:
    """The count of the mentions of this time, one after the other, no table in between."""
    return count_of(each.to_document() for each in mentions if each.counts and since <= each.published_at < until)


def count_of(mentions: Iterable[Document]) -> Count:
    """One mention after the other, without rows."""
    count = Count()
    for analyzer, publisher, source, story, column, polarity in map(CountedMention.of, mentions):
        count.analyzers[analyzer] = count.analyzers.get(analyzer, 0) + 1
        count.numbers[column] += 1
        if column == UNSCORED:
            continue
        count.numbers[3] += polarity * 100
        if story:
            known = count.stories.setdefault(story, [0, 0])
            known[:] = known[0] + 1, known[1] + polarity
        else:
            count.ungrouped = [a + b for a, b in zip(count.ungrouped, (1, polarity, polarity**2), strict=True)]
        for counts, name in ((count.publishers, publisher), (count.sources, source)):
            counts[name] = counts.get(name, 0) + 1
    return count


async def check_entry(store: Store, entry: SentimentCacheEntry, now: datetime) -> None:
    """Its figures are what its window's mentions say, and its window is the period's."""
    end = entry.period_end_ts
    assert end % 60 == 0
    assert 0 < end - entry.last_updated_ts <= 60
    assert entry.last_updated_ts <= now.timestamp()
    assert end - entry.period_start_ts == PERIODS[entry.period].total_seconds()
    until = now + timedelta(seconds=end - now.timestamp())
    right = within(await mentions_of(store, entry.tool_id), until - PERIODS[entry.period], until)
    shown = entry.model_dump(mode="json")
    assert {name: shown[name] for name in right.figures()} == right.figures(), entry.period
    found = entry.positive_percentage, entry.negative_percentage, entry.neutral_percentage
    assert found == percentages(*right.tally[:3])


def hours_of(timeline: Document | None) -> dict[str, Tally]:
    return by_hour_of(timeline["hours"]) if timeline else {}


def minutes_of(documents: Mapping[str, Document]) -> dict[str, dict[str, Tally]]:
    """The mentions by hour and minute, as the tool's days have them."""
    found: dict[str, dict[str, Tally]] = {}
    for document in (each for name, each in documents.items() if name.startswith("COUNTS:")):
        for hour, rows in json.loads(document["hours"]).items():
            for minute in range(60):
                count = Count()
                count.add_rows(rows, minute, minute + 1)
                if any(count.tally):
                    found.setdefault(hour, {})[f"{minute:02}"] = count.tally
    return found


async def check_tables(store: Store, tool_id: str, now: datetime) -> None:
    """No dirty hours, no tombstones with texts, and every table agrees with the mentions, the windows' at some
    minutes of the hour."""
    assert await dirty_hours_of(store, tool_id) == []
    mentions = await mentions_of(store, tool_id)
    kept = [mention for mention in mentions if mention.published_at >= now - timedelta(days=31)]
    mentions = [mention for mention in mentions if mention.counts]
    kept = [mention for mention in kept if mention.counts]
    by_hour: dict[str, Tally] = {}
    by_minute: dict[str, dict[str, Tally]] = {}
    for mention in kept:
        hour, minute = hour_key(mention.published_at), f"{mention.published_at:%M}"
        one = Tally.of(mention.sentiment, mention.polarity)
        by_hour[hour] = by_hour.get(hour, Tally()).plus(one)
        table = by_minute.setdefault(hour, {})
        table[minute] = table.get(minute, Tally()).plus(one)
    documents = {document["id"]: document for document in await everything(store, CATALOG.name, tool_id)}
    since = hour_key(now - timedelta(days=31) + timedelta(hours=1))
    stored = {hour: each for hour, each in hours_of(documents.get("TIMELINE")).items() if hour >= since}
    assert stored == {hour: tally for hour, tally in by_hour.items() if hour >= since}
    minutes = {hour: each for hour, each in minutes_of(documents).items() if hour >= since}
    assert minutes == {hour: each for hour, each in by_minute.items() if hour >= since}
    windows = Windows.stored(documents.get("WINDOWS"), edges_of(window_end(now)))
    if windows is not None:
        for ended in (0, 1, now.minute, 59):
            end = window_end(now).replace(minute=ended)
            for period, found in windows.at(end).items():
                right = within(mentions, end - PERIODS[period], end)
                assert found == right.figures(), (period, end)


async def check_unmarked_hours(store: Store, tool_id: str) -> None:
    """In hours that are not dirty, timeline and hour table have the counts of the mentions, and no tombstone has
    texts."""
    dirty = {each["hour"] for each in await dirty_hours_of(store, tool_id)}
    documents = {document["id"]: document for document in await everything(store, CATALOG.name, tool_id)}
    timeline = hours_of(documents.get("TIMELINE"))
    minutes = minutes_of(documents)
    by_hour: dict[str, Tally] = {hour: Tally() for hour in timeline}
    for mention in await mentions_of(store, tool_id):
        hour = hour_key(mention.published_at)
        if not mention.counts:
            continue
        by_hour[hour] = by_hour.get(hour, Tally()).plus(Tally.of(mention.sentiment, mention.polarity))
    for hour, tally in by_hour.items():
        if hour not in dirty:
            of_minutes = Tally()
            for each in minutes.get(hour, {}).values():
                of_minutes = of_minutes.plus(each)
            assert timeline.get(hour, Tally()) == of_minutes == tally, hour


async def stored_entry(store: Store, tool_id: str, period: Period) -> SentimentCacheEntry | None:
    document = await store.read(SENTIMENT_CACHE.name, tool_id, entry_id(tool_id, period))
    return SentimentCacheEntry.from_document(document) if document else None


async def generation_of(store: Store, tool_id: str) -> int:
    document = await store.read(SENTIMENT_CACHE.name, tool_id, f"{tool_id}:generation")
    return CacheGeneration.from_document(document).generation if document else 0
