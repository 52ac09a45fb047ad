"""Which feeds are claimed, in which order, and the messages of their runs."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from models.errors import Conflict, NotFound, Unavailable
from models.feed import Feed, HostState
from models.resources.runs import RunResource
from models.run import IngestionBatch
from models.values import format_time
from services.feeds.claims import (
    FEW_FEEDS,
    INGESTION_STAGE,
    MAX_FEEDS,
    MAX_OF_HOST,
    NEW_PER_SECOND,
    TICK_SECONDS,
    Claims,
    chosen,
    grouped,
    spread,
    untaken,
)
from services.feeds.hosts import Cooling
from services.feeds.outages import HostStates
from services.settings import Settings
from services.store.containers import FEEDS
from services.store.sqlite import SqliteStore
from services.work.listing import page_of_runs
from services.work.runs import RunEngine
from tests.builders import MemoryQueues, Watch, existing, forgetful
from tests.documents import NOW, feed, ingestion_batch
from tests.functional.articles.counting import CountingStore

MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)


def due(name: str, host: str, *, is_new: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {"feed_id": name, "host": host}
    return found if is_new else {**found, "last_fetch_time": "2026-02-21T19:00:00Z"}


def claims_on(store: Any, watch: Watch, queues: MemoryQueues | None = None, **settings: str) -> Claims:
    numbers = itertools.count(1)
    new_id = lambda: f"run-{next(numbers)}"  # noqa: E731
    engine, hosts = RunEngine(store, watch, new_id), HostStates(store, dict)
    known = Settings.from_environment(settings)
    return Claims(store, engine, forgetful(queues or MemoryQueues()), hosts, known, {}, new_id)


async def add(store: SqliteStore, *names: str, **fields: Any) -> None:
    for name in names:
        stored = feed(feed_id=name, feed_url=f"https://{name}.example/", **fields)
        await store.create(FEEDS.name, stored.to_document())


async def add_at(store: SqliteStore, name: str, host: str) -> None:
    found = feed(feed_id=name, feed_url=f"https://{host}/{name}", next_fetch_time=NOW)
    await store.create(FEEDS.name, found.to_document())


def named(runs: Sequence[IngestionBatch]) -> list[str]:
    return [feed_id for run in runs for feed_id in run.claimed]


def test_at_most_200_feeds_of_a_host_are_chosen() -> None:
    busy = [due(f"b{number}", "busy.example") for number in range(MAX_OF_HOST + 1)]
    found = [each["feed_id"] for each in chosen([*busy, due("c", "calm.example")], 1_000)]
    assert found == [f"b{number}" for number in range(200)] + ["c"]
    assert chosen(busy, 3) == busy[:3]


def test_feeds_of_open_runs_and_their_hosts_and_failing_hosts_are_left_out() -> None:
    feeds = [due("a", "a.example"), due("b", "b.example"), due("b2", "b.example"), due("c", "c.example")]
    run = ingestion_batch(claimed={"a": "2026-02-21T19:00:00Z"}, hosts=("b.example",))
    cooling = Cooling(closed=frozenset({"c.example"}), probed=frozenset({"d.example"}))
    assert untaken(feeds, [run], cooling, {}) == []
    probed = [due("d1", "d.example"), due("d2", "d.example"), due("e", "e.example")]
    assert [each["feed_id"] for each in untaken(probed, [run], cooling, {})] == ["d1", "e"]


def names(groups: Sequence[Sequence[dict[str, Any]]]) -> list[list[str]]:
    return [[each["feed_id"] for each in group] for group in groups]


def test_all_feeds_of_a_host_are_in_one_message_and_small_hosts_share_messages() -> None:
    big = [due(f"b{number}", "big.example") for number in range(MAX_FEEDS + 1)]
    many = [due(f"m{number}", f"{number}.example") for number in range(MAX_FEEDS + 1)]
    pair = [due("p1", "pair.example"), due("p2", "pair.example")]
    found = names(grouped([*big[:1], *many[:5], *pair, *big[1:], *many[5:]]))
    assert found[0] == [each["feed_id"] for each in big]
    assert [len(each) for each in found] == [13, 12, 3]
    assert sum(("p1" in each and "p2" in each) for each in found) == 1
    assert MAX_FEEDS == 12


def test_feeds_that_were_never_fetched_come_first_and_apart() -> None:
    feeds = [due("old", "old.example"), due("new", "new.example", is_new=True), due("older", "older.example")]
    assert names(grouped(feeds)) == [["new"], ["old", "older"]]


def test_a_few_feeds_are_sent_at_once() -> None:
    few = [[due(f"f{number}", f"{number}.example") for number in range(FEW_FEEDS)]]
    assert spread(few) == [0.0]
    assert FEW_FEEDS == 10


def test_messages_are_spread_over_the_tick_by_their_numbers_of_feeds() -> None:
    groups = [[due(f"{name}{number}", f"{name}.example") for number in range(20)] for name in "abc"]
    assert spread(groups) == [1.0, 9.7, 18.3]
    many = [[due(f"{name}-{number}", f"{name}.example") for number in range(20)] for name in range(100)]
    delays = spread(many)
    assert delays[:3] == [1.0, 1.3, 1.5]
    assert delays[-1] <= TICK_SECONDS - 3 == 27


def test_new_feeds_do_not_wait_for_the_whole_tick_unless_they_are_very_many() -> None:
    new = [[due(f"{name}{number}", f"{name}.example", is_new=True) for number in range(20)] for name in "abc"]
    old = [[due(f"old{number}", "old.example") for number in range(20)]]
    assert spread([*new, *old]) == [1.0, 2.0, 3.0, 4.0]
    assert NEW_PER_SECOND == 20
    many = [[due(f"{name}-{number}", f"{name}.example", is_new=True) for number in range(20)] for name in range(50)]
    assert max(spread(many)) < TICK_SECONDS


async def test_feeds_that_are_due_are_claimed_by_priority_then_due_time(store: SqliteStore, watch: Watch) -> None:
    await add(store, "late", next_fetch_time=NOW - MINUTE)
    await add(store, "first", next_fetch_time=NOW, priority_score=2.0)
    await add(store, "later", next_fetch_time=NOW, last_fetch_time=NOW - MINUTE)
    await add(store, "not-yet", next_fetch_time=NOW + SECOND)
    await add(store, "off", next_fetch_time=NOW, enabled=False, disabled_reason="by hand")
    await add(store, "unknown-api", next_fetch_time=NOW, kind="unknown-api")
    before = await store.read(FEEDS.name, "first", Feed.ID)
    new, other = await claims_on(store, watch).claim_due(NOW)
    assert named([new]) == ["first", "late"]
    assert named([other]) == ["later"]
    assert (new.claimed, other.claimed) == ({"first": "", "late": ""}, {"later": format_time(NOW - MINUTE)})
    assert await store.read(FEEDS.name, "first", Feed.ID) == before, "a claim writes nothing to feeds"


async def test_a_feed_of_a_clock_that_was_ahead_is_found_behind_a_thousand_that_are_to_wait(
    store: SqliteStore, watch: Watch
) -> None:
    hours, year = timedelta(hours=20), timedelta(days=365)
    waiting = feed(last_fetch_time=NOW - MINUTE, next_fetch_time=NOW + hours, priority_score=2.0).to_document()
    await store.create_many(FEEDS.name, [{**waiting, "feed_id": f"w{number}"} for number in range(1_001)])
    await add(store, "ahead", last_fetch_time=NOW + year, next_fetch_time=NOW + year + MINUTE)
    assert named(await claims_on(store, watch).claim_due(NOW)) == ["ahead"]


async def test_feeds_whose_last_fetch_failed_are_last_in_their_message(store: SqliteStore, watch: Watch) -> None:
    await add(store, "a", "b", next_fetch_time=NOW, priority_score=1.0, consecutive_errors=1)
    await add(store, "c", "d", next_fetch_time=NOW, priority_score=0.5)
    assert named(await claims_on(store, watch).claim_due(NOW)) == ["c", "d", "a", "b"]


async def test_messages_are_sent_with_their_delays_and_their_runs_are_stored_queued(
    store: SqliteStore, watch: Watch
) -> None:
    queues = MemoryQueues()
    fetched = {"last_fetch_time": NOW - MINUTE}
    await add(store, *(f"f{number:02}" for number in range(30)), **fetched)
    messages = await claims_on(store, watch, queues).claim_due(NOW)
    assert queues.sent["ingest-feeds"] == INGESTION_STAGE.messages([each.run_id for each in messages])
    assert queues.sendings == [("ingest-feeds", 1.0), ("ingest-feeds", 11.4), ("ingest-feeds", 21.8)]
    for message, (_, seconds) in zip(messages, queues.sendings, strict=True):
        run = await RunEngine(store, watch, lambda: "none").get(message.run_id)
        assert isinstance(run, IngestionBatch)
        assert (run.status, run.started_at, run.hosts) == ("QUEUED", NOW, message.hosts)
        assert run.due_at == NOW + int(seconds) * SECOND
        assert RunResource.of(run).shown()["parameters"]["feeds"] == named([message])


async def test_claims_last_until_their_runs_are_over(store: SqliteStore, watch: Watch) -> None:
    await add(store, "a")
    claims, engine = claims_on(store, watch), RunEngine(store, watch, lambda: "none")
    (first,) = await claims.claim_due(NOW)
    watch.now = NOW + 59 * MINUTE
    assert await claims.claim_due(watch.now) == []
    assert await claims.claim("a", watch.now) == first.run_id
    begun = await engine.begin(first.run_id)
    assert begun is not None
    assert await claims.claim_due(watch.now) == []
    await engine.close_with(begun.run, [], lambda run, attempts: {})
    assert named(await claims.claim_due(watch.now)) == ["a"]


async def test_a_tick_and_people_that_claim_a_feed_at_the_same_moment_get_one_run(
    store: SqliteStore, watch: Watch
) -> None:
    await add(store, "a")
    claims = claims_on(store, watch)
    due, some, one = await asyncio.gather(claims.claim_due(NOW), claims.claim_some(["a"], NOW), claims.claim("a", NOW))
    (first,) = due
    assert (some.runs, some.under_way) == ([], {"a": first.run_id})
    assert one == first.run_id


async def test_a_host_is_in_one_open_run_at_a_time(store: SqliteStore, watch: Watch) -> None:
    claims = claims_on(store, watch)
    for name in ("a", "b"):
        await add_at(store, name, "one.example")
        watch.now += 30 * SECOND
        assert bool(await claims.claim_due(watch.now)) is (name == "a")
    assert await claims.claim("b", watch.now) == "run-2", "a person asked for it"


@pytest.mark.parametrize(
    ("host", "left", "claimed"), [("one.example", 1, ["f0"]), ("one.example", 2, []), ("localhost", 2, ["f0", "f1"])]
)
async def test_feeds_that_hang_keep_no_other_waiting_within_the_limit_of_their_host(
    store: SqliteStore, watch: Watch, host: str, left: int, claimed: list[str]
) -> None:
    """Of twelve feeds, so many are not fetched yet when others are due again."""
    claims, engine = claims_on(store, watch), RunEngine(store, watch, lambda: "none")
    for number in range(12):
        await add_at(store, f"f{number}", host)
    (run,) = await claims.claim_due(NOW)
    await engine.begin(run.run_id)
    for number in range(12 - left):
        fetched = {"last_fetch_time": format_time(NOW), "next_fetch_time": format_time(NOW + (number > 1) * MINUTE * 9)}
        before = await existing(store, FEEDS.name, f"f{number}", Feed.ID)
        await store.upsert(FEEDS.name, {**before, **fetched})
    watch.now = NOW + 30 * SECOND
    assert named(await claims.claim_due(watch.now)) == claimed


async def test_feeds_of_a_host_that_cools_down_are_not_claimed(store: SqliteStore, watch: Watch) -> None:
    await add(store, "a", "b")
    host = HostState(created_at=NOW, host="a.example", failures=5, reason="timeout", open_until=NOW + MINUTE)
    await store.create("catalog", host.to_document())
    assert named(await claims_on(store, watch).claim_due(NOW)) == ["b"]


async def test_runs_whose_messages_could_not_be_sent_are_stored_and_due(store: SqliteStore, watch: Watch) -> None:
    queues = MemoryQueues()
    queues.down = True
    await add(store, "a", "b")
    claims = claims_on(store, watch, queues)
    with pytest.raises(Unavailable):
        await claims.claim_due(NOW)
    (run,) = (await page_of_runs(store, 10, None)).items
    assert INGESTION_STAGE.is_due(run.to_document(), NOW)
    assert await claims.claim("a", NOW) == run.run_id
    await add(store, "c")
    assert await claims.claim("c", NOW) == "run-2", "a person's fetch is accepted, and begins later"


async def test_no_more_feeds_are_claimed_than_the_queue_may_hold(store: SqliteStore, watch: Watch) -> None:
    await add(store, *(f"f{number:02}" for number in range(12)))
    claims = claims_on(store, watch, MAX_QUEUE_SIZE="10")
    await claims.claim("f11", NOW)
    assert len(named(await claims.claim_due(NOW))) == 9
    assert await claims.claim_due(NOW + TICK_SECONDS * SECOND) == []


async def test_a_tick_that_is_not_of_the_cycle_or_finds_nothing_writes_nothing(
    store: SqliteStore, watch: Watch
) -> None:
    await add(store, "a", next_fetch_time=NOW)
    counting = CountingStore(store)
    claims = claims_on(counting, watch, FETCH_CYCLE_INTERVAL_SECONDS="60")
    assert await claims.claim_due(NOW + 30 * SECOND) == []
    assert counting.operations == 0
    assert await claims.claim_due(NOW - MINUTE) == []
    assert counting.writes == 0
    assert named(await claims.claim_due(NOW + MINUTE)) == ["a"]


async def test_a_feed_that_an_open_run_has_fetched_already_is_claimed_again(store: SqliteStore, watch: Watch) -> None:
    await add(store, "a", "b")
    claims = claims_on(store, watch)
    (message,) = await claims.claim_due(NOW)
    before = await existing(store, FEEDS.name, "a", Feed.ID)
    await store.upsert(FEEDS.name, {**before, "last_fetch_time": format_time(NOW)})
    assert await claims.claim("a", NOW) == "run-2"
    assert await claims.claim("b", NOW) == message.run_id


async def test_a_feed_that_is_disabled_or_unknown_is_not_claimed(store: SqliteStore, watch: Watch) -> None:
    await add(store, "off", enabled=False, disabled_reason="by hand")
    with pytest.raises(Conflict, match="by hand"):
        await claims_on(store, watch).claim("off", NOW)
    with pytest.raises(NotFound):
        await claims_on(store, watch).claim("none", NOW)
