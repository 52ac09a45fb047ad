"""Articles, runs, the quarantine and the export over HTTP."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

from models.stored import StoredDocument
from services.container import Container
from tests.documents import (
    alias,
    article,
    attempt,
    attribution,
    ingestion_batch,
    observation,
    quarantined,
    reading,
)
from tests.functional.api.conftest import call

# The app's clock is the real one, and what was stored long ago has expired.
NOW = datetime.now(UTC).replace(microsecond=0)
AGES: dict[str, Any] = {"created_at": NOW, "updated_at": NOW}


async def put(app: Container, *documents: StoredDocument) -> None:
    for each in documents:
        await app.store.upsert(each.CONTAINER, each.to_document())


async def test_an_article_is_the_specifications_with_its_canonical_reading_and_on_demand_its_observations(
    app: Container,
) -> None:
    both = {
        "sources": ("tiingo", "finnhub"),
        "source_attribution": {
            "tiingo": attribution(),
            "finnhub": attribution(article_id="abc", url="https://f.example/1"),
        },
        "canonical": reading(),
    }
    stored = article(**both, **AGES)
    await put(app, stored, alias(**AGES), observation(**AGES), observation(source="finnhub", **AGES))
    answer = await call("get_article", article_id=stored.source_id)
    body = answer.json
    assert answer.status == 200
    assert (body["source_id"], body["sources"]) == (stored.source_id, ["tiingo", "finnhub"])
    assert body["source_attribution"]["tiingo"]["article_id"] == "91144751"
    assert body["canonical"]["source"] == "tiingo"
    assert "observations" not in body
    raw = await call("get_article", "layer=raw", article_id="tiingo:91144751")
    assert sorted(each["source"] for each in raw.json["observations"]) == ["finnhub", "tiingo"]
    listed = await call("list_articles")
    assert listed.json == {"items": [{k: v for k, v in body.items() if k != "mentions"}], "next": None}


async def test_a_deleted_article_is_204_twice_and_404_to_readers(app: Container) -> None:
    stored = article(**AGES)
    await put(app, stored, observation(**AGES))
    for _ in range(2):
        gone = await call("delete_article", article_id=stored.source_id)
        assert (gone.status, gone.body) == (204, b"")
    assert (await call("get_article", article_id=stored.source_id)).status == 404
    assert (await call("list_articles")).json["items"] == []
    assert (await call("delete_article", article_id="dedup:" + "0" * 32)).status == 404


async def test_runs_are_listed_and_each_has_its_attempts(app: Container) -> None:
    await put(app, ingestion_batch(**AGES), attempt(**AGES, status="SUCCEEDED", duration_ms=12, status_code=200))
    (listed,) = (await call("list_runs")).json["items"]
    assert (listed["run_id"], listed["metrics"]["collisions_detected"], listed["errors"]) == ("5a4fce02", 20, [])
    alone = (await call("get_run", run_id="5a4fce02")).json
    assert alone == listed | {"attempts": alone["attempts"]}
    assert (alone["attempts"][0]["subject"], alone["attempts"][0]["status_code"]) == ("reuters-world", 200)
    assert (await call("get_run", run_id="nobody")).status == 404


async def test_each_layer_is_exported_as_lines_of_json_with_a_cursor_to_the_next_page(app: Container) -> None:
    for n in range(5):
        each = article(dedup_key=f"{n:032x}", timestamp=NOW - timedelta(minutes=n), **AGES)
        await put(app, each, observation(source_id=each.source_id, **AGES))
    for layer in ("canonical", "raw"):
        lines: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            page = await call("export_articles", f"layer={layer}&limit=2" + (f"&cursor={cursor}" if cursor else ""))
            assert (page.status, page.mimetype) == (200, "application/x-ndjson")
            lines += [json.loads(line) for line in page.body.decode().splitlines()]
            cursor = page.headers.get("X-Next-Cursor")
        assert sorted(line["source_id"] for line in lines) == [f"dedup:{n:032x}" for n in range(5)]
        assert all(line["entity_type"] == ("Article" if layer == "canonical" else "Observation") for line in lines)


async def test_an_export_as_csv_has_one_header_and_no_formulas(app: Container) -> None:
    for n in range(3):
        each = article(dedup_key=f"{n:032x}", **AGES)
        await put(app, each, observation(source_id=each.source_id, text='=HYPERLINK("https://x.example")', **AGES))
    page = await call("export_articles", "layer=raw&format=csv&limit=2")
    assert (page.status, page.mimetype) == (200, "text/csv")
    text, cursor = page.body.decode(), page.headers["X-Next-Cursor"]
    text += (await call("export_articles", f"layer=raw&format=csv&limit=2&cursor={cursor}")).body.decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert sorted(each["source_id"] for each in rows) == [f"dedup:{n:032x}" for n in range(3)]
    assert {each["text"] for each in rows} == {'\'=HYPERLINK("https://x.example")'}


async def test_a_quarantined_batch_is_listed_and_queued_when_it_is_released(app: Container) -> None:
    item = quarantined(**AGES)
    await put(app, item)
    (listed,) = (await call("list_quarantine", "status=PENDING")).json["items"]
    assert (listed["quarantine_id"], listed["reason_code"], listed["item_count"]) == (item.quarantine_id, "FLOOD", 60)
    assert listed["payload"] == item.payload
    signed = {"author": "Ann", "reason": "a new CMS"}
    wrong = await call("review_quarantine", body={**signed, "decision": "YES"}, quarantine_id=item.quarantine_id)
    assert (wrong.status, wrong.json["field"], wrong.sent) == (400, "decision", [])
    preview = await call("preview_quarantine", quarantine_id=item.quarantine_id)
    assert (preview.status, list(preview.json["effects"])) == (200, ["same_articles_new_ids", "new_articles", "drop"])
    body = {**signed, "decision": "same_articles_new_ids"}
    approved = await call("review_quarantine", body=body, quarantine_id=item.quarantine_id)
    assert (approved.status, approved.json["manual_review_status"]) == (200, "CLEARED_RETRY_APPROVED")
    assert (approved.json["reviewed_by"], approved.json["review_note"]) == ("Ann", "a new CMS")
    assert approved.sent == [{"run_id": approved.json["run_id"]}]
    assert (await call("get_run", run_id=approved.json["run_id"])).status == 200
    assert (await call("review_quarantine", body=body, quarantine_id=item.quarantine_id)).status == 200
    refused = await call("review_quarantine", body={**body, "decision": "drop"}, quarantine_id=item.quarantine_id)
    assert (refused.status, refused.sent) == (409, [])
    assert (await call("preview_quarantine", quarantine_id=item.quarantine_id)).status == 409
    for name in ("review_quarantine", "preview_quarantine"):
        assert (await call(name, body=body, quarantine_id="nobody")).status == 404


async def test_the_root_lists_the_collections_as_links(app: Container) -> None:
    root = (await call("list_collections")).json
    assert root["version"]
    for name in ("tools", "feeds", "articles", "stories", "signals", "runs"):
        assert root["links"][name] == f"/api/v1/{name}"
        assert (await call(f"list_{name}")).status == 200
