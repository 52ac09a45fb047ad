"""What each operation of the app costs, counted: requests to the store by kind, request units, queue messages, and
calls of Python functions.

    python -m benchmarks.budgets            the budgets of today's code
    python -m benchmarks.budgets --write    also record them in benchmarks/budgets.json
    python -m benchmarks.budgets --check    compare them with what is recorded; exits with 1 if a row differs

Runs the functions of the app as the Functions host does, on the embedded store; pages, queues and the clock are made
up. A test runs the comparison. Whoever raises a row says why in the commit. Request units are
those of benchmarks/scale/charges.py.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import itertools
import json
import math
import sys
import tempfile
import threading
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.scale.counting import CountingStore
from benchmarks.walk import NEVER, App, message, request
from services import container
from services.mentions.due import SIGNALS_STAGE, mark_signals_due
from services.store.containers import STORIES as STORIES_CONTAINER
from services.stories.pins import members_of
from services.topology import ANALYZE_ARTICLES, GENERATE_IDEAS, GROUP_HEADLINES, INGEST_FEEDS, REFRESH_TOOLS
from tests.builders import MemoryQueues
from tests.functional.articles.world import Item, Page, SettableClock, Shelf, rss

RECORDED = Path(__file__).with_name("budgets.json")
FEEDS, ENTRIES, TOOLS, ARTICLES, TICKS = 10, 60, 20, 10, 10
STORIES = (1, 100)
LARGE_STORY = 10_000
"""How many articles a story has before another one joins it. The large one is counted later."""
_NOT_COUNTED = ("asyncio", "selectors", "threading", "concurrent", "json", "benchmarks", "tests")
"""Folders and modules whose functions are not counted: how often an event loop turns depends on the machine, and the
counting store writes JSON."""
_WORDS = "the maintainers have said today that this version is out and that whoever upgrades will find it quicker"
_WORDINGS = (
    "recalls returns withdraws stops",
    "faulty defective dangerous 12,000",
    "after following amid since",
    "fire fires blaze explosion",
    "today yesterday overnight again",
)
_MISS, _HIT_IN_MEMORY = "GET sentiment, a miss", "GET sentiment, a hit in memory"
# Within two seconds of another one: what names stand for and what figures lack is known.
_NEXT_HIT = "GET sentiment, the next hit in the store"
_READS = {
    _MISS: ("get_tool_sentiment", "period=DAY_30"),
    "GET sentiment, a hit in the store": ("get_tool_sentiment", "period=DAY_30"),
    _HIT_IN_MEMORY: ("get_tool_sentiment", "period=DAY_30"),
    _NEXT_HIT: ("get_tool_sentiment", "period=DAY_7"),
    "GET sentiment/latest": ("list_latest_sentiment", "period=DAY_7"),
    "GET sentiment/trends, as the overview asks": ("list_trends", "period=DAY_7"),
    "GET tools/{tool}/history, a week": ("get_tool_history", "days=7"),
    "GET tools/{tool}/movement, a week": ("get_movement", "from=2026-02-15T00:00:00Z&to=2026-02-22T00:00:00Z"),
    "GET tools/{tool}/mentions": ("list_mentions", ""),
    "GET health": ("health", ""),
    "GET cache/health": ("get_cache_health", ""),
    "GET metrics": ("get_metrics", ""),
    "GET tools": ("list_tools", ""),
    "GET feeds": ("list_feeds", ""),
    "GET articles": ("list_articles", ""),
    "GET stories": ("list_stories", ""),
    "GET runs": ("list_runs", ""),
}
"""The function and the query of each read."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one unit of an operation, on average."""

    reads: float
    writes: float
    queries: float
    units: float
    messages: float
    calls: float


class Calls:
    """Counts the calls of Python functions in all threads that were started after `begin`."""

    def __init__(self) -> None:
        self.count = 0
        self._counted: dict[str, bool] = {}

    def begin(self) -> None:
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def end(self) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call":
            return
        file = frame.f_code.co_filename
        counted = self._counted.get(file)
        if counted is None:
            counted = self._counted[file] = not any(f"/{name}" in file for name in _NOT_COUNTED)
        self.count += counted


class Bench:
    """The app of one worker."""

    def __init__(self, app: container.Container, queues: MemoryQueues, clock: SettableClock, calls: Calls) -> None:
        self.call = App().call
        self.app, self.queues, self.clock, self._calls = app, queues, clock, calls
        self.shelf = Shelf()
        app.__dict__["fetcher"] = self.shelf
        self.store = app.store = CountingStore(app.store)
        # The place of a tool in a refresh follows from its id. The first catalog has the store that does not count.
        ids = (str(uuid.UUID(int=n)) for n in itertools.count())
        app.__dict__["tools"] = dataclasses.replace(app.tools, store=self.store, new_id=ids.__next__)
        self.new_memory()
        for each in (app.announcer, app.grouping_announcer):
            each.seconds = self._seconds
        self.costs: dict[str, Cost] = {}
        self._numbers = itertools.count()
        self._wordings = itertools.product(*map(str.split, _WORDINGS))
        self._taken = 0
        self.feed_ids: dict[str, str] = {}
        self.tools = TOOLS

    def _seconds(self) -> float:
        return self.clock.now.timestamp()

    def new_memory(self) -> None:
        """Forgets what this worker remembers of figures and of its own health."""
        for part in ("figures", "operations"):
            self.app.__dict__.pop(part, None)
        self.app.figures.counters.writer._flushed_every = NEVER
        self.app.figures.backlog.seconds = self._seconds

    async def work(self, queue: str, function: str) -> None:
        """Handles the messages that wait in the queue."""
        texts, self.queues.sent[queue] = self.queues.sent.get(queue, []), []
        self._taken += self.queues.messages.pop(queue, 0)
        for text in texts:
            await self.call(function, message=message(text))

    async def answer(self, name: str, method: str, url: str, body: dict[str, str] | None = None, **route: str) -> Any:
        response = await self.call(name, req=request(method, url, body, **route))
        assert response.status_code < 300, response.get_body()
        return json.loads(response.get_body()) if response.mimetype == "application/json" else None

    @contextmanager
    def measured(self, name: str, per: int = 1) -> Iterator[None]:
        self.store.operations.clear()
        sent, self._calls.count = self._sent(), 0
        yield
        calls, operations = self._calls.count, self.store.operations
        kinds = Counter(each.kind for each in operations)
        units = sum(each.units for each in operations)
        writes, queries = kinds["create"] + kinds["replace"] + kinds["delete"], kinds["query"] + kinds["scan"]
        figures = (kinds["read"], writes, queries, units, self._sent() - sent, calls)
        self.costs[name] = Cost(*(round(figure / per, 2) for figure in figures))

    def _sent(self) -> int:
        return self._taken + sum(self.queues.messages.values())

    def items(self, number: int, naming: int = 0) -> list[Item]:
        """New entries; each names so many tools."""
        found = []
        for n in (next(self._numbers) for _ in range(number)):
            names = [f"Widget{(n + each) % self.tools}x" for each in range(naming)]
            head = f"Number {n} of what somebody has to say about {' and '.join(names) or 'something'}"
            text = ". ".join([_WORDS] * 6 + [f"{each} is good and everybody likes it" for each in names])
            at = self.clock.now.replace(minute=0)
            found.append(Item(head, f"https://news.example/2026/02/21/{n}/a-story-of-{n}", f"guid-{n}", at, text))
        return found

    def reports(self, number: int, company: str) -> list[Item]:
        """New entries about one event, each of another outlet and in other words."""
        found = []
        for words in itertools.islice(self._wordings, number):
            n = next(self._numbers)
            head = f"{company} {words[0]} {words[1]} heat pumps {words[2]} {words[3]} in Lisbon {words[4]}"
            link = f"https://outlet-{n}.example/{n}/acme-widgets-heat-pumps"
            found.append(Item(head, link, f"guid-{n}", self.clock.now.replace(minute=0), _WORDS))
        return found

    def publish(self, feed: str, items: list[Item], etag: str | None = None) -> None:
        self.shelf.pages[feed_url(feed)] = Page(rss(items), etag)


def feed_url(feed: str) -> str:
    return f"https://{feed}.example/feed"


@asynccontextmanager
async def benched(folder: Path, queues: MemoryQueues, *, with_calls: bool = True) -> AsyncIterator[Bench]:
    clock, calls = SettableClock(), Calls()
    environment = {"DATA_DIR": str(folder), "STORE": "sqlite", "LOG_LEVEL": "ERROR"}
    if with_calls:
        calls.begin()
    app = await container.build(environment, clock, queues=queues)
    container.adopt(app)
    try:
        yield Bench(app, queues, clock, calls)
    finally:
        calls.end()
        await app.close()
        await container.close()


async def measured(folder: Path) -> dict[str, Cost]:
    """The cost of each operation, by its name."""
    async with benched(folder, MemoryQueues()) as bench:
        await _quiet(bench)
        await _ingestion(bench)
        await _analysis(bench)
        await _grouping(bench)
        await _refresh(bench)
        await _reads(bench)
        return bench.costs


async def _quiet(bench: Bench) -> None:
    for function in ("ingest_due_feeds", "clean_up"):
        await bench.call(function, timer_request=None)  # the first makes what the others find
        bench.clock.forward(minutes=5)
    with bench.measured("a tick, nothing is due", TICKS):  # some of what it does it does once in five minutes
        for _ in range(TICKS):
            await bench.call("ingest_due_feeds", timer_request=None)
            bench.clock.forward(minutes=5 / TICKS)
    with bench.measured("clean_up, nothing is overdue"):
        await bench.call("clean_up", timer_request=None)


async def _ingestion(bench: Bench) -> None:
    names = [f"feed-{number}" for number in range(FEEDS)]
    old = {name: bench.items(ENTRIES) for name in names}
    for name in names:
        bench.publish(name, old[name])
        with bench.measured("POST feeds" if name == names[-1] else ""):
            added = await bench.answer("add_feed", "POST", "feeds", {"url": feed_url(name), "source_name": name})
        bench.feed_ids[name] = added["feed_id"]

    async def poll(what: str, per: int = FEEDS) -> None:
        bench.clock.forward(hours=1)
        await bench.call("ingest_due_feeds", timer_request=None)
        with bench.measured(what, per):
            await bench.work(INGEST_FEEDS, "ingest_feeds")

    await poll("a new entry, first poll", FEEDS * ENTRIES)
    for name in names:
        bench.publish(name, old[name], '"1"')
    await poll("")
    await poll("an unchanged poll, 304")
    for name in names:
        bench.publish(name, old[name])
    await poll("")
    await poll("an unchanged poll, the same body")
    for name in names:
        bench.publish(name, [*bench.items(1), *old[name]][:ENTRIES])
    await poll(f"a poll with one new entry of {ENTRIES}")


async def _articles(bench: Bench, items: list[Item]) -> None:
    """Stores these entries as articles, whose analysis is due."""
    bench.publish("feed-0", items)
    await bench.app.feeds.claims.claim_some([bench.feed_ids["feed-0"]], bench.clock())
    await bench.work(INGEST_FEEDS, "ingest_feeds")


async def _analysis(bench: Bench) -> None:
    await bench.work(ANALYZE_ARTICLES, "analyze_articles")
    for number in range(TOOLS):
        with bench.measured(f"POST tools, beside {FEEDS * ENTRIES} articles" if number == TOOLS - 1 else ""):
            await bench.answer("add_tool", "POST", "tools", {"name": f"Widget{number}x"})
            await bench.work("reanalyze-tools", "reanalyze_tools")
    bench.clock.forward(minutes=5)
    await _articles(bench, bench.items(TOOLS, 1))  # a tool's first article costs more
    await bench.work(ANALYZE_ARTICLES, "analyze_articles")
    for naming in (0, 1, 3):
        bench.clock.forward(minutes=5)
        await _articles(bench, bench.items(ARTICLES, naming))
        with bench.measured(f"analysis of an article that names {naming} tools", ARTICLES):
            await bench.work(ANALYZE_ARTICLES, "analyze_articles")


async def _grouping(bench: Bench) -> None:
    async def group() -> None:
        bench.clock.forward(minutes=6)
        await bench.call("ingest_due_feeds", timer_request=None)
        while bench.queues.sent.get(GROUP_HEADLINES):
            await bench.work(GROUP_HEADLINES, "group_headlines")
        await bench.work(GENERATE_IDEAS, "generate_ideas")

    await group()

    async def join(number: int, company: str, what: str) -> list[int]:
        await _articles(bench, bench.reports(number, company))
        await bench.work(ANALYZE_ARTICLES, "analyze_articles")
        bench.clock.forward(minutes=6)
        await bench.call("ingest_due_feeds", timer_request=None)
        with bench.measured(what):
            await bench.work(GROUP_HEADLINES, "group_headlines")
            await bench.work(GENERATE_IDEAS, "generate_ideas")
        await group()
        stories = await bench.answer("list_stories", "GET", "stories")
        return sorted(each["article_count"] for each in stories["items"])

    for size in STORIES:
        await join(size, f"Acme Widgets {size}", "")
        counts = await join(1, f"Acme Widgets {size}", f"an article joins a story of {size}, with its signals")
    await _enlarge(bench)
    counts = await join(1, f"Acme Widgets {STORIES[-1]}", f"an article joins a story of {LARGE_STORY}")
    assert counts == [STORIES[0] + 1, LARGE_STORY], counts
    bench.clock.forward(hours=1)
    await bench.call("ingest_due_feeds", timer_request=None)
    with bench.measured(f"a story of {LARGE_STORY} is counted, with its signals"):
        await bench.work(GENERATE_IDEAS, "generate_ideas")


async def _enlarge(bench: Bench) -> None:
    """Gives the largest story further articles, without the work of grouping them."""
    stories = (await bench.answer("list_stories", "GET", "stories"))["items"]
    event = max(stories, key=lambda each: each["article_count"])["event_id"]
    members = await members_of(bench.store, event)
    names = [f"dedup:f{number:031x}" for number in range(LARGE_STORY - len(members))]
    more = [{**members[-1], "id": name, "source_id": name} for name in names]
    await bench.store.uncounted.write_many(STORIES_CONTAINER.name, more)
    await mark_signals_due(bench.store, [event], bench.clock.now)
    await bench.app.announcer.announce(SIGNALS_STAGE, [event])
    await bench.work(GENERATE_IDEAS, "generate_ideas")


async def _refresh(bench: Bench) -> None:
    async def refresh() -> None:
        bench.clock.forward(minutes=15)
        await bench.call("refresh_sentiment_cache", timer_request=None)
        await bench.work(REFRESH_TOOLS, "refresh_tools")

    await refresh()
    await bench.call("clean_up", timer_request=None)
    await refresh()
    with bench.measured("a refresh with nothing new, each tool", 4 * TOOLS):
        for _ in range(4):  # the first of an hour costs more than the others
            await refresh()
    await _articles(bench, bench.items(1, 1))
    bench.queues.sent[REFRESH_TOOLS] = []
    await bench.work(ANALYZE_ARTICLES, "analyze_articles")
    with bench.measured("a refresh of a tool with one dirty hour"):
        await bench.work(REFRESH_TOOLS, "refresh_tools")


async def _reads(bench: Bench) -> None:
    for timer in ("ingest_due_feeds", "clean_up"):
        await bench.call(timer, timer_request=None)
    for function, query in _READS.values():
        await bench.answer(function, "GET", f"x?{query}", tool="Widget0x")  # the first call imports and builds
    bench.clock.forward(minutes=1)
    tool = await bench.answer("get_tool", "GET", "tools/Widget0x", tool="Widget0x")
    await bench.app.figures.generations.raise_(tool["tool_id"])
    for name, (function, query) in _READS.items():
        if name not in (_MISS, _HIT_IN_MEMORY, _NEXT_HIT):
            bench.new_memory()
        with bench.measured(name):
            await bench.answer(function, "GET", f"x?{query}", tool="Widget0x")


COUNTS, CALLS = 0.02, 0.03
"""The shares by which counts and calls may differ: the order of concurrent work does."""


def is_alike(one: Cost, other: Cost) -> bool:
    counts = [dataclasses.astuple(dataclasses.replace(each, calls=0.0)) for each in (one, other)]
    pairs = zip(*counts, strict=True)
    are_counts = all(math.isclose(here, there, rel_tol=COUNTS, abs_tol=0.1) for here, there in pairs)
    # Other versions of Python call functions where 3.11 has none, and the other way round.
    counts_calls = sys.version_info[:2] == (3, 11)
    return are_counts and (not counts_calls or math.isclose(one.calls, other.calls, rel_tol=CALLS, abs_tol=20))


def differences(costs: dict[str, Cost], budgets: dict[str, Cost]) -> list[str]:
    names = dict.fromkeys([*costs, *budgets])
    pairs = ((name, costs.get(name), budgets.get(name)) for name in names)
    return [
        f"{name}: {here}, recorded {there}"
        for name, here, there in pairs
        if here is None or there is None or not is_alike(here, there)
    ]


def recorded() -> dict[str, Cost]:
    return {name: Cost(**fields) for name, fields in json.loads(RECORDED.read_text()).items()}


def table(costs: dict[str, Cost]) -> str:
    widest = max(map(len, costs))
    heads = [field.name for field in dataclasses.fields(Cost)]
    lines = [f"{'operation':<{widest}}" + "".join(f"{head:>11}" for head in heads)]
    for name, cost in costs.items():
        lines.append(f"{name:<{widest}}" + "".join(f"{figure:>11,.1f}" for figure in dataclasses.astuple(cost)))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--write", action="store_true", help="record the budgets")
    parser.add_argument("--check", action="store_true", help="compare them with what is recorded")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        costs = {name: cost for name, cost in asyncio.run(measured(Path(folder))).items() if name}
    if given.write:
        rows = {name: dataclasses.asdict(cost) for name, cost in costs.items()}
        RECORDED.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(costs))
    if given.check and (found := differences(costs, recorded())):
        raise SystemExit("\n".join(["These rows differ from benchmarks/budgets.json; --write records them:", *found]))


if __name__ == "__main__":
    main()
