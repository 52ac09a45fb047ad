"""Kills an ingesting process (kill -9) many times, then lets it finish and compares what is stored with a plan.

The audit is a second judge: at the end, and after each kill, when it must take nothing that is in flight for damage.

The victim (`victim.py`) is a process of its own, with real HTTP to a server here. Messages that it did not finish stay
in a folder, as in a queue, and are delivered to the next process. Feeds whose message was never written are claimed
again when the claim has expired; for that, the clock of the next process is put forward.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.ingest import serving
from models.feed import Feed
from services.operations.audit import Audit
from services.ports import Clock, Store, utc_now
from services.store.sqlite import SqliteStore
from tests.functional.articles.world import Item, Page, SettableClock, World, rss

ROOT = Path(__file__).resolve().parents[3]
LEASES_OVER = timedelta(minutes=11)


@dataclass(frozen=True)
class Plan:
    """`shared` entries of each feed are entries of the next feed, too."""

    feeds: int
    entries: int
    shared: int
    kills: int
    seed: int
    longest_life: float = 0.4

    def items(self, feed: int) -> list[Item]:
        following = (feed + 1) % self.feeds
        own = [self._item(feed, feed, number) for number in range(self.entries)]
        return own + [self._item(feed, following, number) for number in range(self.shared)]

    def _item(self, feed: int, first: int, number: int) -> Item:
        title = f"Event {number} of place {first} was seen by many"
        published = datetime(2026, 2, 20, 12, 0, tzinfo=UTC) + timedelta(minutes=number)
        return Item(title, f"https://{feed}.example/{first}/{number}", f"{feed}:{first}:{number}", published)


@dataclass
class Outcome:
    """The stored state at the end."""

    articles: int
    with_both: int
    observations: int
    stored_by_runs: int
    errors: set[str | None]
    again: int
    differences: list[str]
    lives: list[float] = field(default_factory=list)

    def is_right_for(self, plan: Plan) -> bool:
        both = plan.feeds * plan.shared
        return (
            self.articles == plan.feeds * plan.entries
            and self.with_both == both
            and self.observations == self.articles + both
            and self.stored_by_runs <= self.articles
            and self.errors == {None}
            and self.again == 0
            and self.differences == []
        )


def feed_name(number: int) -> str:
    return f"feed-{number:03}"


def _lived(folder: Path, offset: timedelta, seconds: float | None) -> float | None:
    """The seconds that a victim lived before it was killed; None if it finished before that."""
    command = [sys.executable, "-m", "tests.functional.articles.victim", str(folder), str(offset.total_seconds())]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout is not None
        assert victim.stdout.readline() == "ready\n"
        started = time.monotonic()
        try:
            code = victim.wait(seconds)
        except subprocess.TimeoutExpired:
            victim.kill()
            return time.monotonic() - started
    assert code == 0
    return None


async def kill_until_done(folder: Path, plan: Plan) -> Outcome:
    chance = random.Random(plan.seed)
    served = folder / "served" / "base"
    served.mkdir(parents=True)
    for number in range(plan.feeds):
        (served / f"{feed_name(number)}.xml").write_bytes(rss(plan.items(number)))
    offset = timedelta()
    lives: list[float] = []
    differences: list[str] = []
    with serving(served.parent, delay_ms=0) as url:
        await _add_feeds(folder, plan, url)
        while len(lives) < plan.kills:
            lived = _lived(folder, offset, chance.uniform(0.02, plan.longest_life))
            lives.append(lived or 0.0)
            differences += await _differences(folder, offset)
            if chance.random() < 0.5 or lived is None:
                offset += LEASES_OVER
        offset += LEASES_OVER
        assert _lived(folder, offset, None) is None
        outcome = await _outcome(folder, plan, offset + LEASES_OVER, lives)
        outcome.differences += differences
        return outcome


async def _add_feeds(folder: Path, plan: Plan, url: str) -> None:
    now = utc_now()
    store = SqliteStore(folder / "store.db", utc_now)
    await store.ensure_containers()
    feeds = [
        Feed(
            created_at=now,
            feed_id=feed_name(number),
            feed_url=f"{url}/{feed_name(number)}.xml",
            source_name=feed_name(number),
            next_fetch_time=now,
        )
        for number in range(plan.feeds)
    ]
    await store.create_many("feeds", [feed.to_document() for feed in feeds])
    await store.close()


async def differences_of(store: Store, clock: Clock) -> list[str]:
    """What an audit finds, read twice at once."""

    async def at_once(seconds: float) -> None:
        """Nobody writes."""

    found: list[str] = []
    async for part in Audit(store, clock, sleep=at_once).round():
        found += [f"{each.kind} {each.subject}: {each.detail}" for each in part.differences]
    return found


async def _differences(folder: Path, offset: timedelta) -> list[str]:
    store = SqliteStore(folder / "store.db", lambda: utc_now() + offset)
    try:
        return await differences_of(store, lambda: utc_now() + offset)
    finally:
        await store.close()


async def _outcome(folder: Path, plan: Plan, offset: timedelta, lives: list[float]) -> Outcome:
    clock = SettableClock((utc_now() + offset).replace(microsecond=0))
    store = SqliteStore(folder / "store.db", clock)
    world = World(store, clock)
    again = 0
    for number in range(0, plan.feeds, 7):
        # Another body, so that a worker with an empty cache compares every entry.
        feed = await world.feed(feed_name(number))
        world.shelf.pages[feed.feed_url] = _page(plan, number)
        again += len(await world.poll(feed.feed_id, world.new_worker()))
    articles = await world.articles()
    feeds = [await world.feed(feed_name(number)) for number in range(plan.feeds)]
    runs = [each["metrics"] for each in await world.runs() if each.get("metrics")]
    outcome = Outcome(
        articles=len(articles),
        with_both=sum(len(each["sources"]) == 2 for each in articles),
        observations=len(await world.observations()),
        stored_by_runs=sum(each["articles_stored"] for each in runs),
        errors={feed.last_error for feed in feeds},
        again=again,
        differences=await differences_of(store, clock),
        lives=lives,
    )
    await store.close()
    return outcome


def _page(plan: Plan, number: int) -> Page:
    return Page(rss(reversed(plan.items(number))))
