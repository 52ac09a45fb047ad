"""A source's priority is changed while its articles are ingested: all readings follow the present priority."""

import asyncio
import itertools
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from services.articles.sources import chosen_source
from services.feeds.registry import FeedRegistry
from services.figures.entries import Generations
from services.mentions.analyzers.embedded import EmbeddedAnalyzer
from services.mentions.writing import Analysis, MentionWriter
from services.ports import Store
from services.tools.catalog import Catalog
from services.tools.detector import Watchlist
from services.work.announcing import Announcer
from services.work.driver import PRIORITIZE, Workflows
from services.work.runs import RunEngine
from services.workflows.changes import FeedChanges
from services.workflows.priorities import Priorities
from tests.builders import MemoryQueues
from tests.failing_stores import hesitant
from tests.functional.articles.world import SettableClock, World, item

FEEDS = ("a", "b", "c")


@pytest.mark.parametrize("seed", range(3))
async def test_copies_of_a_priority_readings_and_scores_agree(
    store: Store, another: Callable[[], Store], seed: int
) -> None:
    clock = SettableClock(datetime.now(UTC).replace(microsecond=0))
    world = World(store, clock)
    for number, feed in enumerate(FEEDS):
        await world.add_feed(feed, [item(n, text=f"{feed} says so") for n in range(4)], source_priority=5 + number)
    slow = hesitant(another(), seed)
    catalog = Catalog(slow, clock, lambda: "no tools here")
    announcer = Announcer(MemoryQueues())
    writer = MentionWriter(slow, catalog, Watchlist(catalog, clock), EmbeddedAnalyzer(), announcer, clock)
    runs = (f"priority-{number}" for number in itertools.count())
    engine = RunEngine(slow, clock, lambda: next(runs))
    workflows = Workflows(engine, {PRIORITIZE: Priorities(slow, writer, Generations(slow, clock), clock)}, clock)
    changes = FeedChanges(FeedRegistry(slow, clock), workflows)

    async def ingested(feed: str) -> None:
        worker = world.new_worker(hesitant(another(), seed + 10))
        outcome = await worker.ingestion.ingest(await worker.claims.claim(feed, clock.now))
        await Analysis(writer, clock).work(outcome.article_ids, alone=False)

    async def reprioritized(feed: str, priority: int) -> None:
        _, run = await changes.change(feed, {"source_priority": priority})
        assert run is not None
        await workflows.advance(run.run_id)

    await asyncio.gather(*(ingested(feed) for feed in FEEDS), reprioritized("c", 1), reprioritized("a", 9))
    # An article that another worker changes after its message was handled is announced again as overdue.
    overdue = [each["source_id"] for each in await world.articles() if each.get("analysis_due_since")]
    await Analysis(writer, clock).work(overdue, alone=False)
    articles = await world.articles()
    assert len(articles) == 4
    for article in articles:
        sources = article["source_attribution"]
        assert {feed: each["source_priority"] for feed, each in sources.items()} == {"a": 9, "b": 6, "c": 1}
        assert article["canonical"]["source"] == "c" == chosen_source(sources)
        assert article["text_for_analysis"] == "c says so"
        assert article["analyzed_revision"] == article["canonical"]["revision"]
