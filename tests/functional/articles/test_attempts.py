"""What runs record: attempts whose workers died, the invocation that began them, and each article once."""

from __future__ import annotations

from typing import Any

import pytest

from services.feeds.registry import FeedRegistry
from services.store.containers import FEEDS, RUNS
from tests.functional.articles.dying import Died, DyingStore
from tests.functional.articles.world import World, item


class DiesClosingTheRun(DyingStore):
    """Dies at the second write of a run, after all feeds are saved."""

    _writes = 0

    async def _do(self, name: str, *arguments: Any, **options: Any) -> Any:
        self._writes += (name, arguments[0]) == ("batch", RUNS.name)
        if self._writes == 2:
            self._k = self.operations
        return await super()._do(name, *arguments, **options)


async def test_a_run_says_that_its_worker_died_after_the_feed_was_saved(world: World) -> None:
    await world.add_feed("feed", [item(1)])
    (run_id,) = await world.claimed("feed")
    with pytest.raises(Died):
        await world.new_worker(DiesClosingTheRun(world.store)).ingestion.ingest(run_id)
    assert (await world.feed("feed")).fetch_count == 1
    await world.new_worker().ingestion.ingest(run_id, 2)
    assert (await world.feed("feed")).fetch_count == 1
    ends = [(each["subject"], each["attempt_no"], each["error_type"]) for each in await world.attempts()]
    assert ends == [("feed", 1, "worker_died")]
    assert [each["status"] for each in await world.runs()] == ["FAILED"]


async def test_a_run_names_the_invocation_that_began_it(world: World) -> None:
    await world.add_feed("feed", [item(1)])
    (run_id,) = await world.claimed("feed")
    await world.worker.ingestion.ingest(run_id, 1, "an invocation")
    world.clock.forward(seconds=30)
    await world.new_worker().ingestion.ingest(run_id, 2, "another")
    (run,) = await world.runs()
    assert run["invocation_id"] == run["metrics"]["invocation_id"] == "an invocation"


async def test_a_feed_that_cannot_be_read_keeps_no_other_from_being_claimed(world: World) -> None:
    for name in ("a", "b"):
        await world.add_feed(name, [item(1)])
    (run,) = await world.worker.claims.claim_due(world.clock.now)
    damaged = (await world.feed("a")).to_document() | {"fetch_count": "many"}
    await world.store.upsert(FEEDS.name, damaged)
    await world.worker.ingestion.ingest(run.run_id)
    world.clock.forward(hours=1)
    following = await world.worker.claims.claim_due(world.clock.now)
    assert any("b" in each.claimed for each in following)


async def counted_by_runs(world: World) -> int:
    runs = [each["metrics"] for each in await world.runs() if each.get("metrics")]
    return sum(each["articles_stored"] + each["collisions_detected"] for each in runs)


async def test_a_feed_that_is_removed_and_added_again_counts_its_articles_once_in_the_runs(world: World) -> None:
    registry = FeedRegistry(world.store, world.clock)
    for life in range(3):
        await world.add_feed("feed", [item(1), item(2, text=f"Edited in life {life}.")])
        await world.poll("feed", world.new_worker())
        assert await counted_by_runs(world) == 2
        world.clock.forward(minutes=1)
        await registry.remove("feed")
    await world.add_feed("feed", [item(1), item(2), item(3)])
    await world.poll("feed", world.new_worker())
    assert await counted_by_runs(world) == 3
    assert (await world.feed("feed")).total_articles_fetched == 1
