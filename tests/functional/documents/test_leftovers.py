"""What an edit, a deletion or a review could leave behind when a try is under way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from models.errors import Unavailable
from services.ports import Operation, Store
from services.store.containers import DOCUMENTS
from tests.functional.documents.world import World, html, page

ODD = page(html(headline="Welcome to our site"))


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


def before_quarantine(store: Store, act: Any) -> Store:
    return cast(Store, _BeforeQuarantine(store, act))


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
    world.server.answers |= {"/1": [ODD, page(html(paragraphs=["Too little."]))], "/2": ODD}
    await world.acquire(asked)
    await world.review("CLEARED_RETRY_APPROVED")
    await world.deliver()
    assert len(await world.held()) == 2
    await world.mentions.worker.delete(asked.source_id)
    assert await world.held() == []

    await world.discover(other)
    store = before_quarantine(world.store, lambda: world.mentions.worker.delete(other.source_id))
    await world.deliver(world.new_worker(store))
    assert await world.find(other.source_id) is None
    assert await world.held() == []


async def test_a_review_right_before_the_end_of_the_try_is_to_be_repeated(world: World) -> None:
    asked = await world.article()
    world.server.answers["/story"] = ODD
    await world.discover(asked)

    async def reviewed() -> None:
        with pytest.raises(Unavailable, match="under way"):
            await world.review("CLEARED_TERMINAL")

    await world.deliver(world.new_worker(before_quarantine(world.store, reviewed)))
    await world.documents().follow((await world.held())[0])  # the person decides the same again
    document = await world.document(asked.source_id)
    assert (document.validation_status, document.manual_review_status) == ("TERMINAL_INVALID", "CLEARED_TERMINAL")
    assert document.ttl_timestamp == asked.expires
