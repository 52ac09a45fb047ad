"""A person decides once what is let in and what is dropped."""

import itertools
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from models.errors import InvalidInput, InvalidTransition, NotFound
from models.quarantine import quarantine_id
from services.articles.quarantine import Quarantine
from services.feeds.claims import IngestMessage
from services.runs.engine import RunEngine
from services.store.containers import QUARANTINE
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import NOW, quarantined


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "toolpulse.db", Watch(NOW))
    yield store
    await store.close()


@pytest.fixture
def gate(store: SqliteStore) -> Quarantine:
    numbers = itertools.count(1)
    engine = RunEngine(store, Watch(NOW), lambda: f"run{next(numbers)}")
    return Quarantine(store, engine, Watch(NOW))


async def held(store: SqliteStore, what: str = "x", **changes: Any) -> str:
    item = quarantined(quarantine_id=quarantine_id("BATCH", "reuters-world", what), **changes)
    await store.create(QUARANTINE.name, item.to_document())
    return item.quarantine_id


async def test_an_approved_batch_is_queued_with_a_run_that_is_there_before_its_message(
    gate: Quarantine, store: SqliteStore
) -> None:
    item_id = await held(store)
    reviewed = await gate.review(item_id, "CLEARED_RETRY_APPROVED", "a new CMS")
    assert reviewed.batch == IngestMessage("run1", quarantine_id=item_id)
    assert (reviewed.item.review_note, reviewed.item.reviewed_at) == ("a new CMS", NOW)
    run = await RunEngine(store, Watch(NOW), lambda: "none").get("run1")
    assert (run.status, run.subject) == ("QUEUED", "reuters-world")


async def test_a_dropped_batch_is_queued_nowhere_and_expires(gate: Quarantine, store: SqliteStore) -> None:
    reviewed = await gate.review(await held(store), "CLEARED_TERMINAL")
    assert reviewed.batch is None
    assert reviewed.item.ttl_timestamp == int((NOW + timedelta(days=30)).timestamp())


async def test_the_same_decision_again_queues_again_since_the_message_may_be_lost(
    gate: Quarantine, store: SqliteStore
) -> None:
    item_id = await held(store)
    first = await gate.review(item_id, "CLEARED_RETRY_APPROVED")
    again = await gate.review(item_id, "CLEARED_RETRY_APPROVED")
    assert again.item == first.item
    assert again.batch == IngestMessage("run2", quarantine_id=item_id)


@pytest.mark.parametrize("first", ["CLEARED_RETRY_APPROVED", "CLEARED_TERMINAL"])
async def test_another_decision_after_one_was_made_is_refused(gate: Quarantine, store: SqliteStore, first: str) -> None:
    item_id = await held(store)
    await gate.review(item_id, first)
    other = {"CLEARED_RETRY_APPROVED": "CLEARED_TERMINAL", "CLEARED_TERMINAL": "CLEARED_RETRY_APPROVED"}[first]
    with pytest.raises(InvalidTransition):
        await gate.review(item_id, other)


@pytest.mark.parametrize(
    ("decision", "note", "field"),
    [(None, None, "decision"), ("PENDING", None, "decision"), ("x", None, "decision"), (["x"], None, "decision")]
    + [("CLEARED_TERMINAL", note, "note") for note in ("", 7, "x" * 2001)],
)
async def test_what_is_no_decision_is_refused(
    gate: Quarantine, store: SqliteStore, decision: Any, note: Any, field: str
) -> None:
    item_id = await held(store)
    with pytest.raises(InvalidInput) as caught:
        await gate.review(item_id, decision, note)
    assert caught.value.field == field


@pytest.mark.parametrize("item_id", ["", "nobody", "x" * 3000, "a/b"])
async def test_nothing_of_that_id_is_not_found(gate: Quarantine, item_id: str) -> None:
    with pytest.raises(NotFound):
        await gate.review(item_id, "CLEARED_TERMINAL")


async def test_the_list_is_newest_first_and_may_be_of_one_status(gate: Quarantine, store: SqliteStore) -> None:
    ids = [await held(store, str(n), created_at=NOW + timedelta(minutes=n)) for n in range(3)]
    await gate.review(ids[1], "CLEARED_TERMINAL")
    everything = (await gate.page(None, 10, None)).items
    pending = (await gate.page("PENDING", 10, None)).items
    assert [item.quarantine_id for item in everything] == ids[::-1]
    assert [item.quarantine_id for item in pending] == [ids[2], ids[0]]
