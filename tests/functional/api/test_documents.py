"""Full texts over the HTTP and queue functions, from a feed that asks for them to the deleted article."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from hashlib import sha256
from typing import Any

import azure.functions as func
import pytest

from models.values import format_time
from services.container import Container
from services.documents.documents import DOCUMENTS_STAGE
from services.ports import Query, query_all
from services.store.containers import ARTICLES, DOCUMENTS
from tests.builders import existing
from tests.functional.api.conftest import FUNCTIONS, call
from tests.functional.api.world import app_with_feeds
from tests.functional.documents.world import HEADLINE, TEXT, html

FEED = (
    "<rss version='2.0'><channel><title>News</title>{}</channel></rss>",
    "<item><title>{}</title><link>{}</link><guid>{}</guid><description>Ferry is a bad tool.</description></item>",
)
ODD = "Lantern has something to say today"


@pytest.fixture
async def reading(environment: pytest.MonkeyPatch) -> AsyncIterator[Container]:
    """An app with one feed of two entries that asks for full texts, polled once; the second page is about something
    else."""
    entries = "".join(FEED[1].format(title, f"ORIGIN/p/{n}", n) for n, title in ((1, HEADLINE), (2, ODD)))
    pages = {"1": html(), "2": html(headline="Welcome to our site")}
    feeds = {"news": {"full_text": "short"}}
    async with app_with_feeds(environment, lambda _: FEED[0].format(entries), feeds, pages) as app:
        for batch in (await app.feeds.claims.claim_some(["news"], app.clock())).runs:
            await app.fetching.ingestion.ingest(batch.run_id)
        yield app


async def delivered(app: Container) -> None:
    """Delivers a message for each document that is due to the queue function."""
    names = [each["source_id"] for each in (await listed()).values()]
    for name in names:
        [text] = DOCUMENTS_STAGE.messages([name])
        await FUNCTIONS["acquire_documents"](func.QueueMessage(body=text.encode()))
    await app.mentions.analysis.handle(names, 1)


async def listed() -> dict[str, dict[str, Any]]:
    return {each["headline"]: each for each in (await call("list_articles")).json["items"]}


async def test_a_full_text_is_shown_reviewed_asked_for_again_and_removed(reading: Container) -> None:
    await call("add_tool", body={"name": "Ferry"})
    await delivered(reading)
    articles = await listed()
    good, odd = articles[HEADLINE], articles[ODD]
    assert (good["scored_text"], odd["scored_text"]) == ("document", "feed")
    assert set(good["full_text"]) == {"sha256", "characters", "revision", "extraction_profile_id"}
    shown = (await call("get_document", article_id=good["source_id"])).json
    assert (shown["validation_status"], [each["role"] for each in shown["files"]]) == ("VALID", ["NORMALIZED", "RAW"])
    held = (await call("get_document", article_id=odd["source_id"])).json
    assert (held["validation_status"], held["manual_review_status"]) == ("QUARANTINED", "PENDING")
    refused = await call("acquire_document", article_id=odd["source_id"], body={})
    assert refused.status == 409
    assert held["quarantine_id"] in refused.json["detail"]
    review = {"decision": "CLEARED_TERMINAL", "author": "Ann", "reason": "not an article"}
    assert (await call("review_quarantine", quarantine_id=held["quarantine_id"], body=review)).status == 200
    dropped = (await call("get_document", article_id=odd["source_id"])).json
    assert (dropped["validation_status"], dropped["eligibility"]) == ("TERMINAL_INVALID", "NONE")

    again = await call("acquire_document", article_id=good["source_id"], body={})
    assert (again.status, again.json["eligibility"]) == (202, "ACQUIRE")
    assert [each["source_ids"] for each in again.sent] == [[good["source_id"]]]
    assert (await call("delete_article", article_id=good["source_id"])).status == 204
    assert (await call("get_document", article_id=good["source_id"])).status == 404


async def read(article_id: str, file_id: str, status: int = 200) -> Any:
    found = await call("get_document_file", article_id=article_id, file_id=file_id)
    assert found.status == status
    return found.json


async def test_the_files_of_a_document_can_be_read_and_checked(reading: Container) -> None:
    await delivered(reading)
    articles = await listed()
    good, odd = articles[HEADLINE]["source_id"], articles[ODD]["source_id"]
    document = (await call("get_document", "view=full", article_id=good)).json
    files = {each["role"]: each for each in document["files"]}
    for role, content in (("NORMALIZED", "\n".join(TEXT)), ("RAW", html())):
        found = await read(good, role)
        assert found["text"] == content
        assert found == await read(good, files[role]["file_id"])
        assert (found["sha256"], found["byte_length"]) == (sha256(content.encode()).hexdigest(), len(content.encode()))
        assert (found["created_by"]["workflow"], found["data_product_id"]) == (
            "acquire_documents",
            document["data_product_id"],
        )
    assert files["RAW"]["archive_key"] == document["raw_archive_key"]
    stored = await existing(reading.store, DOCUMENTS.name, good, f"FILE:{files['RAW']['file_id']}")
    older = {**stored, "id": "FILE:RAW:older", "name": "older", "created_at": "2020-01-01T00:00:00Z"}
    await reading.store.upsert(DOCUMENTS.name, {**older, "content_type": "text/html; charset=windows-1252"})
    assert (await read(good, "RAW:older"))["text"] == html().encode().decode("windows-1252")
    assert (await read(good, "RAW"))["text"] == html()
    await reading.store.upsert(DOCUMENTS.name, {**older, "byte_length": "many"})
    assert (await read(good, "RAW:older", 500))["title"] == "Unreadable"
    await reading.store.delete(DOCUMENTS.name, good, older["id"])
    refused = (await read(odd, "QUARANTINE_CONTEXT"))["text"]
    assert refused.startswith("no heading of the page has the headline of the article (NO_HEADLINE)\n\nWelcome to our")
    assert TEXT[1] in refused
    assert (await read(good, "PLOT", 404))["detail"] == "file: the document has none with the id or role 'PLOT'"
    await reading.archive.delete_folder(files["RAW"]["archive_key"].rpartition("/")[0])
    await read(good, "RAW", 404)


async def test_the_preview_of_a_full_text_says_what_its_page_is_now(reading: Container) -> None:
    ferry = (await call("add_tool", body={"name": "Ferry"})).json["tool_id"]
    await delivered(reading)
    odd = (await listed())[ODD]["source_id"]
    held = (await call("get_document", article_id=odd)).json
    assert held["quarantine_reason"] == "no heading of the page has the headline of the article"
    [item] = (await call("list_quarantine")).json["items"]
    assert item["links"]["preview"].endswith("/preview")
    found = (await call("preview_quarantine", quarantine_id=held["quarantine_id"])).json
    assert found["finding"] == "QUARANTINED: no heading of the page has the headline of the article"
    assert TEXT[1] in found["text"]
    assert {name: each["mentions_added"] for name, each in found["effects"].items()} == {
        "CLEARED_RETRY_APPROVED": 0,
        "CLEARED_TERMINAL": 0,
    }

    stored = await existing(reading.store, ARTICLES.name, odd, "article")
    renamed = {**stored["canonical"], "headline": "Welcome to our site"}
    await reading.store.upsert(
        ARTICLES.name, {**stored, "canonical": renamed, "text_for_analysis": None, "detected_tool_ids": []}
    )
    found = (await call("preview_quarantine", quarantine_id=held["quarantine_id"])).json
    assert (found["finding"], found["text"]) == ("VALID: the text would be scored", "\n".join(TEXT))
    effect = found["effects"]["CLEARED_RETRY_APPROVED"]
    assert (effect["changed_articles"], [each["tool_id"] for each in effect["tools"]]) == (1, [ferry])
    assert (await call("get_document", article_id=odd)).json == held


async def ids(query: str, handler: str = "list_documents", **parts: str) -> list[str]:
    return [each["source_id"] for each in (await call(handler, query, **parts)).json["items"]]


async def test_documents_are_listed_by_status_tool_article_and_eligibility(reading: Container) -> None:
    await call("add_tool", body={"name": "Ferry"})
    articles = await listed()
    good, odd = articles[HEADLINE]["source_id"], articles[ODD]["source_id"]
    assert sorted(await ids("eligible=true")) == sorted(await ids("status=STUB")) == sorted([good, odd])
    await delivered(reading)
    assert await ids("eligible=true") == []
    assert sorted(await ids("")) == sorted([good, odd])
    assert await ids("status=QUARANTINED") == [odd]
    assert await ids("status=VALID") == [good]
    assert await ids(f"article={odd}&status=QUARANTINED") == [odd]
    assert await ids(f"article={odd}&status=VALID") == []
    assert await ids("tool=Ferry&status=VALID") == await ids("status=VALID", "list_tool_documents", tool="Ferry")
    assert await ids(f"tool=Ferry&article={odd}") == [odd]
    await call("add_tool", body={"name": "Nobody"})
    assert await ids(f"tool=Nobody&article={odd}") == []
    first = (await call("list_documents", "tool=Ferry&limit=1")).json
    rest = (await call("list_documents", f"tool=Ferry&limit=1&cursor={first['next']}")).json
    assert sorted(each["source_id"] for each in (*first["items"], *rest["items"])) == sorted([good, odd])
    assert (await call("list_documents", "status=LOST")).status == 400
    assert (await call("list_documents", "tool=Nothing")).status == 404
    stored = await existing(reading.store, ARTICLES.name, odd, "article")
    await reading.store.upsert(ARTICLES.name, {**stored, "status": "odd"})
    assert sorted(await ids("tool=Ferry")) == sorted([good, odd])


async def test_eligible_documents_are_listed_in_the_order_of_their_tries(reading: Container) -> None:
    now, articles = reading.clock(), await listed()
    good, odd = articles[HEADLINE]["source_id"], articles[ODD]["source_id"]

    async def planned(source_id: str, minutes: int) -> None:
        stored = await existing(reading.store, DOCUMENTS.name, source_id, "DOCUMENT")
        at = format_time(now + timedelta(minutes=minutes))
        await reading.store.upsert(DOCUMENTS.name, {**stored, "created_at": at, "next_eligible_attempt_at": at})

    await planned(good, -5)
    await planned(odd, -9)
    assert (await ids("eligible=true"), await ids("")) == ([odd, good], [good, odd])
    await planned(good, 9)
    first = (await call("list_documents", "eligible=true&limit=1")).json
    assert ([each["source_id"] for each in first["items"]], bool(first["next"])) == ([odd], True)
    rest = (await call("list_documents", f"eligible=true&limit=1&cursor={first['next']}")).json
    assert (rest["items"], rest["next"]) == ([], None)
    await planned(odd, 9)
    assert (await call("list_documents", "eligible=true&limit=1")).json == {"items": [], "next": None}


async def test_a_document_that_is_tried_again_as_planned_is_no_lost_message(
    reading: Container, caplog: pytest.LogCaptureFixture
) -> None:
    now = reading.clock()
    for document in await query_all(reading.store, DOCUMENTS.name, Query(limit=10)):
        due = {**document, "next_eligible_attempt_at": format_time(now - timedelta(hours=2))}
        await reading.store.upsert(DOCUMENTS.name, due)
    caplog.set_level(logging.INFO)
    await reading.operations.upkeep.run()
    assert '"event": "overdue_work_announced", "stage": "documents", "items": 2' in caplog.text
    assert "sent_again" not in caplog.text
