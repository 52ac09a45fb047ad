"""Workers that claim, fetch, die and take over at the same time, with messages that are delivered late, again or
twice, and feeds that change meanwhile, also back. In the end every article is stored once, and every figure is exact.

Each seed is another history: which worker does what, when it dies, and whose operation is next are random.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from models.article import Article
from models.errors import ToolpulseError
from services.feeds.claims import INGESTION_STAGE
from services.fetch.outcome import FetchStatus
from services.store.containers import ARTICLES
from tests.builders import existing, overdue_keys
from tests.functional.articles.dying import NEVER, Died, When
from tests.functional.articles.turns import Turns, TurnStore
from tests.functional.articles.world import Item, SettableClock, Worker, World, analysed, item

LIVES = 25
FEEDS = ("a", "b", "c")
ROUNDS = 4
CLOCKS_DIFFER = 5
FIRST_TEXT = item(0).text
TITLES = [f"Everybody has heard of number {number} by now" for number in range(6)]
WHENS: tuple[When, ...] = ("before", "halfway", "after")


@dataclass(frozen=True)
class Ahead:
    """A worker's own clock."""

    of: SettableClock
    by: timedelta

    def __call__(self) -> datetime:
        return self.of() + self.by


@dataclass
class Message:
    batch: str
    delivery: int = 1


@dataclass
class Life:
    """`entries` are all that each feed has ever published, in their present form. `messages` are not finished yet.
    `announced` are the articles that were sent to analysis, `analysed` the texts that it has read."""

    world: World
    chance: random.Random
    entries: dict[str, list[Item]] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    announced: set[str] = field(default_factory=set)
    analysed: dict[str, str] = field(default_factory=dict)

    async def begin(self) -> None:
        for priority, feed in enumerate(FEEDS):
            numbers = self.chance.sample(range(len(TITLES)), self.chance.randint(2, 5))
            self.entries[feed] = [self._item(feed, number) for number in numbers]
            await self.world.add_feed(feed, source_priority=priority)

    def _item(self, feed: str, number: int) -> Item:
        if self.chance.random() < 0.7:
            return item(number, title=TITLES[number], guid=f"{feed}-{number}")
        return item(number, title=TITLES[number], guid=None, link=f"https://{feed}.example/{number}")

    def publish_some(self, edition: int) -> None:
        for feed, items in self.entries.items():
            if self.chance.random() < 0.3:
                place = self.chance.randrange(len(items))
                text = self.chance.choice((f"Edited for edition {edition}.", FIRST_TEXT))
                items[place] = replace(items[place], text=text)
            is_up = self.chance.random() < 0.85
            shown = [each for each in items if self.chance.random() < 0.7]
            self.world.publish(feed, shown, status=FetchStatus.FETCHED if is_up else FetchStatus.TIMEOUT)

    async def go_on(self) -> None:
        """Two or three workers, with clocks that differ, claim what is due and do old messages; half of them die."""
        turns = Turns(self.chance)
        workers = []
        for number in range(self.chance.randint(2, 3)):
            dies_at = self.chance.randint(1, 40) if self.chance.random() < 0.5 else NEVER
            store = TurnStore(self.world.store, turns, number, dies_at, self.chance.choice(WHENS))
            ahead = timedelta(seconds=self.chance.randint(0, CLOCKS_DIFFER))
            workers.append(self.world.new_worker(store, clock=Ahead(self.world.clock, ahead)))
        work: list[Awaitable[object]] = [self._claim_and_do(each) for each in workers]
        for message in self.messages:
            if self.chance.random() < 0.8:
                message.delivery += 1
                work.append(self._do(self.chance.choice(workers), message.batch, message.delivery))
            if self.chance.random() < 0.2:
                work.append(self._do(self.chance.choice(workers), message.batch, 1))
        await turns.give_until_done(*map(asyncio.ensure_future, work))

    async def _claim_and_do(self, worker: Worker) -> None:
        now = self.world.clock.now
        try:
            if self.chance.random() < 0.8:
                batches = [each.run_id for each in await worker.claims.claim_due(now)]
            else:
                batches = [await worker.claims.claim(self.chance.choice(FEEDS), now)]
        except (Died, ToolpulseError):
            return
        for batch in batches:
            message = Message(batch)
            self.messages.append(message)
            if await self._do(worker, batch, 1):
                self.messages.remove(message)

    async def _do(self, worker: Worker, batch: str, delivery: int) -> bool:
        try:
            self.announced.update(await worker.ingest(batch, delivery))
        except (Died, ToolpulseError):
            return False
        return True

    async def analyse(self) -> None:
        for name in self.announced:
            article = await existing(self.world.store, ARTICLES.name, name, Article.ID)
            self.analysed[name] = article["text_for_analysis"]
            await self.world.store.replace(ARTICLES.name, analysed(article), article["_etag"])
        self.announced.clear()

    async def end(self) -> None:
        """Nobody dies any more: what waits in the queue is done, everything is fetched, what never ended is done."""
        for message in self.messages:
            assert await self._do(self.world.new_worker(), message.batch, message.delivery + 1)
        for feed, items in self.entries.items():
            self.world.publish(feed, items)
        for _ in range(2):
            self.world.clock.forward(minutes=16)
            for feed in FEEDS:
                await self._claim_and_do_one(feed)
        self.world.clock.forward(minutes=30)
        for run_id in await overdue_keys(self.world.store, INGESTION_STAGE, self.world.clock):
            assert await self._do(self.world.new_worker(), run_id, 1)

    async def _claim_and_do_one(self, feed: str) -> None:
        batch = await self.world.worker.claims.claim(feed, self.world.clock.now)
        assert await self._do(self.world.new_worker(), batch, 1)


@pytest.mark.parametrize("seed", range(LIVES))
async def test_whatever_workers_meet_every_article_is_stored_once(world: World, seed: int) -> None:
    life = Life(world, random.Random(seed))
    await life.begin()
    for edition in range(ROUNDS):
        world.clock.forward(seconds=life.chance.choice([20, 60, 200, 700]))
        life.publish_some(edition)
        await life.go_on()
        if life.chance.random() < 0.5:
            await life.analyse()
    await life.end()
    await life.analyse()
    await _check_articles(life)
    await _check_figures(life)


async def _check_articles(life: Life) -> None:
    articles = await life.world.articles()
    published = {
        title: {feed: one for feed in FEEDS for one in life.entries[feed] if one.title == title} for title in TITLES
    }
    assert [each["headline"] for each in articles] == [title for title in TITLES if published[title]]
    for article in articles:
        by_feed = published[article["headline"]]
        best = min(by_feed)
        assert sorted(article["sources"]) == sorted(article["source_attribution"]) == sorted(by_feed)
        assert (article["canonical"]["source"], article["text_for_analysis"]) == (best, by_feed[best].text)
        # What was never announced, or not since an edit, says so itself: `clean_up` finds it.
        read = life.analysed.get(article["source_id"])
        assert read == article["text_for_analysis"] or "analysis_due_since" in article
    observed = [(each["source_id"], each["source"]) for each in await life.world.observations()]
    expected = [(each["source_id"], feed) for each in articles for feed in published[each["headline"]]]
    assert sorted(observed) == sorted(expected)


async def _check_figures(life: Life) -> None:
    feeds = [await life.world.feed(name) for name in FEEDS]
    assert all(each.total_articles_fetched <= len(life.entries[name]) for name, each in zip(FEEDS, feeds, strict=True))
    assert {each.enabled for each in feeds} == {True}
    runs = await life.world.runs()
    assert {each["status"] for each in runs} <= {"SUCCEEDED", "PARTIAL", "FAILED"}
    counted = [each["metrics"] for each in runs if "metrics" in each]
    assert sum(each["articles_stored"] for each in counted) <= len(await life.world.articles())
