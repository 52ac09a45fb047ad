"""Heartbeats are stored often enough to be seen, and no oftener."""

from services.operations.checks import Heartbeats
from services.store.sqlite import SqliteStore
from tests.builders import Watch


async def test_a_timer_of_thirty_seconds_is_stored_every_five_minutes(store: SqliteStore, watch: Watch) -> None:
    beats = Heartbeats(store, watch)
    stored = []
    for _ in range(21):
        await beats.record("tick", watch())
        stored.append((await beats.list(["tick"]))["tick"].last_beat_at)
        watch.advance(seconds=30)
    assert len(set(stored)) == 3


async def test_a_failure_and_the_recovery_from_it_are_stored_at_once(store: SqliteStore, watch: Watch) -> None:
    beats = Heartbeats(store, watch)
    await beats.record("tick", watch())
    watch.advance(seconds=30)
    await beats.record("tick", watch(), error="RuntimeError")
    failing = (await beats.list(["tick"]))["tick"]
    assert (failing.is_failing, failing.last_error) == (True, "RuntimeError")
    watch.advance(seconds=30)
    await beats.record("tick", watch())
    assert not (await beats.list(["tick"]))["tick"].is_failing


async def test_only_the_named_timers_are_listed(store: SqliteStore, watch: Watch) -> None:
    beats = Heartbeats(store, watch)
    await beats.record("tick", watch())
    await beats.record("gone", watch())
    assert set(await beats.list(["tick", "never"])) == {"tick"}


async def test_a_clock_that_was_set_back_does_not_keep_a_heartbeat_from_being_stored(
    store: SqliteStore, watch: Watch
) -> None:
    beats = Heartbeats(store, watch)
    await beats.record("tick", watch())
    watch.advance(days=-1)
    await beats.record("tick", watch())
    assert (await beats.list(["tick"]))["tick"].last_beat_at == watch()
