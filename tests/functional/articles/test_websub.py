"""Subscriptions survive the death of a worker at every write, and polling goes on beside them."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import cast
from urllib.parse import parse_qsl

import pytest

from models.websub import FeedSubscription
from services.feeds.registry import FeedRegistry
from services.feeds.subscriptions import Subscriptions
from services.feeds.websub import PUSH_GAP, Verification
from services.ports import Store
from services.store.containers import FEEDS
from tests.failing_stores import Interrupted
from tests.functional.articles.dying import Died, DyingStore, When
from tests.functional.articles.world import World, item, rss

HUB, TOPIC = "https://hub.example/", "https://feed.example/feed"
LINKS = f"</description><link rel='hub' href='{HUB}'/><link rel='self' href='{TOPIC}'/><description>"


class Hub:
    """Verifies each request before it answers, if `verifies`."""

    def __init__(self, verifies: bool = True) -> None:
        self.app: Subscriptions | None = None
        self.asked: list[dict[str, str]] = []
        self.subscribers: dict[str, str] = {}
        self.verifies = verifies

    async def post_form(self, url: str, form: bytes) -> int | None:
        assert url == HUB
        fields = dict(parse_qsl(form.decode()))
        self.asked.append(fields)
        if self.verifies and self.app is not None:
            token = fields["hub.callback"].rpartition("/")[2]
            asked = Verification(fields["hub.mode"], fields["hub.topic"], "c", 86_400)
            assert await self.app.verify(token, asked) == "c"
            if asked.mode == "subscribe":
                self.subscribers[token] = fields["hub.secret"]
            else:
                self.subscribers.pop(token, None)
        return 202


def subscriptions(world: World, hub: Hub, store: Store | None = None) -> Subscriptions:
    ids = itertools.count()
    made = Subscriptions(store or world.store, hub, world.clock, "https://news.example", lambda: f"text{next(ids)}")
    hub.app = Subscriptions(world.store, hub, world.clock, "https://news.example", lambda: "unused")
    return made


async def naming(world: World, feed_id: str = "feed") -> None:
    await world.add_feed(feed_id)
    world.shelf.pages[f"https://{feed_id}.example/feed"].body = rss([item(1)], "NOTE").replace(b"NOTE", LINKS.encode())
    await world.poll(feed_id)


async def known(world: World, feed_id: str = "feed") -> FeedSubscription | None:
    stored = await world.store.read(FEEDS.name, feed_id, FeedSubscription.ID)
    return None if stored is None else FeedSubscription.from_document(stored)


async def dying(world: World, hub: Hub, work: Callable[[Subscriptions], object], when: When) -> int:
    """Does the work in workers that die at each of their operations in turn. Returns the deaths."""
    deaths = 0
    for k in range(1, 12):
        try:
            await work(subscriptions(world, hub, DyingStore(world.store, k, when)))  # type: ignore[misc]
        except Died:
            deaths += 1
        world.clock.forward(minutes=20)
    return deaths


@pytest.mark.parametrize("when", ["before", "after"])
async def test_wherever_a_worker_dies_there_is_one_subscription_and_it_becomes_active(world: World, when: When) -> None:
    await naming(world)
    hub = Hub()
    assert await dying(world, hub, lambda app: app.work(), when) >= 3
    await subscriptions(world, hub).work()
    stored = await known(world)
    assert stored is not None
    assert hub.subscribers == {stored.token: stored.secret}
    websub = (await world.feed("feed")).websub
    assert websub is not None
    assert (websub.state, websub.lease_ends) == ("active", stored.lease_ends)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_wherever_a_worker_dies_a_removed_feed_is_left_at_its_hub(world: World, when: When) -> None:
    await naming(world)
    hub = Hub()
    await subscriptions(world, hub).work()
    assert len(hub.subscribers) == 1
    await FeedRegistry(world.store, world.clock).remove("feed")
    assert await dying(world, hub, lambda app: app.work(), when) >= 2
    await subscriptions(world, hub).work()
    assert (hub.subscribers, await known(world)) == ({}, None)


async def test_several_workers_ask_a_hub_once(world: World) -> None:
    await naming(world)
    hub = Hub(verifies=False)
    await asyncio.gather(*(subscriptions(world, hub).work() for _ in range(5)))
    assert len(hub.asked) == 1


async def test_a_hub_that_never_verifies_is_asked_ever_less_often(world: World) -> None:
    await naming(world)
    hub = Hub(verifies=False)
    for _ in range(24 * 12 * 3):
        await subscriptions(world, hub).work()
        world.clock.forward(minutes=5)
    assert len(hub.asked) == 6
    websub = (await world.feed("feed")).websub
    assert websub is not None
    assert websub.state == "unanswered"


async def test_a_push_during_an_attempt_has_the_feed_fetched_again(world: World) -> None:
    await naming(world)
    hub = Hub()
    app = subscriptions(world, hub)
    await app.work()
    stored = await known(world)
    assert stored is not None
    original, pushes = world.shelf.fetch, 0

    async def fetch(request: object) -> object:
        nonlocal pushes
        pushes += 1
        digest = hmac.new(stored.secret.encode(), b"", hashlib.sha256).hexdigest()
        assert await app.push(stored.token, b"", f"sha256={digest}")
        return await original(request)  # type: ignore[arg-type]

    world.shelf.fetch = fetch  # type: ignore[method-assign,assignment]
    await world.poll("feed")
    after = await world.feed("feed")
    assert pushes == 1
    assert after.websub is not None
    assert after.websub.last_push is not None
    assert after.next_fetch_time <= world.clock.now + timedelta(seconds=30)


@pytest.mark.parametrize("is_new", [False, True])
async def test_a_push_at_any_operation_of_an_attempt_at_a_due_feed_has_it_fetched_again(
    world: World, is_new: bool
) -> None:
    """The feed is due already, so that the push changes no time. With new articles, the next fetch would be late."""
    await naming(world)
    app = subscriptions(world, Hub())
    await app.work()
    stored = await known(world)
    assert stored is not None
    digest = hmac.new(stored.secret.encode(), b"", hashlib.sha256).hexdigest()

    async def push() -> None:
        assert await app.push(stored.token, b"", f"sha256={digest}")

    for number in itertools.count():
        world.clock.forward(hours=20)
        if is_new:
            body = rss([item(each) for each in range(number + 2)], "NOTE").replace(b"NOTE", LINKS.encode())
            world.shelf.pages["https://feed.example/feed"].body = body
        interrupted = Interrupted(world.store, number, push)
        worker = world.new_worker(cast("Store", interrupted))
        for batch in await worker.claims.claim_due(world.clock.now):
            await worker.ingestion.ingest(batch)
        if not interrupted.has_acted:
            break
        after = await world.feed("feed")
        assert after.last_fetch_time == world.clock.now, number
        assert after.next_fetch_time <= world.clock.now + PUSH_GAP, number
    assert number > 12


async def test_without_a_public_address_no_hub_is_asked(world: World) -> None:
    await naming(world)
    hub = Hub()
    assert await Subscriptions(world.store, hub, world.clock, "", lambda: "x").work() == 0
    websub = (await world.feed("feed")).websub
    assert websub is not None
    assert (websub.state, hub.asked) == ("named", [])
