"""The record of an attempt whose worker died, and of the invocation that began a run."""

from __future__ import annotations

import pytest

from services.feeds.claims import IngestMessage
from services.fetch.outcome import FetchRequest, FetchResult
from tests.functional.articles.dying import Died, DiesSavingFeeds
from tests.functional.articles.world import START, World, item


async def _dead(world: World) -> IngestMessage:
    """A worker has stored the articles and its attempt, and died before it saved the feed."""
    await world.add_feed("feed", [item(1), item(2)])
    (batch,) = await world.claimed("feed")
    with pytest.raises(Died):
        await world.new_worker(DiesSavingFeeds(world.store)).ingestion.ingest(batch)
    (attempt,) = await world.attempts()
    assert (attempt["status"], attempt["articles_stored"]) == ("SUCCEEDED", 2)
    current = (await world.feed("feed")).lease
    assert current is not None
    assert current.started_at == START
    return batch


async def test_a_run_keeps_the_attempt_that_was_recorded_before_its_worker_died(world: World) -> None:
    await _dead(world)
    world.clock.forward(minutes=20)
    await world.worker.overdue.runs(world.clock.now)
    (given_up,) = await world.runs()
    assert (given_up["status"], given_up["metrics"]["articles_stored"]) == ("PARTIAL", 2)
    await world.poll("feed", world.new_worker())
    first, second = sorted(await world.attempts(), key=lambda each: str(each["started_at"]))
    assert [(each["status"], each["articles_stored"]) for each in (first, second)] == [
        ("SUCCEEDED", 2),
        ("SUCCEEDED", 0),
    ]


async def test_a_run_counts_what_each_of_its_attempts_stored(world: World) -> None:
    batch = await _dead(world)
    world.clock.forward(minutes=1)
    await world.new_worker().ingestion.ingest(batch, 2, "the second invocation")
    first, second = sorted(await world.attempts(), key=lambda each: int(each["attempt_no"]))
    assert [(each["status"], each["articles_new"]) for each in (first, second)] == [("SUCCEEDED", 2), ("SUCCEEDED", 0)]
    (run,) = await world.runs()
    assert (run["status"], run["errors"], run["metrics"]["articles_stored"]) == ("SUCCEEDED", [], 2)


class DeadlyShelf:
    async def fetch(self, request: FetchRequest) -> FetchResult:
        raise Died


async def test_a_feed_that_kills_its_workers_is_known_by_its_document(world: World) -> None:
    """The first delivery has no lease before it stores something; a message that is delivered again has."""
    await world.add_feed("feed", [item(1)])
    (batch,) = await world.claimed("feed")
    for delivery in (1, 2):
        with pytest.raises(Died):
            await world.new_worker(shelf=DeadlyShelf()).ingestion.ingest(batch, delivery)
        assert ((await world.feed("feed")).lease is not None) is (delivery > 1)
        world.clock.forward(minutes=1)
    world.clock.forward(minutes=20)
    await world.poll("feed", world.new_worker())
    await world.worker.overdue.runs(world.clock.now)
    ends = [(each["run_id"], each["status"], each.get("error_type")) for each in await world.attempts()]
    assert sorted(ends, key=str) == [("run-1", "FAILED", "worker_died"), ("run-2", "SUCCEEDED", None)]


async def test_a_delivery_that_takes_over_records_the_attempt_that_died(world: World) -> None:
    await world.add_feed("feed", [item(1)])
    (batch,) = await world.claimed("feed")
    with pytest.raises(Died):
        await world.new_worker(shelf=DeadlyShelf()).ingestion.ingest(batch, 2)
    world.clock.forward(minutes=1)
    await world.new_worker().ingestion.ingest(batch, 3)
    ends = [(each["attempt_no"], each["status"], each.get("error_type")) for each in await world.attempts()]
    assert ends == [(2, "FAILED", "worker_died"), (3, "SUCCEEDED", None)]
    (run,) = await world.runs()
    assert (run["status"], run["metrics"]["articles_stored"]) == ("SUCCEEDED", 1)


async def test_documents_that_cannot_be_read_keep_no_feed_from_being_taken_over(world: World) -> None:
    await _dead(world)
    broken = {
        "id": "article",
        "source_id": "dedup:broken",
        "entity_type": "Article",
        "updated_at": "2026-02-21T20:00:01Z",
    }
    await world.store.create("articles", broken)
    (attempt,) = await world.attempts()
    await world.store.create("runs", {**attempt, "id": f"{attempt['id']}:broken", "status": "ODD"})
    world.clock.forward(minutes=20)
    await world.poll("feed", world.new_worker())
    assert (await world.feed("feed")).fetch_count == 1


async def test_a_run_names_the_invocation_that_began_it(world: World) -> None:
    await world.add_feed("feed", [item(1)])
    (batch,) = await world.claimed("feed")
    await world.worker.ingestion.ingest(batch, 1, "an invocation")
    world.clock.forward(seconds=30)
    await world.new_worker().ingestion.ingest(batch, 2, "another")
    (run,) = await world.runs()
    assert run["invocation_id"] == run["metrics"]["invocation_id"] == "an invocation"
