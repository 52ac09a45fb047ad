"""Corrections of articles and stories, and the merge ledger, over the HTTP functions."""

from __future__ import annotations

from typing import Any

import pytest

from models.story import event_id
from services.container import Container
from services.store.containers import ARTICLES, STORIES
from tests.documents import NOW, article, story_member
from tests.functional.api.conftest import call
from tests.functional.articles.world import SettableClock
from tests.functional.workflows.split_world import SplitWorld

ADA = {"author": "Ada", "reason": "two posts with one headline"}


@pytest.fixture
async def split_world(app: Container) -> SplitWorld:
    clock = SettableClock(app.clock())
    return await SplitWorld.of(app.store, clock)


async def ledger(source_id: str) -> dict[str, Any]:
    answer = await call("get_article_ledger", article_id=source_id)
    assert answer.status == 200
    found: dict[str, Any] = answer.json
    return found


async def test_a_split_is_made_listed_explained_and_undone(split_world: SplitWorld) -> None:
    before = (await split_world.brought("a", "b")).source_id
    said = await ledger(before)
    assert [(each["source"], each["rule"]) for each in said["sources"]] == [("a", "first"), ("b", "headline_and_day")]
    assert said["sources"][1]["fields"].keys() == {"headline", "day"}
    assert (said["near_duplicate"], said["story"], said["corrections"]) == (None, None, [])
    made = await call("split_article", body={"source": "b", **ADA}, article_id=before)
    assert made.status == 201
    new, correction_id = made.json["others"][0], made.json["correction_id"]
    assert made.headers["Location"] == f"/api/v1/corrections/{correction_id}"
    assert (await call("get_article", article_id=new)).json["sources"] == ["b"]
    (entry,) = (await ledger(new))["sources"]
    assert (entry["source"], entry["rule"], entry["fields"]) == ("b", "person", {})
    (named,) = (await ledger(before))["corrections"]
    assert (named["correction_id"], named["kind"], named["state"]) == (correction_id, "SPLIT_ARTICLE", "active")
    assert "Ada" not in str(await ledger(before))
    (listed,) = (await call("list_grouping_corrections", "state=active")).json["items"]
    assert (listed["author"], listed["reason"], listed["source"]) == ("Ada", ADA["reason"], "b")
    undone = await call("undo_grouping_correction", body={"author": "Bo"}, correction_id=correction_id)
    assert (undone.status, undone.json["undone_by"], undone.json["state"]) == (200, "Bo", "undone")
    assert (await call("get_article", article_id=before)).json["sources"] == ["a", "b"]
    assert (await call("get_article", article_id=new)).status == 404
    assert (await call("list_grouping_corrections", "state=active")).json["items"] == []
    assert (await call("get_grouping_correction", correction_id=correction_id)).json == undone.json


async def stored_article(app: Container, number: int, event: str | None = None) -> str:
    stored = article(dedup_key=f"{number:032x}", created_at=app.clock(), timestamp=NOW)
    await app.store.create(ARTICLES.name, stored.to_document())
    if event is not None:
        member = story_member(source_id=stored.source_id, event_id=event)
        await app.store.create(STORIES.name, {**member.to_document(), "ttl_timestamp": None})
    return stored.source_id


async def test_stories_are_split_joined_and_kept_apart_by_their_articles(app: Container) -> None:
    one = event_id("dedup:" + "0" * 31 + "1", NOW)
    other = event_id("dedup:" + "0" * 31 + "9", NOW)
    mine = [await stored_article(app, number, one) for number in (1, 2, 3)]
    theirs = [await stored_article(app, 9, other)]
    split = await call("split_story", body={"articles": mine[1:2], **ADA}, event_id=one)
    assert (split.json["articles"], split.json["others"]) == ([mine[1]], [mine[0], mine[2]])
    joined = await call("join_stories", body={"story": other, **ADA}, event_id=one)
    assert (joined.json["kind"], joined.json["articles"], joined.json["others"]) == ("ONE_STORY", mine, theirs)
    apart = await call("keep_stories_apart", body={"story": other, **ADA}, event_id=one)
    assert (apart.json["kind"], apart.json["event_ids"]) == ("NOT_ONE_STORY", [one, other])
    listed = (await call("get_story_ledger", event_id=one)).json["items"]
    assert [each["source_id"] for each in listed] == mine
    assert {each["story"]["event_id"] for each in listed} == {one}
    everything = await call("split_story", body={"articles": mine, **ADA}, event_id=one)
    assert (everything.status, everything.json["detail"]) == (409, "articles: these are all articles of the story")


async def test_what_is_not_there_is_not_found(app: Container) -> None:
    one = await stored_article(app, 1)
    nobody, story = "dedup:" + "f" * 32, event_id("dedup:" + "f" * 32, NOW)
    for name, body, params in [
        ("split_article", {"source": "b"}, {"article_id": nobody}),
        ("split_article", {"source": "b"}, {"article_id": one}),
        ("join_stories", {"story": story}, {"event_id": story}),
        ("undo_grouping_correction", {}, {"correction_id": "correction:20260221:run"}),
    ]:
        assert (await call(name, body={**body, **ADA}, **params)).status == 404, (name, params)
    assert (await call("get_article_ledger", article_id=nobody)).status == 404
    assert (await call("get_story_ledger", event_id=story)).status == 404
    assert (await call("get_grouping_correction", correction_id="x")).status == 404
