"""Feeds over HTTP: every answer of every endpoint."""

from datetime import timedelta
from typing import Any

import pytest

from models.feed import Feed
from services.container import Container
from services.store.containers import FEEDS
from tests.documents import NOW, attempt, ingestion_batch
from tests.functional.api.conftest import Answer, call

FEED = {"url": "https://example.com/rss", "source_name": "Example", "feed_id": "example"}


async def add(**fields: Any) -> Answer:
    return await call("add_feed", body=FEED | fields)


async def test_a_new_feed_is_201_with_the_feed_and_a_known_one_200_with_the_same(app: Container) -> None:
    new = await add(priority=1.5, source_priority=3)
    assert (new.status, new.headers["Location"]) == (201, "/api/v1/feeds/example")
    assert new.json["url"] == FEED["url"]
    assert (new.json["feed_id"], new.json["priority"], new.json["source_priority"]) == ("example", 1.5, 3)
    assert (new.json["enabled"], new.json["disabled_reason"], new.json["consecutive_errors"]) == (True, None, 0)
    assert new.json["next_fetch_time"].endswith("Z")
    known = await call("add_feed", body={"url": "http://EXAMPLE.com/rss/", "source_name": "x"})
    assert (known.status, known.json) == (200, new.json)
    read = await call("get_feed", feed_id="example")
    assert (read.status, read.json) == (200, new.json)


async def test_a_change_takes_the_posted_names_and_answers_with_the_feed(app: Container) -> None:
    await add()
    changed = await call("change_feed", body={"priority": 3, "enabled": False}, feed_id="example")
    assert changed.status == 200
    assert (changed.json["priority"], changed.json["enabled"]) == (3.0, False)
    assert changed.json["disabled_reason"]
    for body, status in (({"feed_id": "x"}, 400), ({"feed_url": "https://x.example"}, 400), ({}, 200)):
        assert (await call("change_feed", body=body, feed_id="example")).status == status
    await add(feed_id="other", url="https://other.example/")
    assert (await call("change_feed", body={"url": FEED["url"]}, feed_id="other")).status == 409


@pytest.mark.parametrize("view", ["default", "full"])
async def test_sending_back_what_get_returned_changes_nothing(app: Container, view: str) -> None:
    await add(priority=2, tags=["News"], enabled=False)
    feed = Feed.from_document(await app.store.read(FEEDS.name, "example", "feed") or {})
    moved = feed.changed(feed.updated_at, redirect_url="https://new.example/rss", disabled_by="app", probes=2)
    await app.store.upsert(FEEDS.name, moved.to_document())
    before = (await call("get_feed", f"view={view}", feed_id="example")).json
    again = await call("change_feed", f"view={view}", body=before, feed_id="example")
    assert (again.status, again.json) == (200, before)
    assert (await call("get_feed", f"view={view}", feed_id="example")).json == before
    changed = await call("change_feed", body={**before, "priority": 7}, feed_id="example")
    assert (changed.json["priority"], changed.json["redirect_url"]) == (7.0, "https://new.example/rss")


async def test_a_change_of_nothing_that_can_be_changed_is_400_and_says_what_can_be(app: Container) -> None:
    await add()
    refused = await call("change_feed", body={"feed_id": "other", "verdict": "ok"}, feed_id="example")
    assert (refused.status, refused.json["field"]) == (400, "feed_id, verdict")
    assert refused.json["allowed"].startswith("cannot be changed; what can be changed: url, source_name, priority")


async def test_internals_of_a_feed_are_shown_with_view_full_only(app: Container) -> None:
    await add()
    for query, has_internals in (("", False), ("view=default", False), ("view=full", True)):
        alone = (await call("get_feed", query, feed_id="example")).json
        assert (await call("list_feeds", query)).json["items"] == [alone]
        assert ("fetch_hours" in alone) is has_internals
    assert (await call("get_feed", "view=all", feed_id="example")).json["field"] == "view"


async def test_a_deleted_feed_is_204_and_then_404_everywhere(app: Container) -> None:
    await add()
    gone = await call("delete_feed", feed_id="example")
    assert (gone.status, gone.body) == (204, b"")
    for name in ("get_feed", "delete_feed", "list_feed_history", "fetch_feed"):
        assert (await call(name, feed_id="example")).status == 404
    assert (await call("change_feed", body={"priority": 2}, feed_id="example")).status == 404


async def test_fetching_now_is_202_with_a_run_that_exists_and_one_message(app: Container) -> None:
    await add()
    first = await call("fetch_feed", feed_id="example")
    run_id = first.json["run_id"]
    assert (first.status, first.headers["Location"]) == (202, f"/api/v1/runs/{run_id}")
    assert first.sent == [{"run_id": run_id}]
    run = await call("get_run", run_id=run_id)
    assert (run.status, run.json["status"], run.json["attempts"]) == (200, "QUEUED", [])
    while_it_waits = await call("fetch_feed", feed_id="example")
    assert (while_it_waits.status, while_it_waits.json["run_id"], while_it_waits.sent) == (202, run_id, [])
    await call("change_feed", body={"enabled": False}, feed_id="example")
    refused = await call("fetch_feed", feed_id="example")
    assert (refused.status, refused.sent) == (409, [])


async def test_a_feeds_history_lists_its_attempts(app: Container) -> None:
    await add()
    for n in range(3):
        began = NOW + timedelta(minutes=n)
        each = attempt(run_id=f"r{n}", subject="example", started_at=began)
        run = ingestion_batch(
            run_id=f"r{n}", started_at=began, ended_at=began, feeds=("example",), attempts=(each.in_run(),)
        )
        await app.store.upsert("runs", run.to_document() | {"ttl_timestamp": None})
    first = await call("list_feed_history", "limit=2", feed_id="example")
    assert [each["run_id"] for each in first.json["items"]] == ["r2", "r1"]
    newest = first.json["items"][0]
    assert newest["task_name"] == "fetch_feed"
    assert (newest["feed_id"], newest["fetch_time"]) == (newest["subject"], newest["started_at"])
    rest = await call("list_feed_history", f"limit=2&cursor={first.json['next']}", feed_id="example")
    assert ([each["run_id"] for each in rest.json["items"]], rest.json["next"]) == (["r0"], None)
    ever = await call("list_feed_history", "since=0001-01-01T00:00:00Z", feed_id="example")
    assert len(ever.json["items"]) == 3


async def test_lists_have_limits_and_cursors_and_take_nothing_else(app: Container) -> None:
    for n in range(3):
        await add(url=f"https://example.com/{n}", feed_id=f"feed-{n}")
    first = await call("list_feeds", "limit=2")
    rest = await call("list_feeds", f"limit=2&cursor={first.json['next']}")
    assert [each["feed_id"] for each in first.json["items"] + rest.json["items"]] == ["feed-0", "feed-1", "feed-2"]
    assert rest.json["next"] is None
    assert (await call("list_feeds", "code=a-function-key&clientId=default")).status == 200
    answer = await call("list_feeds", "offset=1")
    assert (answer.status, answer.json["field"]) == (400, "offset")


async def test_a_credential_that_is_no_setting_of_the_app_is_refused_by_its_name_when_the_feed_is_added(
    environment: pytest.MonkeyPatch, app: Container
) -> None:
    missing = await add(credential="FEED_CREDENTIAL_NONE")
    assert (missing.status, missing.json["field"]) == (400, "credential")
    assert "FEED_CREDENTIAL_NONE" in missing.json["detail"]
    assert (await call("get_feed", feed_id="example")).status == 404
    await add()
    changed = await call("change_feed", body={"credential": "FEED_CREDENTIAL_NONE"}, feed_id="example")
    assert (changed.status, changed.json["field"]) == (400, "credential")
    assert (await call("get_feed", feed_id="example")).json["credential"] is None
