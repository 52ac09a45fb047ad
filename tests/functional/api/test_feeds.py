"""Feeds over HTTP: every answer of every endpoint."""

from datetime import timedelta
from typing import Any
from xml.etree import ElementTree

import pytest

from models.feed import Feed
from models.values import parse_time
from services.container import Container
from services.feeds.claims import IngestMessage
from services.store.containers import FEEDS
from tests.documents import NOW, attempt
from tests.functional.api.conftest import Answer, call

FEED = {"url": "https://example.com/rss", "source_name": "Example", "id": "example"}


async def add(**fields: Any) -> Answer:
    return await call("add_feed", body=FEED | fields)


async def test_a_new_feed_is_201_with_the_stored_document_and_a_known_one_200_with_the_same(app: Container) -> None:
    new = await add(priority=1.5, source_priority=3)
    assert (new.status, new.headers["Location"]) == (201, "/api/v1/feeds/example")
    assert new.json["feed_url"] == FEED["url"]
    assert (new.json["feed_id"], new.json["priority_score"], new.json["source_priority"]) == ("example", 1.5, 3)
    assert (new.json["enabled"], new.json["disabled_reason"], new.json["consecutive_errors"]) == (True, None, 0)
    assert new.json["next_fetch_time"].endswith("Z")
    known = await call("add_feed", body={"url": "http://EXAMPLE.com/rss/", "source_name": "x"})
    assert (known.status, known.json) == (200, new.json)
    read = await call("get_feed", feed_id="example")
    assert (read.status, read.json) == (200, new.json)


async def test_an_id_that_is_another_feeds_is_409(app: Container) -> None:
    await add()
    answer = await add(url="https://other.example/")
    assert (answer.status, answer.mimetype) == (409, "application/problem+json")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "url"),
        ({"url": "https://a.example"}, "source_name"),
        (FEED | {"url": "nonsense"}, "url"),
        (FEED | {"colour": "red"}, "colour"),
        (FEED | {"priority": "high"}, "priority"),
        (b"{", "body"),
        (b"[]", "body"),
    ],
)
async def test_what_is_wrong_with_a_feed_is_400_with_the_name_of_the_field(
    app: Container, body: Any, field: str
) -> None:
    answer = await call("add_feed", body=body)
    assert (answer.status, answer.json["field"]) == (400, field)
    assert answer.json["allowed"]


async def test_a_change_takes_the_posted_names_and_answers_with_the_stored_document(app: Container) -> None:
    await add()
    changed = await call("change_feed", body={"priority": 3, "enabled": False}, feed_id="example")
    assert changed.status == 200
    assert (changed.json["priority_score"], changed.json["enabled"]) == (3.0, False)
    assert changed.json["disabled_reason"]
    for body, status in (({"id": "x"}, 400), ({"feed_url": "https://x.example"}, 400), ({}, 200)):
        assert (await call("change_feed", body=body, feed_id="example")).status == status
    await add(id="other", url="https://other.example/")
    assert (await call("change_feed", body={"url": FEED["url"]}, feed_id="other")).status == 409


async def test_a_feed_that_was_given_up_is_due_at_once_when_it_is_enabled_again(app: Container) -> None:
    await add()
    document = await app.store.read(FEEDS.name, "example", "feed")
    gone = Feed.from_document(document or {})
    later = gone.next_fetch_time + timedelta(days=1)
    given_up = {"enabled": False, "disabled_reason": "410", "disabled_at": later, "next_fetch_time": later}
    gone = gone.changed(gone.updated_at, **given_up, consecutive_errors=10)
    await app.store.upsert(FEEDS.name, gone.to_document())
    answer = await call("change_feed", body={"enabled": True}, feed_id="example")
    assert (answer.json["enabled"], answer.json["disabled_reason"], answer.json["consecutive_errors"]) == (
        True,
        None,
        0,
    )
    assert parse_time(answer.json["next_fetch_time"]) < later


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
    feeds = [{"feed_id": "example", "fetched": ""}]
    assert first.sent == [{"run_id": run_id, "feeds": feeds, "hosts": ["example.com:443"]}]
    assert IngestMessage.from_message('{"run_id":"x","feeds":[]}').feeds == ()
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
        each = attempt(run_id=f"r{n}", subject="example", started_at=NOW + timedelta(minutes=n))
        document = each.to_document() | {"ttl_timestamp": None}
        await app.store.upsert("runs", document)
    first = await call("list_feed_history", "limit=2", feed_id="example")
    assert [each["run_id"] for each in first.json["items"]] == ["r2", "r1"]
    newest = first.json["items"][0]
    assert newest["task_name"] == "fetch_feed"
    assert (newest["feed_id"], newest["fetch_time"]) == (newest["subject"], newest["started_at"])
    rest = await call("list_feed_history", f"limit=2&cursor={first.json['next']}", feed_id="example")
    assert ([each["run_id"] for each in rest.json["items"]], rest.json["next"]) == (["r0"], None)


async def test_lists_have_limits_and_cursors_and_take_nothing_else(app: Container) -> None:
    for n in range(3):
        await add(url=f"https://example.com/{n}", id=f"feed-{n}")
    first = await call("list_feeds", "limit=2")
    rest = await call("list_feeds", f"limit=2&cursor={first.json['next']}")
    assert [each["feed_id"] for each in first.json["items"] + rest.json["items"]] == ["feed-0", "feed-1", "feed-2"]
    assert rest.json["next"] is None
    assert (await call("list_feeds", "code=a-function-key&clientId=default")).status == 200
    for query, field in (("limit=0", "limit"), ("limit=501", "limit"), ("cursor=x", "cursor"), ("offset=1", "offset")):
        answer = await call("list_feeds", query)
        assert (answer.status, answer.json["field"]) == (400, field)


async def test_opml_goes_in_with_a_report_and_comes_out_again(app: Container) -> None:
    document = b"""<opml version="1.0"><body>
<outline text="A &amp; B" xmlUrl="https://a.example/?x=1&amp;y=2"/>
<outline text="bad" xmlUrl="nonsense"/></body></opml>"""
    answer = await call("import_feeds", body=document)
    assert answer.status == 200
    (feed_id,) = answer.json["added"]
    assert [(each["line"], each["url"]) for each in answer.json["refused"]] == [(3, "nonsense")]
    assert answer.json["refused"][0]["reason"].startswith("url: must be an http://")
    assert (await call("import_feeds", body=document)).json["known"] == [feed_id]
    out = await call("export_feeds")
    assert out.mimetype == "text/x-opml"
    (outline,) = ElementTree.fromstring(out.body).findall("body/outline")
    assert (outline.get("text"), outline.get("xmlUrl")) == ("A & B", "https://a.example/?x=1&y=2")


@pytest.mark.parametrize("body", [b"", b"x", b"<!DOCTYPE opml []><opml/>"])
async def test_a_body_that_is_not_opml_is_400(app: Container, body: bytes) -> None:
    answer = await call("import_feeds", body=body)
    assert (answer.status, answer.json["field"]) == (400, "body")
