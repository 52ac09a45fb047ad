"""One document that cannot be read, whatever wrote it, is left out of lists and named; asked for alone, it says so."""

from datetime import timedelta
from typing import Any

import pytest

from models.article import Article
from models.stored import StoredDocument
from services.container import Container
from services.mentions.due import mark_dirty
from tests.documents import (
    TOOL_ID,
    article,
    attempt,
    feed,
    ingestion_batch,
    mention,
    observation,
    run,
    tool,
)
from tests.functional.api.conftest import Answer, call
from tests.functional.api.test_reading import AGES, NOW, put

GOOD_ID, BAD_ID = (f"dedup:{number:032x}" for number in (1, 2))


async def put_broken(app: Container, document: StoredDocument, **wrong: Any) -> None:
    await app.store.upsert(document.CONTAINER, {**document.to_document(), **wrong})


def an_article(source_id: str) -> Article:
    return article(dedup_key=source_id.removeprefix("dedup:"), timestamp=NOW, **AGES)


@pytest.fixture
async def articles(app: Container) -> Container:
    """Two that name one tool, of which one is broken."""
    await put(app, tool(**AGES))
    for source_id in (GOOD_ID, BAD_ID):
        await put(app, mention(source_id=source_id, published_at=NOW - timedelta(minutes=3), **AGES))
    await put(app, an_article(GOOD_ID), observation(source_id=GOOD_ID, **AGES))
    await put_broken(app, an_article(BAD_ID), canonical="nothing")
    await put_broken(app, observation(source_id=GOOD_ID, source="finnhub", **AGES), headline=[])
    return app


def assert_list(answer: Answer, field: str, good: list[str], bad: list[str]) -> None:
    assert answer.status == 200
    assert [item[field] for item in answer.json["items"]] == good
    assert answer.json["unreadable"] == bad


async def test_a_list_of_articles_leaves_out_unreadable_ones_and_names_them(articles: Container) -> None:
    assert_list(await call("list_articles"), "source_id", [GOOD_ID], [BAD_ID])
    assert_list(await call("list_tool_articles", tool=TOOL_ID), "source_id", [GOOD_ID], [BAD_ID])


async def test_an_unreadable_article_is_a_problem_document_that_names_it_without_its_text(
    articles: Container, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await call("get_article", article_id=BAD_ID)
    assert (answer.status, answer.mimetype) == (500, "application/problem+json")
    assert (answer.json["title"], answer.json["kind"]) == ("Unreadable", "Article")
    assert BAD_ID in answer.json["detail"]
    assert "canonical" in answer.json["detail"]
    assert "nothing" not in answer.body.decode()
    assert "document_unreadable" in caplog.text
    assert BAD_ID in caplog.text


async def test_an_export_and_the_raw_layer_leave_out_what_is_unreadable(articles: Container) -> None:
    for layer in ("canonical", "raw"):
        answer = await call("export_articles", f"layer={layer}")
        assert (answer.status, answer.body.count(b"\n"), answer.headers["X-Unreadable"]) == (200, 1, "1")
    answer = await call("get_article", "layer=raw", article_id=GOOD_ID)
    assert [each["source"] for each in answer.json["observations"]] == ["tiingo"]
    assert answer.json["unreadable"] == ["obs:finnhub:20260221"]


async def test_an_article_is_deleted_with_observations_that_cannot_be_read(articles: Container) -> None:
    assert (await call("delete_article", article_id=GOOD_ID)).status == 204
    assert (await call("export_articles", "layer=raw")).body == b""


async def test_evidence_leaves_out_unreadable_mentions(articles: Container) -> None:
    broken = mention(source_id=BAD_ID, published_at=NOW - timedelta(minutes=3), **AGES)
    await put_broken(articles, broken, matches="many")
    answer = await call("list_tool_evidence", "hours=24", tool=TOOL_ID)
    assert_list(answer, "source_id", [GOOD_ID], [BAD_ID])
    assert_list(await call("list_tool_articles", tool=TOOL_ID), "source_id", [GOOD_ID], [BAD_ID])


async def test_an_unreadable_feed_stops_no_list_of_feeds(app: Container) -> None:
    await put(app, feed(**AGES))
    await put_broken(app, feed(feed_id="broken", **AGES), source_name={})
    assert_list(await call("list_feeds"), "feed_id", ["reuters-world"], ["broken"])
    assert (await call("get_feed", feed_id="broken")).json["title"] == "Unreadable"
    assert (await call("export_feeds")).status == 200
    assert b'feed_id="reuters-world"' in (await call("get_metrics")).body
    await put_broken(app, feed(feed_id="never-due", **AGES), next_fetch_time=None)
    half = feed(feed_id="half", verdict="gone", **AGES).to_document()
    await app.store.upsert("feeds", {name: each for name, each in half.items() if name != "enabled"})
    assert b'feed_id="reuters-world"' in (await call("get_metrics")).body
    checks = (await call("health")).json["checks"]
    assert checks["feeds_active"]["verdicts"] == {"gone": 1, "ok": 2}


async def test_unreadable_runs_and_attempts_are_left_out(app: Container) -> None:
    good = attempt(run_id="good", started_at=NOW, **AGES)
    broken = attempt(run_id="good", attempt_no=2, started_at=NOW + timedelta(seconds=1), **AGES)
    attempts = (good.in_run(), {**broken.in_run(), "status": "FAILED"})
    await put(app, ingestion_batch(run_id="good", feeds=(good.subject,), attempts=attempts, **AGES))
    await put_broken(app, run(run_id="bad", started_at=NOW, **AGES), progress="far")
    assert_list(await call("list_runs"), "run_id", ["good"], ["bad"])
    alone = (await call("get_run", run_id="good")).json
    assert (len(alone["attempts"]), alone["unreadable"]) == (1, [broken.subject])
    assert (await call("get_run", run_id="bad")).json["title"] == "Unreadable"
    await put(app, feed(**AGES))
    history = await call("list_feed_history", feed_id="reuters-world")
    assert (len(history.json["items"]), history.json["unreadable"]) == (1, [broken.subject])


async def test_an_unreadable_tool_is_left_out_of_the_tools_and_their_figures(app: Container) -> None:
    await put(app, tool(**AGES))
    await put_broken(app, tool(tool_id=TOOL_ID[:-1] + "0", primary_name="broken", **AGES), aliases="none")
    assert_list(await call("list_tools"), "tool_id", [TOOL_ID], [TOOL_ID[:-1] + "0"])
    assert_list(await call("list_latest_sentiment"), "tool_id", [TOOL_ID], [TOOL_ID[:-1] + "0"])


async def test_a_tool_whose_generation_cannot_be_read_hides_no_others_figures(app: Container) -> None:
    broken = {"id": f"{TOOL_ID}:generation", "tool_id": TOOL_ID, "generation": "high"}
    other = tool(tool_id=TOOL_ID[:-1] + "0", primary_name="other", **AGES)
    await put(app, tool(**AGES), other)
    await app.store.upsert("sentiment_cache", broken)
    await mark_dirty(app.store, {TOOL_ID: [NOW]}, NOW)
    assert_list(await call("list_latest_sentiment"), "tool_id", [other.tool_id], [TOOL_ID])
    assert (await call("get_tool_sentiment", tool=other.tool_id)).status == 200
    assert (await call("get_tool_sentiment", tool=TOOL_ID)).status == 500
