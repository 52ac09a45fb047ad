"""Corrections over HTTP: every endpoint with every answer that it has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from services.container import Container
from tests.documents import feed
from tests.functional.api.conftest import Answer, call
from tests.functional.api.test_tools import add, carried_out, store


async def correct(tool: str, **body: Any) -> Answer:
    return await call("make_correction", tool=tool, body={"author": "Ada", **body})


@pytest.fixture
async def article(app: Container) -> str:
    await add("Quorvia")
    found = await store(app, 1, "Quorvia suffers a terrible outage")
    await app.mentions.analysis.handle([found])
    return found


async def figures(*names: str) -> list[Any]:
    figures = (await call("get_tool_sentiment", "period=DAY_30", tool="Quorvia")).json
    return [figures[name] for name in names]


async def test_a_mention_is_corrected_listed_read_and_undone(app: Container, article: str) -> None:
    assert await figures("total_mentions", "negative_count") == [1, 1]
    made = await correct("Quorvia", article=article, verdict="positive", reason="irony")
    assert made.status == 201
    assert made.headers["Location"].endswith(f"/corrections/{article}")
    assert (made.json["verdict"], made.json["label"], made.json["state"]) == ("positive", "positive", "active")
    assert (made.json["author"], made.json["reason"], made.json["said"]["sentiment"]) == ("Ada", "irony", "negative")
    assert await figures("total_mentions", "positive_count", "average_sentiment") == [1, 1, 1.0]
    (mention,) = (await call("list_tool_evidence", "period=DAY_30", tool="Quorvia")).json["items"]
    assert (mention["verdict"], mention["corrected"]) == ("positive", True)
    assert mention["analyzer_judgement"]["sentiment"] == "negative"

    read = await call("get_correction", tool="Quorvia", correction_id=article)
    listed = (await call("list_corrections", tool="Quorvia")).json
    assert listed["items"] == [read.json] == [made.json]
    assert (listed["next"], listed["precision"]["reviewed"], listed["precision"]["precision"]) == (None, 1, 1.0)
    assert listed["precision_of_all_tools"] == listed["precision"]
    assert listed["precision"]["sentiment_accuracy"] == 0.0
    assert (await call("get_tool", tool="Quorvia")).json["precision"] == listed["precision"]
    (line,) = (await call("export_corrections")).body.splitlines()
    assert (json.loads(line)["label"], json.loads(line)["source_id"]) == ("positive", article)

    undone = await call("undo_correction", tool="Quorvia", correction_id=article, body={"author": "Grace"})
    assert (undone.status, undone.json["undone_by"], undone.json["state"]) == (200, "Grace", "undone")
    assert await figures("total_mentions", "negative_count") == [1, 1]
    listed = (await call("list_corrections", "state=undone", tool="Quorvia")).json
    assert len(listed["items"]) == 1
    assert (listed["precision"]["reviewed"], listed["precision"]["precision"]) == (0, None)
    assert (await call("list_corrections", "state=active", tool="Quorvia")).json["items"] == []
    assert (await call("export_corrections")).body == b""
    again = await call("undo_correction", tool="Quorvia", correction_id=article, body={"author": "Ada"})
    assert again.json == undone.json


@pytest.mark.parametrize("body", [{"phrase": "Quorvia suffers"}, {"source": "tiingo", "verdict": "mute"}])
async def test_a_phrase_or_a_source_is_excluded_by_a_run_and_comes_back_by_another(
    app: Container, article: str, body: dict[str, str]
) -> None:
    await app.store.upsert("feeds", feed(feed_id="tiingo").to_document())
    made = await correct("Quorvia", **body)
    assert made.status == 202
    assert (await carried_out(app, made))["status"] == "SUCCEEDED"
    await app.mentions.analysis.handle([await store(app, 2, "Quorvia suffers again")])
    assert await figures("total_mentions") == [0]
    (listed,) = (await call("list_corrections", tool="Quorvia")).json["items"]
    assert listed["state"] == "active"
    tool = (await call("get_tool", tool="Quorvia")).json
    assert [*tool["excluded"], *tool["muted_sources"]] == [next(iter(body.values()))]
    name = made.json["correction_id"]
    undone = await call("undo_correction", tool="Quorvia", correction_id=name, body={"author": "Grace"})
    assert (undone.status, undone.json["undone_by"]) == (202, "Grace")
    assert (await carried_out(app, undone))["status"] == "SUCCEEDED"
    assert await figures("total_mentions") == [2]
    await correct("Quorvia", **body)
    removed = await call("change_tool", tool="Quorvia", body={"excluded": [], "muted_sources": []})
    assert removed.status == 202
    assert (await call("get_correction", tool="Quorvia", correction_id=name)).json["state"] == "outdated"


async def test_what_is_not_there_is_404_and_what_is_not_watched_is_409(app: Container, article: str) -> None:
    for name in ("nothing", "SOURCE:nothing", "a/b", " ", "a\x00b", f"{article} "):
        for endpoint, body in (("get_correction", None), ("undo_correction", {"author": "Ada"})):
            answer = await call(endpoint, tool="Quorvia", correction_id=name, body=body)
            assert (answer.status, "the tool has none" in answer.json["detail"]) == (404, True)
    assert (await call("list_corrections", tool="Nobody")).status == 404
    assert (await call("list_corrections", "state=gone", tool="Quorvia")).status == 400
    await correct("Quorvia", article=article, verdict="right")
    await call("change_tool", tool="Quorvia", body={"status": "DEPRECATED"})
    assert (await correct("Quorvia", article=article, verdict="neutral")).status == 409
    undoing = await call("undo_correction", tool="Quorvia", correction_id=article, body={"author": "Ada"})
    assert (undoing.status, "make it ACTIVE first" in undoing.json["detail"]) == (409, True)


async def test_corrections_and_labels_come_in_pages(app: Container) -> None:
    await add("Quorvia")
    articles = [await store(app, number, "Quorvia suffers a terrible outage") for number in (1, 2, 3)]
    await app.mentions.analysis.handle(articles)
    for each in articles:
        await correct("Quorvia", article=each, verdict="neutral")
    first = (await call("list_corrections", "limit=2", tool="Quorvia")).json
    second = (await call("list_corrections", f"limit=2&cursor={first['next']}", tool="Quorvia")).json
    assert ("precision" in first, "precision" in second) == (True, False)
    assert [each["correction_id"] for each in (*first["items"], *second["items"])] == sorted(articles)
    page = await call("export_corrections", "limit=2")
    rest = await call("export_corrections", f"limit=2&cursor={page.headers['X-Next-Cursor']}")
    assert [len(each.body.splitlines()) for each in (page, rest)] == [2, 1]
    assert "X-Next-Cursor" not in rest.headers
