"""Which feeds are claimed, in which order, and the messages of their runs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from models.errors import Conflict, InvalidInput, NotFound
from models.feed import Feed, FeedDocument
from models.run import IngestionBatch
from services.feeds.claims import (
    LEASE,
    MOST_FEEDS,
    PER_HOST,
    TICK_SECONDS,
    ClaimedFeed,
    Claims,
    IngestMessage,
    chosen,
    names_taken,
)
from services.runs.engine import RunEngine
from services.settings import Settings
from services.store.containers import FEEDS
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import NOW, feed
from tests.functional.articles.counting import CountingStore

MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)


def due(name: str, host: str, redirect: str | None = None) -> FeedDocument:
    return {"feed_id": name, "feed_url": f"https://{host}/{name}", "redirect_url": redirect}


def claims_on(store: Any, watch: Watch, **settings: str) -> Claims:
    numbers = itertools.count(1)
    new_id = lambda: f"run-{next(numbers)}"  # noqa: E731
    return Claims(store, RunEngine(store, watch, new_id), Settings.from_environment(settings), {}, new_id)


async def add(store: SqliteStore, *names: str, **fields: Any) -> None:
    for name in names:
        stored = feed(feed_id=name, feed_url=f"https://{name}.example/", **fields)
        await store.create(FEEDS.name, stored.to_document())


def named(messages: Sequence[IngestMessage]) -> list[str]:
    return [each.feed_id for message in messages for each in message.feeds]


def test_a_news_api_whose_name_is_the_id_of_another_feed_is_named() -> None:
    own, other, old = feed(feed_id="a", kind="a"), feed(feed_id="b"), feed(feed_id="c")
    without_kind = {name: value for name, value in old.to_document().items() if name != "kind"}
    documents = [own.to_document(), other.to_document(), without_kind, None]
    assert names_taken(("a", "b", "c", "d"), documents) == ["b", "c"]


def test_eight_feeds_of_a_host_are_chosen_before_the_others_and_then_the_next_eight() -> None:
    busy = [due(f"b{number}", "busy.example") for number in range(18)]
    calm = [due("c0", "calm.example"), due("c1", "calm.example")]
    found = [each["feed_id"] for each in chosen([*busy, *calm], 20)]
    assert found == [f"b{n}" for n in range(8)] + ["c0", "c1"] + [f"b{n}" for n in range(8, 18)]
    assert PER_HOST == 8


def test_a_feed_counts_for_the_host_where_it_is_fetched() -> None:
    moved = [due(f"m{number}", f"{number}.example", "https://cdn.example/x") for number in range(9)]
    found = [each["feed_id"] for each in chosen([*moved, due("c", "calm.example")], 20)]
    assert found[-2:] == ["c", "m8"]


def test_no_more_than_wanted_are_chosen_in_the_given_order() -> None:
    feeds = [due(f"f{number}", f"{number}.example") for number in range(5)]
    assert [each["feed_id"] for each in chosen(feeds, 3)] == ["f0", "f1", "f2"]
    assert chosen(feeds, 0) == []


async def test_feeds_that_are_due_are_claimed_by_priority_then_due_time(store: SqliteStore, watch: Watch) -> None:
    watch.now = NOW
    await add(store, "late", next_fetch_time=NOW - MINUTE)
    await add(store, "first", next_fetch_time=NOW, priority_score=2.0)
    await add(store, "later", next_fetch_time=NOW)
    await add(store, "not-yet", next_fetch_time=NOW + SECOND)
    await add(store, "off", next_fetch_time=NOW, enabled=False, disabled_reason="by hand")
    await add(store, "claimed", claim_id="x", claimed_until=NOW + SECOND)
    await add(store, "expired", claim_id="x", claimed_until=NOW, next_fetch_time=NOW - SECOND)
    (message,) = await claims_on(store, watch).claim_due(NOW)
    assert named([message]) == ["first", "late", "expired", "later"]
    assert {each.claim_id for each in message.feeds} == {message.run_id}
    document = await store.read(FEEDS.name, "first", Feed.ID)
    assert document is not None
    claimed = Feed.from_document(document)
    assert (claimed.claim_id, claimed.claimed_until) == (message.run_id, NOW + 10 * MINUTE)
    assert timedelta(minutes=10) == LEASE


async def test_the_run_of_claimed_feeds_is_stored_queued(store: SqliteStore, watch: Watch) -> None:
    watch.now = NOW
    await add(store, "a", "b")
    (message,) = await claims_on(store, watch).claim_due(NOW)
    run = await RunEngine(store, watch, lambda: "none").get(message.run_id)
    assert isinstance(run, IngestionBatch)
    assert (run.status, run.subject, run.parameters) == ("QUEUED", None, {"feeds": ["a", "b"]})


async def test_twenty_feeds_make_one_message(store: SqliteStore, watch: Watch) -> None:
    watch.now = NOW
    await add(store, *(f"f{number:02}" for number in range(21)))
    messages = await claims_on(store, watch).claim_due(NOW)
    assert [len(each.feeds) for each in messages] == [20, 1]
    assert len({each.run_id for each in messages}) == 2
    assert MOST_FEEDS == 20


async def test_no_more_feeds_are_claimed_than_the_queue_may_hold(store: SqliteStore, watch: Watch) -> None:
    watch.now = NOW
    await add(store, *(f"f{number}" for number in range(12)))
    await add(store, "waiting", claim_id="x", claimed_until=NOW + MINUTE)
    claims = claims_on(store, watch, MAX_QUEUE_SIZE="10")
    assert len(named(await claims.claim_due(NOW))) == 9
    assert await claims.claim_due(NOW + TICK_SECONDS * SECOND) == []


async def test_a_tick_that_is_not_of_the_cycle_or_finds_nothing_writes_nothing(
    store: SqliteStore, watch: Watch
) -> None:
    watch.now = NOW
    await add(store, "a", next_fetch_time=NOW)
    counting = CountingStore(store)
    claims = claims_on(counting, watch, FETCH_CYCLE_INTERVAL_SECONDS="60")
    assert await claims.claim_due(NOW + 30 * SECOND) == []
    assert counting.operations == 0
    assert await claims.claim_due(NOW - MINUTE) == []
    assert counting.writes == 0
    assert named(await claims.claim_due(NOW + MINUTE)) == ["a"]


async def test_every_enabled_feed_without_a_claim_is_claimed(store: SqliteStore, watch: Watch) -> None:
    watch.now = NOW
    await add(store, "a", "b", next_fetch_time=NOW + 60 * MINUTE)
    await add(store, "off", enabled=False, disabled_reason="by hand")
    await add(store, "claimed", claim_id="x", claimed_until=NOW + SECOND)
    await add(store, "unknown-api", kind="unknown-api")
    assert named(await claims_on(store, watch).claim_every(NOW)) == ["a", "b"]


async def test_one_feed_is_claimed_whether_it_is_due_or_not(store: SqliteStore, watch: Watch) -> None:
    watch.now = NOW
    await add(store, "a", next_fetch_time=NOW + 60 * MINUTE)
    claims = claims_on(store, watch)
    message = await claims.claim("a", NOW)
    assert named([message]) == ["a"]
    run = await RunEngine(store, watch, lambda: "none").get(message.run_id)
    assert (run.subject, run.parameters) == ("a", {"feeds": ["a"]})
    assert await claims.claim("a", NOW) == IngestMessage(message.run_id), "the run that has the claim"


async def test_a_feed_that_is_disabled_or_unknown_is_not_claimed(store: SqliteStore, watch: Watch) -> None:
    await add(store, "off", enabled=False, disabled_reason="by hand")
    with pytest.raises(Conflict, match="by hand"):
        await claims_on(store, watch).claim("off", NOW)
    with pytest.raises(NotFound):
        await claims_on(store, watch).claim("none", NOW)


@pytest.mark.parametrize(
    "message",
    [IngestMessage("r", (ClaimedFeed("a", "c"), ClaimedFeed("b", "c"))), IngestMessage("r", quarantine_id="q")],
)
def test_a_message_is_read_as_it_was_written(message: IngestMessage) -> None:
    assert IngestMessage.from_message(message.to_message()) == message


def test_messages_keep_their_form_so_that_another_version_can_read_them() -> None:
    feeds = IngestMessage("r", (ClaimedFeed("a", "c"),))
    assert feeds.to_message() == '{"run_id":"r","feeds":[{"feed_id":"a","claim_id":"c"}]}'
    assert IngestMessage("r", quarantine_id="q").to_message() == '{"run_id":"r","held":"q"}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        '"r"',
        '{"run_id": 1}',
        '{"run_id": ""}',
        '{"run_id": "r", "held": 1}',
        '{"run_id": "r", "feeds": [{}]}',
        '{"run_id": "r", "feeds": [{"feed_id": "a", "claim_id": ""}]}',
        '{"run_id": "r", "feeds": [{"feed_id": 1, "claim_id": "c"}]}',
        '{"run_id": "r", "feeds": 1}',
    ],
)
def test_another_text_is_no_message(text: str) -> None:
    with pytest.raises(InvalidInput, match="message"):
        IngestMessage.from_message(text)
