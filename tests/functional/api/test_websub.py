"""Subscriptions at a hub of our own on this machine, from the feed that names it to its pushes and its end."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

import azure.functions as func
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from models.websub import FeedSubscription
from services import container
from services.container import Container
from services.store.containers import FEEDS
from tests.functional.api.conftest import FUNCTIONS, call, started

NOW = datetime.now(UTC)
PUBLIC = "https://news.example"


class Hub:
    """A hub and the site of its feed. `status` answers requests; `verifies`: it asks back before it answers."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.status = 202
        self.verifies = True
        self.lease = 3600
        self.names_hub = True
        self.headlines = ["Quorvia ships a faster planner"]
        self.port = 0

    @property
    def topic(self) -> str:
        return f"http://127.0.0.1:{self.port}/feed"

    @property
    def token(self) -> str:
        return self.asked[-1]["hub.callback"].rpartition("/")[2]

    async def subscribe(self, request: web.Request) -> web.Response:
        self.asked.append(dict(parse_qsl(await request.text())))
        if self.verifies:
            answer = await self.verify()
            assert (answer.status_code, answer.get_body()) == (200, b"challenge")
        return web.Response(status=self.status)

    async def verify(self, token: str | None = None, **changes: str) -> func.HttpResponse:
        asked = {
            "hub.mode": self.asked[-1]["hub.mode"],
            "hub.topic": self.topic,
            "hub.challenge": "challenge",
            "hub.lease_seconds": str(self.lease),
            **{f"hub.{name}": value for name, value in changes.items()},
        }
        return await callback("verify_websub", token or self.token, params=asked)

    async def push(self, secret: str | None = None, token: str | None = None, body: bytes = b"<feed/>") -> int:
        key = self.asked[0]["hub.secret"] if secret is None else secret
        signature = "sha256=" + hmac.new(key.encode(), body, hashlib.sha256).hexdigest()
        headers = {"X-Hub-Signature": signature, "Content-Type": "application/atom+xml"}
        answer = await callback("receive_websub", token or self.token, headers=headers, body=body)
        return int(answer.status_code)

    async def feed(self, request: web.Request) -> web.Response:
        hub = f"http://127.0.0.1:{self.port}/hub"
        links = f'<link rel="hub" href="{hub}"/><link rel="self" href="{self.topic}"/>' if self.names_hub else ""
        entries = "".join(
            f"<entry><title>{each}</title><id>{number}</id><link href='https://quorvia.example/{number}'/>"
            f"<updated>{NOW.isoformat()}</updated></entry>"
            for number, each in enumerate(self.headlines)
        )
        text = f'<feed xmlns="http://www.w3.org/2005/Atom"><title>Quorvia</title>{links}{entries}</feed>'
        return web.Response(text=text, content_type="application/atom+xml")


async def callback(name: str, token: str, **request: Any) -> func.HttpResponse:
    fields = {"method": "GET", "url": f"{PUBLIC}/api/websub/{token}", "body": b"", **request}
    response = await FUNCTIONS[name](func.HttpRequest(**fields, route_params={"token": token}))
    assert isinstance(response, func.HttpResponse)
    return response


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    one = Hub()
    site = web.Application()
    site.router.add_post("/hub", one.subscribe)
    site.router.add_get("/feed", one.feed)
    async with TestServer(site) as server:
        one.port = server.port or 0
        yield one


@pytest.fixture
async def app(environment: pytest.MonkeyPatch, hub: Hub) -> AsyncIterator[Container]:
    environment.setenv("ALLOW_PRIVATE_ADDRESSES", f"127.0.0.1:{hub.port}")
    environment.setenv("PUBLIC_URL", PUBLIC)
    services = await started()
    assert (
        await call("add_feed", body={"url": hub.topic, "source_name": "Quorvia", "feed_id": "quorvia"})
    ).status == 201
    await fetched(services)
    yield services
    await container.close()


async def made_older(app: Container) -> None:
    """As if the fetch before were an hour ago: the times of attempts at one feed are a second apart at least."""
    before = await app.feeds.get("quorvia")
    if before.last_fetch_time is not None:
        earlier = app.clock() - timedelta(hours=1)
        await app.store.upsert(FEEDS.name, before.changed(app.clock(), last_fetch_time=earlier).to_document())


async def fetched(app: Container) -> None:
    await made_older(app)
    await app.ingestion.ingest(await app.claims.claim("quorvia", app.clock()))


async def websub() -> Any:
    return (await call("get_feed", feed_id="quorvia")).json["websub"]


async def state() -> str | None:
    found = await websub()
    return None if found is None else str(found["state"])


async def subscription(app: Container) -> FeedSubscription | None:
    stored = await app.store.read(FEEDS.name, "quorvia", FeedSubscription.ID)
    return None if stored is None else FeedSubscription.from_document(stored)


async def due_again(app: Container) -> None:
    """As if the wait for the hub were over."""
    known = await subscription(app)
    assert known is not None
    past = known.changed(app.clock(), websub_due_at=app.clock() - timedelta(minutes=1))
    await app.store.upsert(FEEDS.name, past.to_document())


async def test_a_feed_that_names_a_hub_is_subscribed_verified_and_shown(app: Container, hub: Hub) -> None:
    assert await websub() == {
        "state": "named",
        "hub": f"http://127.0.0.1:{hub.port}/hub",
        "topic": hub.topic,
        "lease_ends": None,
        "last_push": None,
    }
    assert await app.websub.work() == 1
    (asked,) = hub.asked
    assert (asked["hub.mode"], asked["hub.topic"]) == ("subscribe", hub.topic)
    assert asked["hub.callback"].startswith(f"{PUBLIC}/api/websub/quorvia.")
    assert len(asked["hub.secret"]) >= 40
    shown = await websub()
    assert shown["state"] == "active"
    assert abs(datetime.fromisoformat(shown["lease_ends"]) - app.clock() - timedelta(hours=1)) < timedelta(minutes=1)
    assert await app.websub.work() == 0
    everything = (await call("get_feed", "view=full", feed_id="quorvia")).body + (await call("list_feeds")).body
    assert asked["hub.secret"].encode() not in everything
    assert hub.token.encode() not in everything


async def test_a_push_has_the_feed_fetched_and_brings_no_article_itself(app: Container, hub: Hub) -> None:
    await app.websub.work()
    hub.headlines.append("Quorvia raises 40 million dollars")
    await made_older(app)
    injected = b"<feed xmlns='http://www.w3.org/2005/Atom'><entry><title>Injected</title></entry></feed>"
    assert await hub.push(secret="wrong", body=injected) == 202
    assert (await websub())["last_push"] is None
    assert (await app.feeds.get("quorvia")).next_fetch_time > app.clock()
    assert await hub.push(body=injected) == 202
    after = await app.feeds.get("quorvia")
    assert after.next_fetch_time <= app.clock()
    assert (await websub())["last_push"] is not None
    for batch in await app.claims.claim_due(app.clock()):
        await app.ingestion.ingest(batch)
    titles = [each["headline"] for each in (await call("list_articles")).json["items"]]
    assert sorted(titles) == ["Quorvia raises 40 million dollars", "Quorvia ships a faster planner"]
    for _ in range(3):  # replays
        assert await hub.push(body=injected) == 202
    assert (await app.feeds.get("quorvia")).fetch_count == 2


async def test_a_stranger_learns_and_changes_nothing(app: Container, hub: Hub) -> None:
    hub.verifies = False
    await app.websub.work()
    before = await subscription(app)
    for wrong in ({"topic": "https://other.example/"}, {"mode": "unsubscribe"}, {"lease_seconds": "soon"}):
        assert (await hub.verify(**wrong)).status_code == 404
    for token in ("quorvia.guess", "nobody.guess", "quorvia", "..", "x" * 300, "é"):
        assert (await hub.verify(token)).status_code == 404
        assert await hub.push(token=token) == 410
    assert await subscription(app) == before
    assert await state() == "requested"


async def test_a_verification_counts_once_asked_and_not_for_ever(app: Container, hub: Hub) -> None:
    hub.verifies = False
    await app.websub.work()
    answer = await hub.verify()
    assert (answer.status_code, answer.get_body(), answer.mimetype) == (200, b"challenge", "text/plain")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert await state() == "active"
    known = await subscription(app)
    assert known is not None
    late = known.changed(app.clock(), verify_until=app.clock() - timedelta(minutes=1))
    await app.store.upsert(FEEDS.name, late.to_document())
    assert (await hub.verify()).status_code == 404


async def test_a_lease_is_renewed_on_the_same_path_and_an_expired_one_begun_anew(app: Container, hub: Hub) -> None:
    await app.websub.work()
    token = hub.token
    await due_again(app)
    assert await app.websub.work() == 1
    assert (hub.token, await state()) == (token, "active")
    known = await subscription(app)
    assert known is not None
    expired = known.changed(app.clock(), lease_ends=app.clock() - timedelta(days=1), websub_due_at=app.clock())
    await app.store.upsert(FEEDS.name, expired.to_document())
    hub.verifies = False
    assert await app.websub.work() == 1
    assert await state() == "requested"


async def test_a_hub_that_refuses_or_denies_is_shown(app: Container, hub: Hub) -> None:
    hub.verifies, hub.status = False, 403
    await app.websub.work()
    assert await state() == "refused"
    assert await app.websub.work() == 0
    hub.status = 202
    await due_again(app)
    await app.websub.work()
    assert await state() == "requested"
    assert (await hub.verify(mode="denied", reason="no")).status_code == 200
    assert await state() == "refused"


@pytest.mark.parametrize("how", ["disabled", "deleted", "names no hub"])
async def test_a_subscription_that_is_not_wanted_is_ended(app: Container, hub: Hub, how: str) -> None:
    await app.websub.work()
    if how == "disabled":
        assert (await call("change_feed", body={"enabled": False}, feed_id="quorvia")).status == 200
    elif how == "deleted":
        assert (await call("delete_feed", feed_id="quorvia")).status == 204
    else:
        hub.names_hub = False
        await fetched(app)
    assert await app.websub.work() == 1
    assert hub.asked[-1]["hub.mode"] == "unsubscribe"
    assert await subscription(app) is None
    assert await hub.push() == 410
    if how != "deleted":
        assert await state() == ("named" if how == "disabled" else None)
    assert await app.websub.work() == 0


async def test_a_feed_that_is_enabled_again_is_subscribed_again(app: Container, hub: Hub) -> None:
    await app.websub.work()
    await call("change_feed", body={"enabled": False}, feed_id="quorvia")
    await app.websub.work()
    await call("change_feed", body={"enabled": True}, feed_id="quorvia")
    await fetched(app)
    assert await app.websub.work() == 1
    assert [each["hub.mode"] for each in hub.asked] == ["subscribe", "unsubscribe", "subscribe"]
    assert await state() == "active"
    assert len({each["hub.callback"] for each in hub.asked}) == 2


async def test_a_hub_at_a_private_address_is_not_asked(app: Container, hub: Hub) -> None:
    known = await app.feeds.get("quorvia")
    assert known.websub is not None
    inside = known.websub.model_copy(update={"hub": "http://127.0.0.1:1/hub", "next_at": app.clock()})
    await app.store.upsert(FEEDS.name, known.changed(app.clock(), websub=inside).to_document())
    await app.websub.work()
    assert hub.asked == []
    assert await app.websub._posts.post_form("http://169.254.169.254/hub", b"") is None
    assert await app.websub._posts.post_form("file:///etc/passwd", b"") is None
