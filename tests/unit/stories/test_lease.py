"""One worker groups at a time."""

from __future__ import annotations

from pathlib import Path

from models.story import LEASE
from services.store.sqlite import SqliteStore
from services.stories.writing import Lease
from tests.builders import Watch
from tests.documents import NOW


async def test_the_lease_of_a_worker_that_is_dead_or_whose_clock_was_ahead_ends(tmp_path: Path) -> None:
    watch = Watch(NOW)
    store = SqliteStore(tmp_path / "toolpulse.db", watch)
    dead, other, third = (Lease(store, watch, name) for name in ("dead", "other", "third"))
    assert await dead.hold()
    watch.advance(seconds=LEASE.total_seconds() - 1)
    assert not await other.hold()
    watch.advance(seconds=1)
    assert await other.hold()
    assert not await dead.hold()
    await dead.release()
    assert not await third.hold(), "it is not the dead worker's any more"
    await other.release()
    assert await third.hold()
    watch.advance(hours=-3)
    assert await other.hold()
    await store.close()
