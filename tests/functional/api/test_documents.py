"""Full texts over the HTTP and queue functions, from a feed that asks for them to the deleted article."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import azure.functions as func
import pytest

from models.values import format_time
from services.container import Container
from services.documents.documents import DOCUMENTS_STAGE
from services.ports import Query, query_all
from services.store.containers import DOCUMENTS
from tests.functional.api.conftest import FUNCTIONS, call
from tests.functional.api.world import app_with_feeds
from tests.functional.documents.world import HEADLINE, html

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
    assert not any("archive" in name for name in shown)

    held = (await call("get_document", article_id=odd["source_id"])).json
    assert (held["validation_status"], held["manual_review_status"]) == ("QUARANTINED", "PENDING")
    refused = await call("acquire_document", article_id=odd["source_id"], body={})
    assert refused.status == 409
    assert held["quarantine_id"] in refused.json["detail"]
    assert (await call("preview_quarantine", quarantine_id=held["quarantine_id"])).status == 400
    review = {"decision": "CLEARED_TERMINAL", "author": "Ann", "reason": "not an article"}
    assert (await call("review_quarantine", quarantine_id=held["quarantine_id"], body=review)).status == 200
    dropped = (await call("get_document", article_id=odd["source_id"])).json
    assert (dropped["validation_status"], dropped["eligibility"]) == ("TERMINAL_INVALID", "NONE")

    again = await call("acquire_document", article_id=good["source_id"], body={})
    assert (again.status, again.json["eligibility"]) == (202, "ACQUIRE")
    assert [each["source_ids"] for each in again.sent] == [[good["source_id"]]]
    assert (await call("delete_article", article_id=good["source_id"])).status == 204
    assert (await call("get_document", article_id=good["source_id"])).status == 404


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
