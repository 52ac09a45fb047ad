"""An export leaves out no document, in whatever order documents become visible."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from models.article import source_id
from services.operations.export import MAX_SEEN, SETTLING, Export
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import NOW, article


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[tuple[SqliteStore, SqliteStore, Watch, Watch]]:
    """The store of two workers, the second with a clock of its own: a store gives a document the second of its call,
    which may be long before the document is visible."""
    one, other = Watch(NOW), Watch(NOW)
    first, second = SqliteStore(tmp_path / "store.db", one), SqliteStore(tmp_path / "store.db", other)
    await first.ensure_containers()
    yield first, second, one, other
    await first.close()
    await second.close()


def named(number: int, now: datetime = NOW) -> dict[str, Any]:
    return {**article(dedup_key=f"{number:032x}").to_document(), "ttl_timestamp": int(now.timestamp()) + 10_000_000}


async def followed(export: Export, cursor: str | None, limit: int = 3) -> tuple[list[str], str]:
    found: list[str] = []
    while True:
        page = await export.page("canonical", limit, cursor)
        found += [each["source_id"] for each in page.items]
        cursor = page.next or page.resume
        if page.next is None:
            return found, cursor


async def test_a_document_with_an_older_time_that_appears_late_is_brought(
    stores: tuple[SqliteStore, SqliteStore, Watch, Watch],
) -> None:
    first, late, now, behind = stores
    await first.create("articles", named(5))
    export = Export(first, now)
    found, cursor = await followed(export, None)
    assert found == [source_id(f"{5:032x}")]
    behind.now = NOW - SETTLING + timedelta(seconds=5)
    await late.create("articles", named(1))
    found, cursor = await followed(export, cursor)
    assert found == [source_id(f"{1:032x}")], "and no other again"
    now.now = NOW + timedelta(minutes=30)
    assert (await followed(export, cursor))[0] == []


async def test_a_document_of_the_same_second_that_sorts_before_is_brought(
    stores: tuple[SqliteStore, SqliteStore, Watch, Watch],
) -> None:
    first, _, now, _ = stores
    export = Export(first, now)
    cursor: str | None = None
    for number in (9, 3, 6, 1):
        await first.create("articles", named(number))
        found, cursor = await followed(export, cursor)
        assert found == [source_id(f"{number:032x}")]


@pytest.mark.parametrize("seed", range(4))
async def test_two_workers_that_write_around_the_cursor_lose_nothing(
    stores: tuple[SqliteStore, SqliteStore, Watch, Watch], seed: int
) -> None:
    first, second, now, behind = stores
    chance = random.Random(seed)
    export, cursor, brought = Export(first, now), None, list[str]()
    latest: dict[str, str] = {}
    copy: dict[str, str] = {}
    for step in range(150):
        now.now += timedelta(seconds=chance.choice((0, 0, 1, 20)))
        behind.now = now.now - timedelta(seconds=chance.randrange(int(SETTLING.total_seconds()) - 1))
        number = chance.randrange(40)
        document = {**named(number), "headline": f"Headline {step}"}
        await chance.choice((first, second)).upsert("articles", document)
        latest[document["source_id"]] = document["headline"]
        if chance.random() < 0.5:
            page = await export.page("canonical", chance.choice((1, 2, 5)), cursor)
            copy |= {each["source_id"]: each["headline"] for each in page.items}
            brought += [each["source_id"] for each in page.items]
            cursor = page.next or page.resume
    for _ in range(3):
        while True:
            page = await export.page("canonical", 4, cursor)
            copy |= {each["source_id"]: each["headline"] for each in page.items}
            cursor = page.next or page.resume
            if page.next is None:
                break
    assert copy == latest


async def test_very_many_new_documents_are_brought_again_but_none_is_lost_and_the_cursor_stays_short(
    stores: tuple[SqliteStore, SqliteStore, Watch, Watch],
) -> None:
    first, _, now, _ = stores
    number = MAX_SEEN + 50
    await first.write_many("articles", [named(each) for each in range(number)])
    export = Export(first, now)
    found, cursor = await followed(export, None, 100)
    assert len(set(found)) == number
    assert len(cursor) < 5000
    again, cursor = await followed(export, cursor, 100)
    assert len(again) == number - MAX_SEEN
    now.now += SETTLING + timedelta(seconds=1)
    _, cursor = await followed(export, cursor, 100)
    assert (await followed(export, cursor, 100))[0] == []
