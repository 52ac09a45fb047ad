"""A worker that starts resumes what an earlier one left: it announces articles whose message was lost, as every tick
does, and claims the feeds that are due. What is stored starts later if the queue service refuses the message."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from models.errors import Unavailable
from models.run import IngestionBatch, JobRun
from services import container
from services.container import Container
from services.ports import utc_now
from services.store.sqlite import SqliteStore
from services.work.listing import page_of_runs
from tests.documents import article, feed
from tests.functional.api.conftest import FUNCTIONS, call
from tests.queue_service import QueueService


def due(minutes: float) -> dict[str, object]:
    since = utc_now() - timedelta(minutes=minutes)
    return article(created_at=since, analysis_due_since=since).to_document()


async def sent_to(queue: str, queues: QueueService) -> list[str]:
    async with asyncio.timeout(300):
        while not (messages := queues.received(queue)):  # noqa: ASYNC110 (sent over a socket)
            await asyncio.sleep(0.01)
    return messages


async def received(queues: QueueService) -> list[str]:
    """The articles that are announced within a moment."""
    messages = await sent_to("analyze-articles", queues)
    return [source_id for message in messages for source_id in json.loads(message)["article_ids"]]


async def test_a_worker_that_starts_announces_what_is_overdue(
    environment: pytest.MonkeyPatch, tmp_path: Path, queue_server: QueueService
) -> None:
    store = SqliteStore(tmp_path / "toolpulse.db", utc_now)
    await store.ensure_containers()
    document = due(2)
    await store.create("articles", document)
    await store.close()
    await container.get()
    assert await received(queue_server) == [document["source_id"]]
    await container.close()


async def test_the_calls_of_one_request_wait_once_for_a_store_that_does_not_answer(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "toolpulse.db").mkdir()
    failures = await asyncio.gather(container.get(), container.get(), return_exceptions=True)
    assert isinstance(failures[0], Unavailable)
    assert failures[1] is failures[0]
    (tmp_path / "toolpulse.db").rmdir()
    await container.close()
    await container.get()
    await container.close()


async def store_a_due_feed(folder: Path) -> None:
    store, now = SqliteStore(folder / "toolpulse.db", utc_now), utc_now()
    await store.ensure_containers()
    await store.create("feeds", feed(created_at=now, next_fetch_time=now).to_document())
    await store.close()


async def test_a_worker_that_starts_claims_what_is_due(
    environment: pytest.MonkeyPatch, tmp_path: Path, queue_server: QueueService
) -> None:
    await store_a_due_feed(tmp_path)
    app = await container.get()
    (message,) = await sent_to("ingest-feeds", queue_server)
    (run,) = (await page_of_runs(app.store, 10, None)).items
    await container.close()
    assert isinstance(run, IngestionBatch)
    assert (json.loads(message)["run_id"], list(run.claimed)) == (run.run_id, [feed().feed_id])


async def test_a_tick_that_starts_its_worker_claims_each_feed_once(
    environment: pytest.MonkeyPatch, tmp_path: Path, queue_server: QueueService
) -> None:
    await store_a_due_feed(tmp_path)
    await FUNCTIONS["ingest_due_feeds"](timer_request=None)
    await container.resumed()
    assert len({json.loads(message)["run_id"] for message in queue_server.received("ingest-feeds")}) == 1
    await container.close()


async def test_a_worker_starts_although_nothing_can_be_announced(
    environment: pytest.MonkeyPatch, queue_server: QueueService
) -> None:
    queue_server.refuses = True
    app = await container.get()
    await app.store.create("articles", due(2))
    await container.resumed()
    assert await container.get() is app
    await container.close()


async def runs(app: Container) -> list[JobRun]:
    return (await page_of_runs(app.store, 100, None)).items


@pytest.fixture
async def refusing(app: Container, queue_server: QueueService) -> QueueService:
    """The queue service refuses all messages; the catalog has two tools and a feed, and there are no runs."""
    for name in ("Quorvia", "Tarnwick"):
        assert (await call("add_tool", body={"name": name})).status == 201
    await call("add_feed", body={"url": "https://example.com/feed", "source_name": "Example", "feed_id": "example"})
    for run in await runs(app):
        await app.runs.withdraw(run.run_id)
    queue_server.refuses = True
    return queue_server


async def test_a_refresh_of_all_that_nobody_will_start_is_not_accepted(app: Container, refusing: QueueService) -> None:
    refused = await call("refresh_cache", body={})
    assert (refused.status, refused.mimetype) == (503, "application/problem+json")
    assert refused.headers["Retry-After"] == "5"


CHANGES: list[tuple[str, int, dict[str, Any], dict[str, str]]] = [
    ("add_tool", 201, {"name": "Moorlight"}, {}),
    ("change_tool", 202, {"aliases": ["QV"]}, {"tool": "Quorvia"}),
    ("change_feed", 200, {"source_priority": 7}, {"feed_id": "example"}),
    ("reanalyze_tool", 202, {}, {"tool": "Quorvia"}),
    ("merge_tool", 202, {"into": "Tarnwick"}, {"tool": "Quorvia"}),
    ("fetch_feed", 202, {}, {"feed_id": "example"}),
]


async def test_work_that_is_stored_is_accepted_and_its_run_starts_later(app: Container, refusing: QueueService) -> None:
    accepted = []
    for name, status, body, route in CHANGES:
        changed = await call(name, body=body, **route)
        assert (changed.status, changed.sent) == (status, []), name
        accepted.append(changed.json["run_id"])
    assert {run.run_id: run.status for run in await runs(app)} == dict.fromkeys(accepted, "QUEUED")
