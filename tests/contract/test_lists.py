"""Lists of feeds, runs and attempts are the same on both stores, page by page."""

from typing import Any

import pytest

from services.feeds.listing import SORTS, Sorting
from services.ports import Store
from services.store.containers import FEEDS, RUNS
from services.work.runs import RunEngine
from tests.documents import NOW, run
from tests.unit.feeds import test_listing as feed_lists
from tests.unit.work import test_listing as run_lists


async def test_every_sort_and_filter_of_feeds_is_served_by_both_stores(store: Store) -> None:
    await store.create_many(FEEDS.name, [each.to_document() for each in feed_lists.FEEDS_STORED])
    for sort in SORTS:
        for reverse in (False, True):
            found = await feed_lists.walked(store, {}, Sorting(sort, reverse), 5)
            assert sorted(each.feed_id for each in found) == sorted(each.feed_id for each in feed_lists.FEEDS_STORED)
            values = [feed_lists.KEYS[sort](each) for each in found]
            having = [each for each in values if each is not None]
            assert values[: len(having)] == sorted(having, reverse=reverse)
        for given, expected in feed_lists.FILTERED:
            found = await feed_lists.walked(store, given, Sorting(sort), 2)
            assert sorted(each.feed_id for each in found) == sorted(
                each.feed_id for each in feed_lists.FEEDS_STORED if expected(each)
            )


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, "r2 r1"), ({"status": "FAILED"}, "r1"), ({"feed": "feed", "until": run_lists.at(2)}, "r1")],
)
async def test_runs_and_attempts_are_filtered_on_both_stores(store: Store, given: Any, expected: str) -> None:
    runs = [run_lists.batch(0), run_lists.batch(1, "FAILED"), run_lists.batch(2, articles_new=1, articles_stored=1)]
    stored = [each.to_document() for each in [*runs, run(started_at=NOW, run_id="other")]]
    await store.create_many(RUNS.name, [{**each, "ttl_timestamp": None} for each in stored])
    engine = RunEngine(store, lambda: NOW, lambda: "new")
    assert await run_lists.listed(engine, {"workflow": "ingest_feeds", **given}) == expected
    assert await run_lists.history(engine, {"status": "FAILED"}, 1) == "r1"
