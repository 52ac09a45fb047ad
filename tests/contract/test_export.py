"""An export brings everything, and continued later what changed or was removed since, on both stores."""

from __future__ import annotations

from typing import Any

import pytest

from models.article import source_id
from models.errors import InvalidInput
from models.story import RemovedStory
from models.values import format_time
from services.operations.export import LAYERS, Export, Layer
from services.ports import Store
from tests.contract.conftest import SettableClock
from tests.documents import article, mention, observation, story


class Follower:
    """Somebody who keeps a copy of a layer."""

    def __init__(self, store: Store, clock: SettableClock, layer: Layer, limit: int = 2) -> None:
        self.export, self.clock, self.layer, self.limit = Export(store, clock), clock, layer, limit
        self.cursor: str | None = None
        self.copy: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.brought: list[tuple[Any, ...]] = []

    async def follow(self, most_pages: int = 1000) -> list[tuple[Any, ...]]:
        """Reads to the end. Returns the keys that were brought."""
        self.brought = []
        for _ in range(most_pages):
            page = await self.export.page(self.layer, self.limit, self.cursor)
            for each in page.items:
                names = {"canonical": ("source_id",), "raw": ("source_id", "source", "observed_day")}.get(
                    self.layer, ("tool_id", "source_id") if self.layer == "mentions" else ("event_id",)
                )
                key = tuple(each[name] for name in names)
                self.brought.append(key)
                if each.get("removed"):
                    self.copy.pop(key, None)
                else:
                    self.copy[key] = each
            self.cursor = page.next or page.resume
            if page.next is None:
                break
        return self.brought


def kept(clock: SettableClock, document: Any) -> dict[str, Any]:
    """The document, which does not expire during the test."""
    return {**document.to_document(), "ttl_timestamp": clock.seconds() + 30 * 86400}


def document_of(layer: Layer, number: int, clock: SettableClock) -> tuple[str, dict[str, Any]]:
    name = f"{number:032x}"
    if layer == "canonical":
        return "articles", kept(clock, article(dedup_key=name))
    if layer == "raw":
        return "articles", kept(clock, observation(source_id=source_id(name)))
    if layer == "mentions":
        return "mentions", kept(clock, mention(source_id=source_id(name)))
    return "stories", kept(clock, story(event_id=f"story:20260221:{name}", day="2026-02-21"))


@pytest.mark.parametrize("layer", LAYERS)
async def test_every_document_is_brought_once_and_later_only_what_was_written_since(
    store: Store, clock: SettableClock, layer: Layer
) -> None:
    for number in range(7):
        await store.create(*document_of(layer, number, clock))
    follower = Follower(store, clock, layer)
    first = await follower.follow()
    assert len(first) == len(set(first)) == len(follower.copy) == 7
    assert await follower.follow() == []
    container, document = document_of(layer, 3, clock)
    await store.upsert(container, {**document, "updated_at": format_time(clock())})
    await store.create(*document_of(layer, 8, clock))
    assert len(await follower.follow()) == 2
    assert len(follower.copy) == 8


async def test_what_is_removed_is_brought_as_removed(store: Store, clock: SettableClock) -> None:
    removals: dict[Layer, dict[str, Any]] = {
        "canonical": {"deleted_at": format_time(clock())},
        "raw": {"deleted_at": format_time(clock())},
        "mentions": {"removed_at": format_time(clock())},
    }
    for layer, changes in removals.items():
        container, document = document_of(layer, 1, clock)
        await store.create(container, document)
        follower = Follower(store, clock, layer)
        await follower.follow()
        assert len(follower.copy) == 1
        await store.upsert(container, {**document, **changes})
        assert len(await follower.follow()) == 1
        assert follower.copy == {}, layer


async def test_a_story_that_is_gone_is_brought_as_removed_unless_it_is_there_again(
    store: Store, clock: SettableClock
) -> None:
    container, document = document_of("stories", 1, clock)
    await store.create(container, document)
    follower = Follower(store, clock, "stories")
    await follower.follow()
    named, now = {name: document[name] for name in ("day", "event_id")}, clock()
    gone = RemovedStory(created_at=now, removed_at=now, **named)
    await store.upsert(container, {**gone.to_document(), "ttl_timestamp": None})
    await store.delete(container, document["day"], document["id"])
    await follower.follow()
    assert follower.copy == {}
    await store.create(container, document)
    await follower.follow()
    assert set(follower.copy) == {(document["event_id"],)}


async def test_an_export_that_is_interrupted_goes_on_and_misses_nothing(store: Store, clock: SettableClock) -> None:
    for number in range(9):
        await store.create(*document_of("canonical", number, clock))
    follower = Follower(store, clock, "canonical")
    await follower.follow(2)
    assert len(follower.copy) == 4
    await store.create(*document_of("canonical", 20, clock))
    container, document = document_of("canonical", 0, clock)
    await store.upsert(container, {**document, "headline": "Another"})
    await follower.follow()
    await follower.follow()
    assert len(follower.copy) == 10
    assert follower.copy[(source_id("0" * 32),)]["headline"] == "Another"


@pytest.mark.parametrize("cursor", ["", "abc", "e30"])
async def test_a_cursor_of_something_else_is_refused(store: Store, clock: SettableClock, cursor: str) -> None:
    with pytest.raises(InvalidInput, match="X-Resume-Cursor"):
        await Export(store, clock).page("raw", 10, cursor)
    page = await Export(store, clock).page("canonical", 10, None)
    with pytest.raises(InvalidInput, match="of the same layer"):
        await Export(store, clock).page("raw", 10, page.resume)
