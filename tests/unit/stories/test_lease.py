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
    yield lambda: Lease(store, watch, f"worker-{next(ids)}")
    await store.close()


async def test_a_second_worker_gets_the_lease_once_the_first_has_released_it(new_lease: NewLease) -> None:
    one, other = new_lease(), new_lease()
    assert (await one.hold(), await other.hold()) == (True, False)
    await one.release()
    assert await other.hold()


async def test_the_lease_of_a_dead_worker_ends_and_it_cannot_renew_or_release_it_then(
    new_lease: NewLease, watch: Watch
) -> None:
    dead, other = new_lease(), new_lease()
    await dead.hold()
    watch.advance(seconds=LEASE.total_seconds() - 1)
    assert not await other.hold()
    watch.advance(seconds=1)
    assert await other.hold()
    assert not await dead.hold()
    await dead.release()
    assert await other.hold()


async def test_the_lease_of_a_clock_that_was_ahead_does_not_count(new_lease: NewLease, watch: Watch) -> None:
    watch.advance(hours=3)
    await new_lease().hold()
    watch.advance(hours=-3)
    assert await new_lease().hold()
