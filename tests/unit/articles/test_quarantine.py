"""A person decides once what is ingested and what is dropped; and how entries wait for that."""

import itertools
import json
from datetime import timedelta
from typing import Any

import pytest

from models.errors import ChangedMeanwhile, Conflict, InvalidInput
from models.quarantine import QuarantineItem, quarantine_id
from models.raw_item import RawItem
from services.articles.quarantine import (
    FLOOD,
    PART_BYTES,
    Quarantine,
    add_batch,
    delete_dropped,
    finish_batch,
    item_of,
    items_of,
    json_of,
    parts_of,
    released_batch,
)
from services.ports import Query
from services.store.containers import QUARANTINE
from services.store.sqlite import SqliteStore
from services.work.runs import RunEngine
from tests.builders import Watch, existing
from tests.documents import NOW, quarantined
from tests.unit.articles.builders import candidate, raw


@pytest.fixture
def review(store: SqliteStore) -> Quarantine:
    numbers = itertools.count(1)
    engine = RunEngine(store, Watch(NOW), lambda: f"run{next(numbers)}")
    return Quarantine(store, engine, Watch(NOW))


async def quarantined_batch(store: SqliteStore, content: str = "x", **changes: Any) -> str:
    item = quarantined(quarantine_id=quarantine_id("BATCH", "reuters-world", content), **changes)
    await store.create(QUARANTINE.name, item.to_document())
    return item.quarantine_id


async def test_a_released_batch_is_queued_with_a_run_that_is_stored_before_its_message_is_sent(
    review: Quarantine, store: SqliteStore
) -> None:
    item_id = await quarantined_batch(store)
    reviewed = await review.review(item_id, "new_articles", "Ann", "a new CMS")
    assert reviewed.run_id == "run1"
    assert (reviewed.item.review_note, reviewed.item.reviewed_at) == ("a new CMS", NOW)
    run = await RunEngine(store, Watch(NOW), lambda: "none").get("run1")
    assert (run.status, run.subject, run.parameters, run.due_at) == ("QUEUED", "reuters-world", {"held": item_id}, NOW)


async def test_a_dropped_batch_is_queued_nowhere_and_expires(review: Quarantine, store: SqliteStore) -> None:
    reviewed = await review.review(await quarantined_batch(store), "drop", "Ann", "spam")
    assert reviewed.run_id is None
    assert reviewed.item.ttl_timestamp == int((NOW + timedelta(days=30)).timestamp())


async def test_the_same_decision_again_queues_again_since_the_message_may_be_lost(
    review: Quarantine, store: SqliteStore
) -> None:
    item_id = await quarantined_batch(store)
    first = await review.review(item_id, "new_articles", "Ann", "a new CMS")
    again = await review.review(item_id, "new_articles", "Ann", "a new CMS")
    assert again.item == first.item
    assert again.run_id == "run2"


DECISIONS = ("same_articles_new_ids", "new_articles", "drop")


@pytest.mark.parametrize("first", DECISIONS)
@pytest.mark.parametrize("other", DECISIONS)
async def test_the_first_decision_stands_with_its_person(
    review: Quarantine, store: SqliteStore, first: str, other: str
) -> None:
    item_id = await quarantined_batch(store)
    await review.review(item_id, first, "Ann", "a new CMS")
    for author in ("Ann", "Ben"):
        if (first, "Ann") != (other, author):
            with pytest.raises(Conflict, match=f"reviewed already by Ann: {first}"):
                await review.review(item_id, other, author, "because")
    reviewed = await review.review(item_id, first, "Ann", "another reason")
    assert (reviewed.item.decision, reviewed.item.reviewed_by, reviewed.item.review_note) == (first, "Ann", "a new CMS")


@pytest.mark.parametrize("decision", [None, "PENDING", "x", ["x"], {"a": 1}])
async def test_an_unknown_decision_is_refused(review: Quarantine, store: SqliteStore, decision: Any) -> None:
    item_id = await quarantined_batch(store)
    with pytest.raises(InvalidInput) as caught:
        await review.review(item_id, decision, "Ann", "because")
    assert caught.value.field == "decision"


@pytest.mark.parametrize(
    ("fields", "refused", "allowed"),
    [
        ({"reason_code": "VOLUME"}, "same_articles_new_ids", "new_articles, drop"),
        ({"kind": "DOCUMENT", "reason_code": "OTHER"}, "drop", "CLEARED_RETRY_APPROVED, CLEARED_TERMINAL"),
        ({}, "CLEARED_TERMINAL", "same_articles_new_ids, new_articles, drop"),
    ],
)
async def test_each_kind_of_item_has_its_decisions(
    review: Quarantine, store: SqliteStore, fields: dict[str, Any], refused: str, allowed: str
) -> None:
    item_id = await quarantined_batch(store, **fields)
    with pytest.raises(InvalidInput, match=f"decision: one of {allowed}$"):
        await review.review(item_id, refused, "Ann", "because")
    assert (await review.get(item_id)).manual_review_status == "PENDING"


async def test_a_full_text_is_reviewed_and_may_come_back(review: Quarantine, store: SqliteStore) -> None:
    item_id = await quarantined_batch(store, kind="DOCUMENT", reason_code="UNKNOWN_PROFILE")
    approved = await review.review(item_id, "CLEARED_RETRY_APPROVED", "Ann", "a new profile")
    assert (approved.run_id, approved.item.manual_review_status) == (None, "CLEARED_RETRY_APPROVED")
    again = approved.item.reopened(NOW)
    assert (again.decision, again.reviewed_by, again.ttl_timestamp) == (None, None, None)


async def test_the_list_is_newest_first_and_may_be_of_one_status(review: Quarantine, store: SqliteStore) -> None:
    ids = [await quarantined_batch(store, str(n), created_at=NOW + timedelta(minutes=n)) for n in range(3)]
    await review.review(ids[1], "drop", "Ann", "spam")
    everything = (await review.page(None, 10, None)).items
    pending = (await review.page("PENDING", 10, None)).items
    assert [item.quarantine_id for item in everything] == ids[::-1]
    assert [item.quarantine_id for item in pending] == [ids[2], ids[0]]


def entry(text: str = "", **fields: Any) -> RawItem:
    return raw(summary_html=text, **fields)


def test_an_entry_is_the_same_after_it_was_stored() -> None:
    full = RawItem(
        article_id="guid",
        url="https://x.example/1",
        headline="A headline",
        published=NOW,
        published_flag="future",
        summary_html="<p>S</p>",
        content_html="<p>C</p>",
        tags=("t", "u"),
        tickers=("T",),
        publisher="Reuters",
        date_text="soon",
        repairs=("id_repeated",),
        url_shared=True,
        language="de",
    )
    assert item_of(json.loads(json.dumps(json_of(full)))) == full
    bare = RawItem(None, "https://x.example/1", "A headline", None, "missing")
    assert item_of(json_of(bare)) == bare


def test_a_part_is_filled_up_to_a_million_and_a_half_bytes() -> None:
    assert PART_BYTES == 1_500_000
    size = len(json.dumps(json_of(entry()), ensure_ascii=False))
    half = entry("x" * (750_000 - size))
    assert [len(part) for part in parts_of([half, half])] == [2]
    assert [len(part) for part in parts_of([half, half, entry()])] == [2, 1]
    more = entry("x" * (750_001 - size))
    assert [len(part) for part in parts_of([more, half])] == [1, 1]
    in_bytes = entry("é" * (750_000 - size))
    assert [len(part) for part in parts_of([in_bytes, in_bytes])] == [1, 1]
    assert [len(part) for part in parts_of([entry("x" * 1_600_000), entry()])] == [1, 1]
    assert list(parts_of([])) == []


async def test_a_batch_is_stored_once_with_a_sample_for_the_reviewer(store: SqliteStore) -> None:
    flood = [candidate(number) for number in range(25)]
    name = await add_batch(store, "a", flood, NOW, FLOOD)
    assert await add_batch(store, "a", flood[::-1], NOW + timedelta(days=1), FLOOD) == name
    assert await add_batch(store, "a", flood[1:], NOW, FLOOD) != name
    document = await existing(store, QUARANTINE.name, name, name)
    item = QuarantineItem.from_document(document)
    assert (item.created_at, item.item_count, item.parts, item.reason_code) == (NOW, 25, 1, "FLOOD")
    samples = document["payload"]["samples"]
    assert len(samples) == 20
    assert samples[0] == {"url": "https://news.example/0", "headline": "Number 0 is in the news"}
    assert await items_of(store, item) == [each.entry.item for each in flood]


async def test_only_a_released_batch_waits_for_ingestion_and_only_until_it_is_finished(
    review: Quarantine, store: SqliteStore
) -> None:
    name = await add_batch(store, "a", [candidate()], NOW, FLOOD)
    assert await released_batch(store, name) is None
    assert await released_batch(store, "BATCH:other") is None
    await review.review(name, "new_articles", "Ann", "a new CMS")
    released = await released_batch(store, name)
    assert released is not None
    await finish_batch(store, released, NOW)
    assert await released_batch(store, name) is None
    (left,) = (await store.query(QUARANTINE.name, Query(partition=name))).items
    assert (left["id"], left["parts"], left["released_at"]) == (name, 0, "2026-02-21T20:00:00Z")
    with pytest.raises(ChangedMeanwhile):
        await finish_batch(store, released, NOW)


async def test_only_dropped_batches_lose_their_parts(review: Quarantine, store: SqliteStore) -> None:
    names = [await add_batch(store, "a", [candidate(number)], NOW, FLOOD) for number in range(3)]
    await review.review(names[1], "new_articles", "Ann", "a new CMS")
    await review.review(names[2], "drop", "Ann", "spam")
    await delete_dropped(store)
    documents = [len((await store.query(QUARANTINE.name, Query(partition=name))).items) for name in names]
    assert documents == [2, 2, 1]
