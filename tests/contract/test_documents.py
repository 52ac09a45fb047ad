"""Full texts on every store: due documents in their order, claims of two workers, reviews, attempts, removal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from services.archive.folder import FolderArchive
from services.documents.discovery import source_ids_of
from services.ports import Store
from services.store.containers import QUARANTINE
from services.topology import ACQUIRE_DOCUMENTS
from tests.builders import Watch
from tests.functional.documents.world import TEXT, World, html, page
from tests.functional.fetch.conftest import Server, server

__all__ = ["server"]


@pytest.fixture
async def world(store: Store, tmp_path: Path, server: Server) -> AsyncIterator[World]:
    # A Cosmos server has a clock of its own.
    watch = Watch(datetime.now(UTC).replace(microsecond=0))
    made = World(store, watch, server, FolderArchive(tmp_path / "archive"))
    yield made
    await made.fetcher.close()


async def test_a_full_text_is_acquired_shown_and_removed(world: World) -> None:
    tool = await world.mentions.tool("Ferry")
    asked = await world.article(text="Ferry is a bad tool.")
    world.server.answers["/story"] = [page(status=503), page()]
    assert (await world.acquire(asked)).acquisition_status == "FAILED_RETRYABLE"
    assert await world.clean_up() == 0
    world.watch.advance(minutes=17)
    assert await world.clean_up() == 1
    await world.deliver()
    shown = (await world.services.documents.get(asked.source_id)).resource("full").shown()
    assert (shown["validation_status"], shown["eligibility"]) == ("VALID", "NONE")
    assert [each["status"] for each in shown["attempts"]] == ["SUCCEEDED", "FAILED"]
    assert {each["role"] for each in shown["files"]} == {"RAW", "NORMALIZED"}
    mention = (await world.mentions.mentions(tool))[asked.source_id]
    assert mention.polarity is not None
    assert mention.polarity > 0
    await world.mentions.worker.delete(asked.source_id)
    assert await world.find(asked.source_id) is None
    assert (world.archived(), await world.aliases()) == ([], [])


async def test_two_workers_read_each_page_once(world: World, another: Callable[[], Store]) -> None:
    asked = [await world.article(number, f"/{number}") for number in range(1, 5)]
    world.server.answers |= {f"/{number}": page() for number in range(1, 5)}
    await world.discover(*asked)
    [message] = world.queues.sent.pop(ACQUIRE_DOCUMENTS)
    workers = [world.new_worker(another()) for _ in range(2)]
    await asyncio.gather(*(each.handler.handle(source_ids_of(message)) for each in workers))
    for each in asked:
        assert (await world.document(each.source_id)).validation_status == "VALID"
        assert len(await world.attempts(each.source_id)) == 1
    assert len([each for each in world.server.requests if each.path != "/robots.txt"]) == len(asked)


async def test_a_review_releases_a_document(world: World) -> None:
    asked = await world.article()
    world.server.answers["/story"] = [page(html(headline="Something else", paragraphs=TEXT)), page()]
    assert (await world.acquire(asked)).validation_status == "QUARANTINED"
    [item] = await world.held()
    reviewed = item.reviewed(world.watch.now, "CLEARED_RETRY_APPROVED", "Ann", "because")
    await world.store.replace(QUARANTINE.name, reviewed.to_document(), item.stored_etag or "")
    await world.services.reviews.follow(reviewed)
    await world.deliver()
    assert (await world.document(asked.source_id)).validation_status == "VALID"
    [item] = await world.held()
    assert item.released_at is not None
