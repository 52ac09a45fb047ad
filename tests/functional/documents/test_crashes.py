"""Two workers, a failing archive, an edit, a deletion or a review during a try: nothing is lost, doubled or left."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from models.errors import Unavailable
from services.documents.documents import DOCUMENTS_STAGE
from services.documents.life_cycle import TRY_TAKES
from services.ports import Archive, Operation, Query, Store, Where
from services.store.containers import DOCUMENTS
from tests.failing_stores import hesitant
from tests.functional.documents.world import TEXT, World, html, page

_DUE = Query((Where("deleted_at", "missing"),), order="by_analysis_due", limit=100)


@dataclass
class DownArchive:
    """An archive that does not answer while it is `down`."""

    archive: Archive
    down: bool = True

    def __getattr__(self, name: str) -> object:
        if self.down and name in ("put", "get"):
            raise Unavailable("the archive did not answer")
        return getattr(self.archive, name)


async def _settled(world: World) -> None:
    """What `clean_up` does once the lease of a dead worker is over."""
    for _ in range(3):
        world.watch.advance(seconds=TRY_TAKES.total_seconds() + 120)
        await world.clean_up()
        await world.deliver()
        due = await world.mentions.store.query("articles", _DUE)
        await world.mentions.delivered([each["source_id"] for each in due.items])


async def test_a_text_that_was_asked_for_by_a_clock_that_was_ahead_is_fetched(world: World) -> None:
    world.server.answers["/story"] = page()
    asked = await world.article()
    world.watch.advance(days=40)
    await world.discover(asked)
    world.watch.advance(days=-40)
    world.queues.sent.clear()
    assert await world.clean_up() == 1
    await world.deliver()
    assert (await world.document(asked.source_id)).validation_status == "VALID"


async def test_two_workers_with_one_message_read_the_page_once(world: World) -> None:
    asked = [await world.article(number, f"/{number}") for number in range(1, 6)]
    world.server.answers |= {f"/{number}": page() for number in range(1, 6)}
    await world.discover(*asked)
    messages = world.queues.sent["acquire-documents"]
    messages *= 2
    workers = [world.new_worker(hesitant(world.store, seed)) for seed in (1, 2)]
    one = DOCUMENTS_STAGE.keys_of(messages[0])
    await asyncio.gather(*(each.fetching.document_work.handle(one) for each in workers))
    for each in asked:
        assert (await world.document(each.source_id)).validation_status == "VALID"
        assert len(await world.attempts(each.source_id)) == 1
    read = [each.path for each in world.server.requests if each.path != "/robots.txt"]
    assert sorted(read) == [f"/{number}" for number in range(1, 6)]


async def test_an_article_that_is_deleted_during_a_try_leaves_nothing(world: World) -> None:
    asked = await world.article()

    async def slowly(request: object, writer: asyncio.StreamWriter) -> None:
        await world.mentions.worker.delete(asked.source_id)
        writer.write(page())
        await writer.drain()
        writer.close()

    world.server.answers["/story"] = slowly
    await world.discover(asked)
    await world.deliver()
    assert await world.find(asked.source_id) is None
    assert world.archived() == []
    assert await world.aliases() == []


async def test_an_archive_that_fails_delays_the_document_and_no_article(world: World) -> None:
    asked = await world.article()
    world.server.answers["/story"] = page()
    archive = DownArchive(world.archive)
    await world.discover(asked)
    await world.deliver(world.new_worker(archive=archive))  # type: ignore[arg-type]
    document = await world.document(asked.source_id)
    assert (document.acquisition_status, document.last_error_fingerprint) == ("FAILED_RETRYABLE", "ARCHIVE_UNAVAILABLE")
    await _settled(world)
    assert (await world.document(asked.source_id)).validation_status == "VALID"


ODD = html(headline="Something else entirely", paragraphs=TEXT)


async def test_an_unknown_page_waits_for_a_person_and_is_tried_again_only_then(world: World) -> None:
    asked = await world.article()
    world.server.answers["/story"] = [page(ODD), page(ODD), page()]
    document = await world.acquire(asked)
    assert (document.validation_status, document.ttl_timestamp) == ("QUARANTINED", None)
    assert document.quarantine_reason_code == "MISSING_CRITICAL_METADATA"
    [item] = await world.held()
    assert (item.kind, item.subject, item.manual_review_status) == ("DOCUMENT", asked.source_id, "PENDING")
    files = (await world.documents().get(asked.source_id)).shown()["files"]
    assert {each["role"] for each in files} == {"RAW", "QUARANTINE_CONTEXT"}
    world.watch.advance(days=3)
    assert await world.clean_up() == 0

    for expected in ("QUARANTINED", "VALID"):
        await world.review("CLEARED_RETRY_APPROVED")
        await world.deliver()
        after = await world.document(asked.source_id)
        assert after.validation_status == expected
    assert after.ttl_timestamp == asked.expires
    assert len(await world.attempts(asked.source_id)) == 3


class _BeforeQuarantine:
    """A store that does `act` right before it saves a document that is quarantined."""

    def __init__(self, store: Store, act: Any) -> None:
        self._store = store
        self._act = act

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def batch(self, container: str, partition: str, operations: Sequence[Operation]) -> list[str | None]:
        documents: list[Mapping[str, Any]] = [getattr(each, "document", {}) for each in operations]
        if container == DOCUMENTS.name and any(each.get("validation_status") == "QUARANTINED" for each in documents):
            await self._act()
        return await self._store.batch(container, partition, operations)


async def test_an_article_whose_address_changed_no_longer_holds_the_old_page(world: World) -> None:
    asked, other = await world.article(1, "/old"), await world.article(2, "/other")
    world.server.answers |= {"/old": page(), "/new": page()}
    assert (await world.acquire(asked)).validation_status == "VALID"
    moved = asked._replace(url=world.server.url("/new"), revision="r9")
    assert (await world.acquire(moved)).validation_status == "VALID"

    document = await world.acquire(other._replace(url=asked.url))
    assert document.acquisition_status == "ACQUIRED"


async def test_a_deleted_article_leaves_no_quarantine_item(world: World) -> None:
    """Also if the deletion came before the try had ended, and items of reviews before."""
    asked, other = await world.article(1, "/1"), await world.article(2, "/2")
    world.server.answers |= {"/1": [page(ODD), page(html(paragraphs=["Too little."]))], "/2": page(ODD)}
    await world.acquire(asked)
    await world.review("CLEARED_RETRY_APPROVED")
    await world.deliver()
    assert len(await world.held()) == 2
    await world.mentions.worker.delete(asked.source_id)
    assert await world.held() == []

    await world.discover(other)
    store = _BeforeQuarantine(world.store, lambda: world.mentions.worker.delete(other.source_id))
    await world.deliver(world.new_worker(store))
    assert await world.find(other.source_id) is None
    assert await world.held() == []


async def test_a_review_right_before_the_end_of_the_try_is_to_be_repeated(world: World) -> None:
    asked = await world.article()
    world.server.answers["/story"] = page(ODD)
    await world.discover(asked)

    async def reviewed() -> None:
        with pytest.raises(Unavailable, match="under way"):
            await world.review("CLEARED_TERMINAL")

    await world.deliver(world.new_worker(_BeforeQuarantine(world.store, reviewed)))
    await world.documents().follow((await world.held())[0])  # the person decides the same again
    document = await world.document(asked.source_id)
    assert (document.validation_status, document.manual_review_status) == ("TERMINAL_INVALID", "CLEARED_TERMINAL")
    assert document.ttl_timestamp == asked.expires
