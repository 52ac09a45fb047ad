"""One worker groups at a time."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from models.story import LEASE
from services.store.sqlite import SqliteStore
from services.stories.handler import Lease
from tests.builders import Watch
from tests.documents import NOW

NewLease = Callable[[], Lease]


@pytest.fixture
def watch() -> Watch:
    return Watch(NOW)


@pytest.fixture
async def new_lease(tmp_path: Path, watch: Watch) -> AsyncIterator[NewLease]:
    store, ids = SqliteStore(tmp_path / "toolpulse.db", watch), itertools.count(1)
    yield lambda: Lease(store, watch, lambda: f"worker-{next(ids)}")
    await store.close()


async def test_a_second_worker_gets_the_lease_once_the_first_has_released_it(new_lease: NewLease) -> None:
    one, other = new_lease(), new_lease()
    assert (await one.acquire(), await other.acquire()) == (True, False)
    await one.release()
    assert await other.acquire()


async def test_the_lease_of_a_dead_worker_ends_and_it_cannot_renew_or_release_it_then(
    new_lease: NewLease, watch: Watch
) -> None:
    dead, other = new_lease(), new_lease()
    await dead.acquire()
    watch.advance(seconds=LEASE.total_seconds() - 1)
    assert not await other.acquire()
    watch.advance(seconds=1)
    assert await other.acquire()
    assert not await dead.renew()
    await dead.release()
    assert await other.renew()


async def test_a_renewed_lease_lasts_as_long_again(new_lease: NewLease, watch: Watch) -> None:
    one, other = new_lease(), new_lease()
    await one.acquire()
    watch.advance(seconds=LEASE.total_seconds() - 1)
    assert await one.renew()
    watch.advance(seconds=LEASE.total_seconds() - 1)
    assert not await other.acquire()


async def test_a_lease_that_was_never_acquired_cannot_be_renewed(new_lease: NewLease) -> None:
    assert not await new_lease().renew()
    await new_lease().release()


async def test_the_lease_of_a_clock_that_was_ahead_does_not_count(new_lease: NewLease, watch: Watch) -> None:
    watch.advance(hours=3)
    await new_lease().acquire()
    watch.advance(hours=-3)
    assert await new_lease().acquire()
