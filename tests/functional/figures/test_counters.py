"""The counts of 24 hours."""

from __future__ import annotations

import pytest

from models.errors import InvalidInput, NotFound, Unavailable, UnreadableDocument
from services.figures.metadata import Counters, summed
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.functional.articles.counting import CountingStore


async def test_counts_are_of_the_present_hour_and_the_23_before_it(store: SqliteStore, watch: Watch) -> None:
    watch.now = watch.now.replace(minute=17, second=0)
    counters = Counters(store, watch)
    counters.read("HIT", 0.001)
    counters.read("STALE", 0.001)
    counters.read("MISS", 0.2)
    counters.errors(3)
    counters.errors(0)
    await counters.writer.flush()
    watch.advance(hours=1)
    counters.read("HIT", 0.001)
    await counters.writer.flush()
    hours = await counters.hours()
    assert len(hours) == 24
    assert (hours[-2].hour, hours[-2].hits, hours[-2].misses, hours[-2].errors) == ("2026022120", 2, 1, 3)
    assert summed(await counters.hours()) == {"cache_hits_24h": 3, "cache_misses_24h": 1, "error_count_24h": 3}
    watch.advance(hours=23)
    assert summed(await counters.hours()) == {"cache_hits_24h": 1, "cache_misses_24h": 0, "error_count_24h": 0}
    await counters.writer.close()


async def test_a_read_that_fails_is_an_error_but_a_wrong_request_is_none(store: SqliteStore, watch: Watch) -> None:
    counters = Counters(store, watch)
    for error in (Unavailable("busy"), UnreadableDocument("Tool", "key", "why"), KeyError("name")):
        with pytest.raises(type(error)), counters.failures():
            raise error
    for wrong in (NotFound("tool"), InvalidInput("hours", "one of 1, 24")):
        with pytest.raises(type(wrong)), counters.failures():
            raise wrong
    await counters.writer.flush()
    assert summed(await counters.hours()) == {"cache_hits_24h": 0, "cache_misses_24h": 0, "error_count_24h": 3}
    await counters.writer.close()


async def test_a_flush_of_nothing_needs_no_operation(store: SqliteStore, watch: Watch) -> None:
    counting = CountingStore(store)
    counters = Counters(counting, watch)
    await counters.writer.flush()
    assert counting.operations == 0, "a worker that only ticks writes nothing"
    counters.read("HIT", 0.001)
    await counters.writer.flush()
    assert counting.writes == 2, "the counters of the hour, and the totals"
    await counters.writer.close()
