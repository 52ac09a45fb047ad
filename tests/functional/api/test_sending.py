"""What a request answers and leaves behind if the queue service refuses its message: what is stored starts later."""

from typing import Any

import pytest

from models.run import JobRun
from services.container import Container
from tests.functional.api.conftest import call
from tests.queue_service import QueueService


async def runs(app: Container) -> list[JobRun]:
    return (await app.runs.page(100, None)).items


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
