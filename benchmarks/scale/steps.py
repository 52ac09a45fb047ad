"""Runs the real services on SQLite, step by step, and measures what each step would need of Cosmos DB.

Clock, ids, chance and texts are fixed, so two runs of the same code measure the same. How often each step happens is in
scenarios.py.
"""

from __future__ import annotations

import itertools
import json
import logging
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from benchmarks.quality.made_news import Newsroom
from benchmarks.scale.counting import CountingStore, Operation
from models.cache import METADATA_PARTITION, window_end
from models.operations import IngestionTotals
from models.timeline import DayCounts, DaySums
from models.tool import Tool
from services import logs
from services.documents.archived import FullTexts
from services.feeds.claims import MAX_FEEDS
from services.figures.counting import MentionCount, of_tool, timeline_document
from services.figures.figures import Figures
from services.figures.points import LIVE_DAYS
from services.figures.tool_counts import EARLIER_KEPT, sums_of
from services.figures.windows import Windows, between_of, edges_of
from services.mentions.analyzers.embedded import EmbeddedAnalyzer
from services.mentions.due import REFRESH_STAGE, RefreshMessage, mark_dirty
from services.mentions.gathering import Gathering
from services.mentions.writing import MentionWriter
from services.ports import Document, Store
from services.settings import Settings
from services.store.containers import CATALOG, MENTIONS
from services.store.sqlite import SqliteStore
from services.stories.stage import GroupingAnnouncer, grouping_stage
from services.stories.writing import Grouping
from services.tools.catalog import Catalog
from services.tools.detector import Watchlist
from services.work.announcing import Announcer
from tests.builders import MemoryArchive, MemoryQueues
from tests.documents import mention
from tests.functional.articles.world import Item, SettableClock, Worker, World

FEEDS, ENTRIES, NEW = MAX_FEEDS, 40, 3
"""The feeds of one message, the entries of each, and the new ones among them."""
TOOLS = 50
ARTICLES = 20
RECOUNTED = ((24, 20), (768, 20), (768, 220))
"""The hours in which the tool has mentions, and the mentions in the hour that is recounted."""
A_PAST_HOUR = 2
"""The mentions in each other hour."""
ANNOUNCED = "refresh a tool that was announced"
GATHERED = f"gather a tool's windows in a new hour, after {RECOUNTED[1][0]} hours"
OF_NEW_DAY = GATHERED.replace("in a new hour", "on a new day")
GROUP, GROUPED = "group an article", 100
BUDGETS = Path(__file__).parent.with_name("budgets.json")
OVERVIEW, TOOLS_OF_BUDGETS = "GET sentiment/trends, as the overview asks", 20
HOT = {METADATA_PARTITION, IngestionTotals.PARTITION}
"""Partitions that every instance writes to."""
_WORDS = "the maintainers have said today that this version is out and that whoever upgrades will find it quicker"


@dataclass(frozen=True, slots=True)
class Step:
    """What one unit of a step needs, on average.

    `units` are request units; `units_at` has them by container, and by HOT partition. `scans` are queries across
    partitions, which cost more if a container has more physical partitions.
    """

    units: float
    reads: float
    writes: float
    queries: float
    scans: float = 0.0
    bytes_read: float = 0.0
    bytes_written: float = 0.0
    stored: Mapping[str, float] = field(default_factory=dict)
    units_at: Mapping[str, float] = field(default_factory=dict)
    log_lines: float = 0.0
    log_bytes: float = 0.0

    @property
    def requests(self) -> float:
        return self.reads + self.writes + self.queries + self.scans


def budgeted() -> dict[str, Step]:
    """The operations of benchmarks/budgets.py, which measures whole invocations, without what they log and store."""
    rows = json.loads(BUDGETS.read_text()).items()
    kinds = ("units", "reads", "writes", "queries")
    return {name: Step(**{kind: row[kind] for kind in kinds}) for name, row in rows}


class _Logged(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


class RecordingStore(Store, Protocol):
    """A store that lists what it was asked for."""

    @property
    def operations(self) -> list[Operation]: ...


class Bench:
    def __init__(self, store: RecordingStore, clock: SettableClock) -> None:
        self.clock = clock
        self.store = store
        self.world = World(self.store, self.clock)
        self.ids = (f"{n:028x}" for n in itertools.count(1))
        self.catalog = Catalog(self.store, self.clock, self.new_uuid)
        self.watchlist = Watchlist(self.catalog, self.clock)
        self.announcer = Announcer(MemoryQueues())
        gathering = Gathering(self.store, self.catalog, self.watchlist, FullTexts(MemoryArchive()))
        self.writer = MentionWriter(self.store, gathering, EmbeddedAnalyzer(), self.announcer, self.clock)
        self.figures = Figures(
            *(self.store, self.catalog, self.announcer, self.clock, lambda: next(self.ids), 2.0),
            lambda: self.writer.scored_by,
        )
        self.steps: dict[str, Step] = {}
        self._uuids = itertools.count(1)
        self._titles = itertools.count(1)

    def new_uuid(self) -> str:
        return f"00000000-0000-4000-8000-{next(self._uuids):012d}"

    def worker(self) -> Worker:
        """A worker with an empty memory."""
        return Worker(self.store, self.world.shelf, self.clock, Settings(store="sqlite"), self.ids)

    @contextmanager
    def step(self, name: str, per: int = 1) -> Iterator[None]:
        logged, logger = _Logged(), logging.getLogger(logs.ROOT_LOGGER)
        self.store.operations.clear()
        logger.addHandler(logged)
        try:
            yield
        finally:
            logger.removeHandler(logged)
        self.steps[name] = _average(self.store.operations, logged.lines, per)

    def items(self, number: int, naming: int = 0, title: str = "") -> list[Item]:
        """New entries; each names so many tools."""
        found = []
        for _ in range(number):
            n = next(self._titles)
            names = [f"Widget{(n + each) % TOOLS}x" for each in range(naming)]
            head = title or f"Number {n} of what somebody has to say about {' and '.join(names) or 'something'}"
            text = ". ".join([_WORDS] * 6 + [f"{each} is good and everybody likes it" for each in names])
            at = self.clock.now - timedelta(minutes=1)
            found.append(Item(head, f"https://news.example/2026/02/21/{n}/a-story-of-{n}", f"guid-{n}", at, text))
        return found


def _average(operations: list[Operation], lines: list[str], per: int) -> Step:
    def share(value: float) -> float:
        return round(value / per, 3)

    units_at: defaultdict[str, float] = defaultdict(float)
    stored: Counter[str] = Counter()
    for each in operations:
        units_at[each.container] += each.units
        if each.partition in HOT:
            units_at[f"{each.container}/{each.partition}"] += each.units
        stored[each.container] += each.stored
    kinds = Counter(each.kind for each in operations)
    written = ("create", "replace", "delete")
    return Step(
        units=share(sum(each.units for each in operations)),
        reads=share(kinds["read"]),
        writes=share(sum(kinds[kind] for kind in written)),
        queries=share(kinds["query"]),
        scans=share(kinds["scan"]),
        bytes_read=share(sum(each.size for each in operations if each.kind not in written)),
        bytes_written=share(sum(each.size for each in operations if each.kind in written)),
        stored={name: share(size) for name, size in sorted(stored.items()) if size},
        units_at={name: share(units) for name, units in sorted(units_at.items())},
        log_lines=share(len(lines)),
        log_bytes=share(sum(map(len, lines))),
    )


async def measured(
    folder: Path, store: Callable[[SettableClock], RecordingStore] | None = None, *, with_grouping: bool = True
) -> dict[str, Step]:
    """Every step, by its name: as the model counts it on SQLite, or as the given store records it."""
    async with _bench(store or (lambda clock: CountingStore(SqliteStore(folder / "store.db", clock)))) as bench:
        await _ingestion(bench)
        await _analysis(bench)
        if with_grouping:
            await _grouping(bench)
        await _cache(bench)
        return {name: step for name, step in bench.steps.items() if name}


@asynccontextmanager
async def _bench(new_store: Callable[[SettableClock], RecordingStore]) -> AsyncIterator[Bench]:
    logs.configure("INFO", structured=True)
    clock = SettableClock()
    store = new_store(clock)
    bench = Bench(store, clock)
    try:
        yield bench
    finally:
        await bench.figures.close()
        await store.close()


async def _ingestion(bench: Bench) -> None:
    world, names = bench.world, [f"feed-{number:02}" for number in range(FEEDS)]
    old = {name: bench.items(ENTRIES) for name in names}

    async def poll(step: str) -> None:
        bench.clock.forward(minutes=30)
        batches = await bench.worker().claims.claim_due(bench.clock.now)
        with bench.step(step, FEEDS):
            for batch in batches:
                await bench.worker().ingestion.ingest(batch.run_id)

    for name in names:
        await world.add_feed(name, old[name])
    with bench.step("tick: claim a feed that is due", FEEDS):
        batches = await bench.worker().claims.claim_due(bench.clock.now)
    for batch in batches:
        await bench.worker().ingestion.ingest(batch.run_id)
    for name in names:
        world.publish(name, old[name], etag='"1"')
    await poll("")
    await poll("poll a feed: 304")
    for name in names:
        world.publish(name, old[name])
    await poll("")
    await poll("poll a feed: the same body")
    for name in names:
        old[name] = [*bench.items(NEW), *old[name]][:ENTRIES]
        world.publish(name, old[name])
    await poll(f"poll a feed: {NEW} new articles")
    firsts = {name: old[name][0] for name in names}
    for name, other in zip(names, [*names[1:], names[0]], strict=True):
        theirs = firsts[other]
        link = f"https://{name}.example/{theirs.guid}"
        again = Item(theirs.title, link, f"{name}-{theirs.guid}", theirs.published, theirs.text)
        old[name] = [again, *old[name]][:ENTRIES]
        world.publish(name, old[name])
    await poll("poll a feed: an article that another feed had")


async def _analysis(bench: Bench) -> None:
    for number in range(TOOLS):
        await bench.catalog.add({"primary_name": f"Widget{number}x", "aliases": (f"Widget {number} Professional",)})
    with bench.step("read all tools again: each tool", TOOLS):
        await bench.watchlist.detector(anew=True)
    await bench.writer.write(await _ingested(bench, "first", TOOLS, 1))  # a tool's first article costs more
    for naming in (0, 1, 3):
        article_ids = await _ingested(bench, f"naming-{naming}", ARTICLES, naming)
        await bench.watchlist.detector(anew=True)
        with bench.step(f"analyse an article that names {naming} tools", ARTICLES):
            await bench.writer.write(article_ids)


async def _ingested(bench: Bench, feed: str, number: int, naming: int) -> list[str]:
    return await _ingested_items(bench, feed, bench.items(number, naming))


async def _ingested_items(bench: Bench, feed: str, items: list[Item]) -> list[str]:
    await bench.world.add_feed(feed, items)
    return await bench.world.poll(feed, bench.worker())


async def _grouping(bench: Bench) -> None:
    """Made news beside as much that is grouped already. benchmarks/size.py measures more stored articles."""
    grouping = grouping_worker(bench)
    news = Newsroom(1, bench.clock.now - timedelta(days=1)).news(per_day=2 * GROUPED)
    for step in ("", GROUP):
        items = []
        for n, made in enumerate(itertools.islice(news, GROUPED)):
            at = min(made.at, bench.clock.now)
            items.append(Item(made.headline, f"https://{made.publisher}/{step}{n}", f"{step}{n}", at, made.text))
        await bench.writer.write(await _ingested_items(bench, f"made-{len(step)}", items))
        with bench.step(step, GROUPED):
            while (await grouping.handle(())).done:
                pass


def grouping_worker(bench: Bench) -> Grouping:
    stage = grouping_stage(timedelta(minutes=5))
    announcer = GroupingAnnouncer(bench.store, bench.announcer, stage, GROUPED, bench.clock)
    return Grouping(bench.store, announcer, bench.clock, lambda: next(bench.ids))


async def _cache(bench: Bench) -> None:
    figures, clock = bench.figures, bench.clock
    tools = await bench.catalog.active()
    tool_ids = [tool.tool_id for tool in tools]
    await figures.refresh.refresh_tools(tool_ids)
    clock.forward(minutes=15)
    await figures.refresh.refresh_tools(tool_ids)
    with bench.step("refresh of all: begin, each tool", TOOLS):
        begun = await figures.refresh.begin(is_paced=True)
    clock.forward(minutes=15)
    with bench.step(f"refresh of all: the batches of {TOOLS} tools, nothing new"):
        for message in begun.messages:
            await figures.refresh.work(RefreshMessage.from_message(message))
    await _reads(bench, tools[0])
    for hours, mentions in RECOUNTED:
        tool_id = bench.new_uuid()
        await _with_dirty_hour(bench, tool_id, hours, mentions)
        with bench.step(f"recount an hour of {mentions} mentions, after {hours} hours"):
            await figures.recount.recount_tool(tool_id, clock.now)
    await _with_dirty_hour(bench, tools[1].tool_id, *RECOUNTED[1])
    await figures.recount.recount_tool(tools[1].tool_id, clock.now)
    announced = tools[2].tool_id
    await _with_dirty_hour(bench, announced, *RECOUNTED[1])
    await bench.announcer.announce(REFRESH_STAGE, [announced])
    with bench.step(ANNOUNCED):
        await figures.refresh.work(RefreshMessage((announced,)))
    clock.now = clock.now.replace(hour=0) + timedelta(days=1)
    for step in (OF_NEW_DAY, GATHERED):
        with bench.step(step):
            await figures.recount.windows_of([tools[1].tool_id], clock.now, {})
        clock.forward(hours=1)


async def _reads(bench: Bench, tool: Tool) -> None:
    figures = bench.figures
    await figures.reader.read(tool.primary_name, "HOUR_24")
    await figures.counters.writer.flush()
    await figures.reader.read(tool.primary_name, "HOUR_24")
    with bench.step("add what was counted"):
        await figures.counters.writer.flush()


async def _with_dirty_hour(bench: Bench, tool_id: str, hours: int, mentions: int) -> None:
    """Stores the counts of a tool with mentions in each of so many hours, and the mentions of the last hour, which is
    dirty: one of them has not been counted yet."""
    now = bench.clock.now

    def said(number: int, at: datetime) -> dict[str, Any]:
        made = mention(
            tool_id=tool_id,
            source_id=f"dedup:{number:032x}",
            published_at=at,
            created_at=at,
            source=f"feed-of-somebody-{number % 7}",
            publisher_id=f"publisher-{number % 13}.example",
            event_id=f"story:20260221:{number * 2 // 3:032x}",
            analyzer="embedded",
            headline="Number 1234 of what somebody has to say about Widget1x",
            url=f"https://news.example/2026/02/21/{number}/a-story-of-{number}",
        )
        return made.to_document()

    of_last = [said(number, now) for number in range(mentions)]
    await bench.store.write_many(MENTIONS.name, of_last)
    count = MentionCount()
    for each in of_last[1:]:
        count.add(each)
    for back in range(1, hours):
        for number in range(A_PAST_HOUR):
            count.add(said(mentions + A_PAST_HOUR * back + number, now - timedelta(hours=back)))
    days, stored = count.days(), list[Document]()
    for name, day in days.items():
        own = {"id": DayCounts.id_of(name), "day": name, "whole": day.whole.to_document(), "hours": day.text}
        stored.append(of_tool(DayCounts, tool_id, now, own))
    texts = {name: day.timeline_text for name, day in days.items()}
    if hours > LIVE_DAYS * 23:  # a tool that has been there for long has the month before in its timeline, too
        month = [f"{now - timedelta(days=LIVE_DAYS + back):%Y%m%d}" for back in range(EARLIER_KEPT.days)]
        texts |= dict(zip(month, texts.values(), strict=False))
    stored.append(dict(timeline_document(tool_id, None, texts, None, now)))
    edges = edges_of(window_end(now))
    stored.append(of_tool(DaySums, tool_id, now, sums_of(edges, between_of(edges, days))))
    stored.append(dict(Windows.summed(edges, days, now, 1).to_document(tool_id, now, days)))
    await bench.store.write_many(CATALOG.name, stored)
    await mark_dirty(bench.store, {tool_id: [now]}, now)
