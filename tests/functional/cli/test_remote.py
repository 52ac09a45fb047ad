"""Commands against a running app at a URL, with its keys: feeds, articles, tools, figures, corrections, exports."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import pytest_asyncio

from tests.functional.api.test_demo import until
from tests.functional.cli.commands import Cli
from tests.functional.cli.outlets import SHARED, TICKER, TOOLS, WIRE
from tests.hosting import RunningHost

IDS = ("wire", "ticker", "page")
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def tools(cli: Cli, base: str) -> list[str]:
    """Ingests the feeds, and adds the tools. Returns their names."""
    for outlet, name, priority in (("wire", "The Wire", "1"), ("ticker", "Tickerline", "2"), ("page", "Brochure", "3")):
        said = ["--name", name, "--id", outlet, "--source-priority", priority]
        assert await cli.run("feeds", "add", f"{base}/{outlet}", *said) == f"{outlet}\n"
    # An app that has just started may have fetched the first of them already.
    assert (await cli.run("ingest")).startswith("feeds: 3, new articles: ")
    assert "page" in cli.said
    headlines = [each["headline"] for each in await cli.json("articles", "list", "--limit", "0")]
    assert sorted(headlines) == sorted({*WIRE, *TICKER})
    for name in TOOLS:
        await cli.run("tools", "add", name)
        assert "backfill_tools SUCCEEDED: " in cli.said
    return list(TOOLS)


async def test_feeds_are_listed_shown_and_changed_by_name(cli: Cli, tools: list[str], base: str) -> None:
    assert (await cli.run("feeds", "add", f"{base}/wire/")).strip() == "wire"
    assert "already known" in cli.said
    listed = await cli.json("feeds", "list", "--sort", "name", "--reverse")
    assert [each["feed_id"] for each in listed if each["feed_id"] in IDS] == ["ticker", "wire", "page"]
    assert (await cli.json("feeds", "show", "the wire"))["feed_id"] == "wire"
    shown = await cli.run("feeds", "list", "--text", "wire")
    assert [line.split("  ")[0] for line in shown.splitlines()] == ["source_name", "-----------", "The Wire"]
    assert await cli.run("feeds", "change", "Tickerline", "--tag", "A / B", "--priority", "2") == "ticker\n"
    assert [each["priority"] for each in await cli.json("feeds", "list", "--tag", "A/B")] == [2]
    await cli.run("feeds", "change", "Tickerline", "--source-priority", "7")
    assert "apply_source_priority SUCCEEDED: " in cli.said
    health = await cli.run("feeds", "health")
    assert health.splitlines()[2].startswith("Brochure")
    assert f"{health.splitlines()[2].split()[1]}: " in cli.said, "the advice follows"
    history = await cli.json("feeds", "history", "Tickerline", "--status", "SUCCEEDED")
    assert history[0]["articles_new"] > 0
    await cli.run("feeds", "fetch", "Tickerline")
    assert "ingest_feeds SUCCEEDED: " in cli.said
    assert (await cli.json("feeds", "preview", f"{base}/wire"))["is_feed"]
    assert "is_feed" in await cli.run("feeds", "preview", f"{base}/page", code=1)
    bulk = await cli.json("feeds", "bulk", "disable", "--text", "Brochure", "--dry-run")
    assert [(each["feed_id"], each["outcome"]) for each in bulk] == [("page", "changed")]
    await cli.run("feeds", "add", "https://example.com/temporary", "--id", "temporary", "--disabled")
    await cli.run("feeds", "delete", "temporary")
    await cli.run("feeds", "show", "temporary", code=5)


async def test_lists_go_in_and_out_and_what_is_refused_is_told_by_line(
    cli: Cli, tools: list[str], tmp_path: Path
) -> None:
    feeds = tmp_path / "feeds.yaml"
    feeds.write_text("feeds:\n- {url: 'https://a.example/feed', source_name: A}\n- {url: nonsense, source_name: B}\n")
    told = await cli.run("feeds", "apply", str(feeds), code=1)
    assert told.startswith("1 added, 0 changed, 0 unchanged\n+ ")
    assert cli.said.startswith("line 3: B nonsense: url: must be")
    assert (await cli.run("import", str(feeds), code=1)).startswith("0 added, 0 changed, 1 unchanged")
    opml = tmp_path / "feeds.opml"
    await cli.run("feeds", "export", str(opml))
    assert await cli.run("feeds", "export") != ""
    urls = [each.get("xmlUrl") for each in ElementTree.parse(opml).iter("outline") if each.get("xmlUrl")]
    assert "https://a.example/feed" in urls
    assert (await cli.run("import", str(opml))).startswith("0 added, 0 changed, ")
    (tmp_path / "bad.opml").write_text('<opml><body>\n<outline text="A" xmlUrl="nonsense"/></body></opml>')
    await cli.run("import", str(tmp_path / "bad.opml"), code=1)
    assert cli.said.startswith("line 2: A nonsense: url: must be")
    listed = tmp_path / "tools.yaml"
    listed.write_text(f"tools:\n- name: {json.dumps(tools[0])}\n- name: Brandnew\n- nam: x\n")
    told = await cli.run("import", str(listed), code=1)
    assert told.startswith("1 added, 0 changed, 1 unchanged\n+ ")
    assert told.rstrip().endswith("Brandnew")
    assert "line 4: " in cli.said
    assert "backfill_tools SUCCEEDED" in cli.said
    await cli.run("tools", "change", "Brandnew", "--change", '{"status": "DEPRECATED"}')
    await cli.run("feeds", "bulk", "disable", "--host", "a.example")


async def test_a_feed_is_added_by_a_preset_with_tags(cli: Cli) -> None:
    presets = await cli.json("feeds", "presets")
    assert presets[0].keys() >= {"preset", "about", "url", "source_name", "values"}
    assert "owner=astral-sh repository=uv" in await cli.run("feeds", "presets")
    added = await cli.json(
        "feeds", "add", "--preset", "hacker-news", "--value", "query=a=b & c", "--tag", "X", "--disabled"
    )
    assert added["url"] == "https://hnrss.org/newest?q=a%3Db%20%26%20c"
    assert await cli.json("feeds", "list", "--tag", "X", "--disabled")
    assert await cli.json("feeds", "list", "--tag", "X", "--enabled") == []


async def test_articles_are_found_shown_with_names_and_corrected(cli: Cli, tools: list[str]) -> None:
    of_tool = await cli.json("articles", "list", "--tool", tools[0].upper(), "--limit", "0")
    assert {each["status"] for each in of_tool} == {"analyzed"}
    assert [each["source_id"] for each in await cli.json("articles", "list", "--limit", "1")] != []
    assert "There are more than 1: see --limit" in cli.said
    (article,) = await cli.json("articles", "list", "--text", f'"{SHARED}"')
    shown = await cli.run("articles", "show", article["source_id"], "--layer", "raw")
    assert all(part in shown for part in (article["headline"], "The Wire", "Tickerline", "observations"))
    assert (await cli.json("articles", "show", f'"{article["headline"]}"'))["source_id"] == article["source_id"]
    assert " +1  " in await cli.run("articles", "list", "--feed", "Tickerline", "--limit", "0")
    ledger = await cli.run("articles", "ledger", article["source_id"])
    assert "first" in ledger
    correction = (await cli.run("articles", "split", article["source_id"], "Tickerline", "--author", "Ada")).strip()
    (listed,) = await cli.json("corrections", "list", "--state", "active")
    assert (listed["correction_id"], listed["kind"]) == (correction, "SPLIT_ARTICLE")
    assert (await cli.json("corrections", "show", correction))["author"] == "Ada"
    assert (await cli.json("corrections", "undo", correction, "--author", "Ada"))["state"] == "undone"
    await cli.run("documents", "show", of_tool[0]["source_id"], code=5)
    assert "full text" in cli.said or "document" in cli.said


async def test_a_page_that_waits_for_a_person_is_listed_and_read(cli: Cli, tools: list[str], host: RunningHost) -> None:
    (article,) = await cli.json("articles", "list", "--text", "harbour reopens")
    own = article["source_id"]
    await cli.run("documents", "acquire", own)
    held = await until(host, lambda: cli.json("documents", "list", "--status", "QUARANTINED"), bool)
    assert [each["source_id"] for each in held] == [own]
    assert "/ticker/2" in await cli.run("documents", "list")
    shown = await cli.run("documents", "show", own)
    assert all(each in shown for each in ("no heading of the page", "QUARANTINE_CONTEXT:context", "acquire_documents"))
    assert (await cli.run("documents", "read", own, "QUARANTINE_CONTEXT")).splitlines()[-1] == "Hello"
    item = held[0]["quarantine_id"]
    assert "Hello" in await cli.run("quarantine", "preview", item)
    await cli.run("quarantine", "review", item, "CLEARED_TERMINAL", "--author", "Ada", "--reason", "no article")
    assert await cli.json("documents", "list", "--status", "QUARANTINED") == []


async def test_an_article_is_deleted_by_its_id_only(cli: Cli, tools: list[str]) -> None:
    (doomed,) = [each["source_id"] for each in await cli.json("articles", "list", "--text", "weather mild")]
    await cli.run("articles", "delete", "weather mild", "--yes", code=5)
    await cli.run("articles", "delete", doomed, "--yes")
    await cli.run("articles", "show", doomed, code=5)


async def test_figures_are_shown_with_what_they_count(cli: Cli, tools: list[str]) -> None:
    table = await cli.run("sentiment", "--period", "DAY_7")
    assert table.splitlines()[0].split()[:2] == ["tool", "total_mentions"]
    assert tools[0] in table
    assert any(bar in table for bar in "▁▂▃▄▅▆▇█")
    (aggregate,) = await cli.json("sentiment", tools[0], "--period", "DAY_30")
    mentions = await cli.json("mentions", tools[0], "--limit", "0")
    assert aggregate["total_mentions"] + aggregate["unscored_mentions"] == len(mentions) > 0
    evidence = await cli.json("evidence", tools[0], "--period", "DAY_30", "--limit", "1")
    assert evidence[0]["source_id"] == mentions[0]["source_id"]
    article = mentions[0]["source_id"]
    assert (await cli.json("explain", tools[0], article))["mention"]["source_id"] == article
    assert tools[0] in await cli.run("explain", tools[0], article)
    assert len((await cli.json("movement", tools[0]))["stories"]) > 0
    assert "present: " in await cli.run("movement", tools[0], "--shift-hours", "24")
    assert await cli.run("mentions", tools[0], "--until", "2020-01-01T00:00:00Z") == ""
    days = await cli.json("history", tools[0], "--days", "3")
    assert (days["step"], len(days["items"])) == ("day", 3)
    told = await cli.told("history", tools[0], "--step", "hour", "--days", "1")
    assert "in all: " in told
    assert "tool" in (await cli.run("history", *tools[:2])).splitlines()[0]
    assert "source" in (await cli.run("history", tools[0], "--layer", "raw")).splitlines()[0]
    assert "present" in await cli.run("history", tools[0], "--close", days["items"][-1]["day"])
    looked = await cli.run("watch", tools[0], "--period", "DAY_7", "--times", "2", "--every", "1")
    assert tools[0] in looked
    assert (await cli.json("cache", "health"))["total_entries"] > 0
    await cli.run("cache", "refresh")
    assert "refresh_cache SUCCEEDED" in cli.said
    await cli.run("cache", "delete", tools[0])
    assert f"deleted: the entries of {tools[0]}" in cli.said


async def test_mentions_are_judged_listed_exported_and_undone(cli: Cli, tools: list[str], tmp_path: Path) -> None:
    tool = tools[0]
    article = (await cli.json("mentions", tool))[0]["source_id"]
    command = ("corrections", "judge", tool, article, "neutral")
    await cli.run(*command, code=2)
    assert "--author" in cli.said
    assert (await cli.run(*command, "--author", "Ada", "--reason", "plain news")).strip() == article
    told = await cli.run("corrections", "list", tool)
    assert article in told
    assert "reviewed: 1, about the tool: 1" in told
    (listed,) = await cli.json("corrections", "list", tool, "--state", "active")
    assert (listed["verdict"], listed["reason"]) == ("neutral", "plain news")
    line = await cli.run("corrections", "export")
    await cli.run("corrections", "export", str(tmp_path / "labels.ndjson"))
    assert (tmp_path / "labels.ndjson").read_text() == line
    assert (json.loads(line)["label"], json.loads(line)["source_id"]) == ("neutral", article)
    await cli.run("corrections", "export", str(tmp_path), code=1)
    await cli.run("corrections", "undo", article, "--tool", tool, "--author", "Ada")
    assert await cli.json("corrections", "list", tool, "--state", "undone")
    muted = (await cli.run("corrections", "mute", tool, "Tickerline", "--author", "Ada")).strip()
    assert muted == "SOURCE:ticker"
    assert "backfill_tools SUCCEEDED: " in cli.said
    await cli.run("corrections", "exclude", tool, f"{tool} Street", "--author", "Ada")
    assert len((await cli.run("corrections", "list", tool)).splitlines()) == 5
    await cli.run("corrections", "undo", muted, "--tool", tool, "--author", "Ada")
    await cli.run("corrections", "undo", "nothing", "--tool", tool, "--author", "Ada", code=5)


async def test_tools_are_tried_changed_compared_and_merged(cli: Cli, tools: list[str]) -> None:
    target, other = tools[0], tools[-1]
    tried = await cli.json("tools", "preview", target, "--alias", f"{target} tool")
    assert (tried["taken_by"], tried["complete"], tried["would_remove"]) == ({}, True, 0)
    told = await cli.run("tools", "preview", target, "--change", json.dumps({"excluded": [target]}))
    assert f"0 of {tried['articles_looked_at']} articles would be added, " in told
    assert "\n  - " in told
    assert f"{other} already names the tool {other}" in await cli.told(
        "tools", "preview", target, "--alias", other, code=1
    )
    await cli.run("tools", "preview", target, "--change", "[]", code=2)
    tool_id = (await cli.run("tools", "change", other, "--alias", "QV", "--ticker", "QRVA")).strip()
    assert (await cli.json("tools", "show", "qv"))["tool_id"] == tool_id
    references = await cli.json("tools", "references", "qv", "--limit", "0")
    assert [each["role"] for each in references].count("DISCOVERY") == 1
    await cli.run("tools", "references", "qv", "--until", "2020-01-01T00:00:00Z")
    assert "There are no such references." in cli.said
    await cli.run("tools", "references", "qv", "--role", "first", code=2)
    await cli.run("tools", "reanalyze", "qv")
    compared = await cli.json("tools", "compare", "qv")
    assert compared["changed"] == 0 < compared["compared"]
    told = await cli.run("tools", "compare", "qv", "--analyzer", "embedded")
    assert f"0 of {compared['compared']} mentions would change" in told
    await cli.run("tools", "compare", "qv", "--analyzer", "candidate", code=1)
    assert "candidate needs SENTIMENT_CANDIDATE_FILE" in cli.said
    await cli.run("tools", "merge", "qv", target)
    assert "merge_tool SUCCEEDED: " in cli.said
    await cli.run("tools", "merge", "QV", target.lower(), code=6)
    assert [each["merged_name"] for each in await cli.json("tools", "merges", target)] == [other]


async def test_runs_are_listed_with_names_and_waited_for(cli: Cli, tools: list[str]) -> None:
    await cli.run("tools", "reanalyze", tools[0])
    listed = await cli.run("runs", "list", "--workflow", "reanalyze_tool", "--subject", tools[0])
    assert tools[0] in listed
    run_id = listed.splitlines()[2].split()[-1]
    assert (await cli.json("runs", "show", run_id[:8]))["run_id"] == run_id
    shown = await cli.run("runs", "show", run_id)
    assert "reanalyze_tool" in shown
    await cli.run("runs", "wait", "last")
    await cli.run("tools", "reanalyze", tools[0], "--no-wait")
    assert "does the work: `toolpulse runs wait " in cli.said
    await cli.run("runs", "wait", cli.said.split()[1])
    assert "reanalyze_tool SUCCEEDED" in cli.said
    await cli.run("runs", "show", "ffff", code=5)


async def test_what_an_operator_sees(cli: Cli, tools: list[str]) -> None:
    assert "database" in await cli.run("health")
    assert "toolpulse_articles_inserted_total" in await cli.run("metrics")
    assert {each["name"] for each in await cli.json("queues", "list")} >= {"ingest-feeds", "analyze-articles"}
    assert await cli.run("queues", "redrive", "ingest-feeds") == "ingest-feeds: 0 messages were sent back\n"
    await cli.run("queues", "redrive", "nothing", code=5)
    assert "ingest-feeds" in cli.said
    await cli.run("hosts", "list", "--working")
    await cli.run("hosts", "show", "nowhere.example", code=5)
    await cli.run("quarantine", "list")
    assert cli.said == "Nothing waits for a review.\n"
    await cli.run("quarantine", "preview", "nothing", code=5)
    await cli.run("quarantine", "review", "nothing", "drop", "--author", "Ada", "--reason", "none", code=5)
    lines = (await cli.run("sources")).splitlines()
    assert lines[0].split() == ["source_name", "article_count", "avg_age_hours"]
    assert len({len(line) for line in lines}) == 1, "aligned"
    assert (await cli.json("stories", "list", "--tool", tools[0], "--min-articles", "2")) is not None
    assert (await cli.json("signals", "--kind", "NEW", "--tool", tools[0])) is not None
    for command in ("audit", "migrate"):
        await cli.run(command, code=2)
        assert "--data DIR" in cli.said


async def test_csv_has_every_field_and_json_what_the_api_has(cli: Cli, tools: list[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(await cli.run("tools", "list", "--csv"))))
    listed = await cli.json("tools", "list")
    assert [row["name"] for row in rows] == [each["name"] for each in listed]
    assert set(rows[0]) == set(listed[0]) - {"links"}
    (row,) = csv.DictReader(io.StringIO(await cli.run("tools", "show", tools[0], "--csv")))
    assert row["name"] == tools[0]
    full = await cli.json("tools", "show", tools[0], "--full")
    assert set(full) > set(await cli.json("tools", "show", tools[0]))


async def test_an_export_is_written_and_continued_where_it_was_interrupted(
    cli: Cli, tools: list[str], tmp_path: Path
) -> None:
    file, state = tmp_path / "out.ndjson", tmp_path / "out.ndjson.state"
    await cli.run("export", str(file))
    whole = file.read_bytes()
    records = [json.loads(line) for line in whole.splitlines()]
    assert f"{len(records)} records, in " in cli.said
    file.write_bytes(whole + b'{"half a rec')
    await cli.run("export", str(file))
    assert (file.read_bytes(), "0 records, in " in cli.said) == (whole, True)
    await cli.run("export", str(file), "--layer", "raw", code=1)
    assert "is of an export of canonical as ndjson; use --restart" in cli.said
    state.unlink()
    await cli.run("export", str(file), code=1)
    assert "is not the state of its export; use --restart" in cli.said
    table = tmp_path / "mentions.csv"
    await cli.run("export", str(table), "--layer", "mentions", "--format", "csv")
    count = len(list(csv.reader(io.StringIO(table.read_text(), newline="")))) - 1
    assert f"{count} records" in cli.said
