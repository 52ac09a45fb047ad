"""Tools over HTTP: every endpoint with every answer that it has, and what their runs come to."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from models.tool import is_tool_id
from services import container
from services.container import Container
from services.mentions.analyzers.tables import TOOL_TABLE
from tests.documents import article, reading
from tests.functional.api.conftest import Answer, call, started


async def add(name: str, **fields: Any) -> dict[str, Any]:
    answer = await call("add_tool", body={"name": name, **fields})
    assert answer.status == 201, answer.body
    tool: dict[str, Any] = answer.json
    return tool


async def store(app: Container, number: int, headline: str, **fields: Any) -> str:
    """As ingestion does."""
    now = app.clock() - timedelta(minutes=number)
    one = article(
        dedup_key=f"{number:032x}",
        created_at=now,
        timestamp=now,
        analysis_due_since=now,
        matched_tickers=(),
        canonical=reading(headline=headline),
        **fields,
    )
    await app.store.create("articles", one.to_document())
    return one.source_id


async def carried_out(app: Container, answer: Answer) -> dict[str, Any]:
    """What the queue does with the message of a run, and the run as it is read."""
    (message,) = answer.sent
    assert answer.json["run_id"] == message["run_id"]
    while await app.workflows.driver.advance(message["run_id"]) is None:
        pass
    run: dict[str, Any] = (await call("get_run", run_id=message["run_id"])).json
    return run


async def test_a_tool_is_added_and_answers_to_id_name_and_alias(app: Container) -> None:
    fields = {"aliases": ["C Sharp"], "tickers": ["msft"], "keywords": ["Roslyn"], "excluded": ["C# minor"]}
    answer = await call("add_tool", body={"name": "C#", **fields})
    tool = answer.json
    assert (answer.status, answer.headers["Location"]) == (201, f"/api/v1/tools/{tool['tool_id']}")
    assert is_tool_id(tool["tool_id"])
    assert (tool["name"], tool["aliases"], tool["tickers"]) == ("C#", ["C Sharp"], ["MSFT"])
    assert (tool["status"], tool["keywords"], tool["excluded"]) == ("ACTIVE", ["Roslyn"], ["C# minor"])
    for text in (tool["tool_id"], "c#", "c  sharp"):
        assert (await call("get_tool", tool=text)).json["tool_id"] == tool["tool_id"]
    assert (await call("get_tool", tool="C")).status == 404
    again = await call("add_tool", body={"name": "c sharp"})
    assert (again.status, again.mimetype, again.sent) == (409, "application/problem+json", [])
    assert tool["tool_id"] in again.json["detail"]


@pytest.mark.parametrize("view", ["default", "full"])
async def test_sending_back_what_get_returned_changes_nothing(app: Container, view: str) -> None:
    await add("Quorvia", aliases=["QV"], name_rules={"QV": {"case_sensitive": True, "context": ["database"]}})
    before = (await call("get_tool", f"view={view}", tool="Quorvia")).json
    again = await call("change_tool", f"view={view}", body=before, tool="Quorvia")
    assert (again.status, {**before, **again.json}) == (200, before)
    assert (await call("get_tool", f"view={view}", tool="Quorvia")).json == before
    listed = (await call("list_tools", f"view={view}")).json["items"][0]
    assert {**before, **listed} == before
    tried = await call("preview_tool", body=before, tool="Quorvia")
    assert (tried.status, tried.json["would_add"]) == (200, 0)


async def test_tools_are_listed_by_name_in_pages_and_by_status(app: Container) -> None:
    for name in ("b", "A", "c"):
        await add(name)
    await call("change_tool", body={"status": "DEPRECATED"}, tool="c")
    first = (await call("list_tools", "limit=2")).json
    second = (await call("list_tools", f"limit=2&cursor={first['next']}")).json
    assert [each["name"] for each in (*first["items"], *second["items"])] == ["A", "b", "c"]
    assert second["next"] is None
    listed = (await call("list_tools", "status=DEPRECATED")).json["items"]
    assert [each["name"] for each in listed] == ["c"]


async def test_an_alias_is_tried_applied_and_backfilled(app: Container) -> None:
    await add("Quorvia", aliases=["QV"])
    named, other = await store(app, 1, "Quorvia is great"), await store(app, 2, "Qrvdb is a great success")
    await app.mentions.analysis.handle([named, other])
    tried = (await call("preview_tool", body={"aliases": ["QV", "QRVDB"]}, tool="qv")).json
    sample = tried["added"].pop()
    assert tried == {
        "would_add": 1,
        "would_remove": 0,
        "articles_looked_at": 2,
        "complete": True,
        "taken_by": {},
        "added": [],
        "removed": [],
    }
    assert sample.keys() == {"source_id", "headline", "timestamp", "matches"}
    assert sample["source_id"] == other
    assert sample["matches"] == [{"name": "Qrvdb", "kind": "ALIAS", "where": "HEADLINE", "cues": []}]

    same = await call("change_tool", body={"aliases": ["QV"]}, tool="Quorvia")
    assert (same.status, same.sent) == (200, [])
    changed = await call("change_tool", body={"aliases": ["QV", "QRVDB"]}, tool="Quorvia")
    assert (changed.status, changed.json["aliases"]) == (202, ["QV", "QRVDB"])
    assert changed.headers["Location"] == f"/api/v1/runs/{changed.json['run_id']}"
    run = await carried_out(app, changed)
    assert (run["status"], run["workflow_name"], run["progress"]) == ("SUCCEEDED", "backfill_tools", 2)
    articles = (await call("list_tool_articles", tool="qrvdb")).json
    assert [each["source_id"] for each in articles["items"]] == [named, other]
    assert articles["items"][1]["mention"]["sentiment"] == "positive"
    matches = [{"name": "Qrvdb", "kind": "ALIAS", "where": "HEADLINE", "positions": [[0, 5]]}]
    assert articles["items"][1]["mention"]["matches"] == matches


async def test_a_merge_is_listed_and_undone_by_taking_the_names_back(app: Container) -> None:
    old, new = await add("Hexwharf", aliases=["HXW"]), await add("Pebblegrid")
    articles = [await store(app, 1, "Hexwharf is great"), await store(app, 2, "Hexwharf beats Pebblegrid")]
    await app.mentions.analysis.handle(articles)
    body = {"into": "Pebblegrid", "author": "Ada", "reason": "the same"}
    assert (await carried_out(app, await call("merge_tool", body=body, tool="Hexwharf")))["status"] == "SUCCEEDED"
    merged = (await call("list_tools", "status=MERGED")).json["items"]
    assert [(each["tool_id"], each["merged_into"]) for each in merged] == [(old["tool_id"], new["tool_id"])]
    for into, status in (("Hexwharf", 409), ("nobody", 404)):
        assert (await call("merge_tool", body={"into": into}, tool="Pebblegrid")).status == status
    refused = await call("change_tool", body={"status": "DEPRECATED"}, tool=old["tool_id"])
    assert (refused.status, new["tool_id"] in refused.json["detail"]) == (409, True)
    for text in (old["tool_id"], "hxw"):
        assert (await call("get_tool", tool=text)).json["tool_id"] == new["tool_id"]
    for tool in (old, new):
        (merge,) = (await call("list_merges", tool=tool["tool_id"])).json["items"]
        assert (merge["author"], merge["reason"], merge["names"]) == ("Ada", "the same", ["Hexwharf", "HXW"])
    await carried_out(app, await call("change_tool", body={"aliases": []}, tool="Pebblegrid"))
    again = await call("add_tool", body={"name": "Hexwharf", "aliases": ["HXW"]})
    assert (again.status, again.json["tool_id"] == old["tool_id"]) == (201, False)
    await app.workflows.driver.advance(again.json["run_id"])
    for tool, of_tool in ((again.json, articles), (new, articles[1:])):
        listed = (await call("list_tool_articles", tool=tool["name"])).json["items"]
        assert sorted(each["source_id"] for each in listed) == of_tool


async def test_a_candidate_is_a_table_in_a_file(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    candidate = tmp_path / "candidate.json.gz"
    environment.setenv("SENTIMENT_CANDIDATE_FILE", str(candidate))
    app = await started()
    await add("Quorvia")
    body = {"apply": False, "analyzer": "candidate"}
    answer = await call("reanalyze_tool", body=body, tool="Quorvia")
    assert (answer.status, answer.json["field"]) == (400, "analyzer")
    assert "cannot be read" in answer.json["detail"]
    candidate.write_bytes(TOOL_TABLE.read_bytes())
    run = await carried_out(app, await call("reanalyze_tool", body=body, tool="Quorvia"))
    assert (run["status"], run["parameters"]["analyzer"]) == ("SUCCEEDED", "candidate")
    await container.close()


async def test_a_tools_articles_come_newest_first_without_those_that_were_deleted(app: Container) -> None:
    await add("Quorvia")
    articles = [await store(app, number, f"Quorvia is great, {number}") for number in range(1, 5)]
    await app.mentions.analysis.handle(articles)
    assert (await call("delete_article", article_id=articles[1])).status == 204
    first = (await call("list_tool_articles", "limit=2", tool="Quorvia")).json
    second = (await call("list_tool_articles", f"limit=2&cursor={first['next']}", tool="Quorvia")).json
    listed = [each["source_id"] for each in (*first["items"], *second["items"])]
    assert listed == [articles[0], articles[2], articles[3]]
    assert (await call("list_tool_articles", tool="nobody")).status == 404


async def test_a_tools_references_come_latest_first_by_role_and_time(app: Container) -> None:
    tool = await add("Quorvia")
    articles = [await store(app, number, f"Quorvia is great, {number}") for number in range(1, 4)]
    tagged = await store(app, 6, "Shares", tags=("quorvia",))
    await app.mentions.analysis.handle([*articles, tagged])
    page = (await call("list_tool_references", "limit=2", tool="quorvia")).json
    rest = (await call("list_tool_references", f"cursor={page['next']}", tool="Quorvia")).json
    listed = [*page["items"], *rest["items"]]
    assert [each["source_id"] for each in listed] == [*articles, tagged]
    assert (page["not_kept"], rest["next"]) == ({}, None)
    first = (await call("get_tool", tool="Quorvia")).json["discovery_reference"]
    (found,) = (await call("list_tool_references", "role=DISCOVERY", tool=tool["tool_id"])).json["items"]
    assert (found["source_id"], found["article_url"]) == (first, f"/api/v1/articles/{first}")
    later = (await call("list_tool_references", f"since={listed[1]['published_at']}", tool="Quorvia")).json["items"]
    assert [each["source_id"] for each in later] == articles[:2]
