"""Commands on a data folder: without an app, the command does the work itself; beside an app, the app does it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from scripts.demo import MARK
from scripts.local_host.data import DataFolder
from services.ports import Query, utc_now
from services.store.containers import MENTIONS, SIGNALS
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import signal
from tests.functional.cli.commands import Cli
from tests.functional.cli.conftest import OFF
from tests.functional.cli.outlets import TICKER, WIRE
from tests.functional.stories.world import LEAD, OTHER, OUTAGE, OUTAGE_TOO, World
from tests.hosting import ROOT, host_environment, running_host

pytestmark = pytest.mark.asyncio(loop_scope="module")
PRIVATE = ("--set", "ALLOW_PRIVATE_ADDRESSES=true")


def on(folder: Path, *more: str) -> Cli:
    return Cli(("--data", str(folder), *more))


async def ingested(folder: Path, base: str) -> Cli:
    """A folder with the articles of two feeds, analysed."""
    cli = on(folder, *PRIVATE)
    for name in ("wire", "ticker"):
        await cli.run("feeds", "add", f"{base}/{name}", "--id", name)
    await cli.run("ingest")
    return cli


async def test_a_command_without_an_app_does_the_work_that_follows(tmp_path: Path, base: str) -> None:
    cli = await ingested(tmp_path, base)
    found = await cli.json("articles", "list", "--limit", "0")
    assert ({each["status"] for each in found}, len(found)) == ({"analyzed"}, len({*WIRE, *TICKER}))
    assert {(each["messages"], each["poison"]) for each in await cli.json("queues", "list")} == {(0, 0)}
    tool_id = (await cli.run("tools", "add", "Hexwharf")).strip()
    assert "backfill_tools SUCCEEDED: 4 articles, 4 mentions" in cli.said
    (aggregate,) = await cli.json("sentiment", "hexwharf")
    assert (aggregate["tool_id"], aggregate["total_mentions"]) == (tool_id, 4)
    looked = await cli.run("watch", "--times", "1")
    assert "Hexwharf" in looked


async def test_ingest_exports_either_layer_and_says_which_fetches_failed(tmp_path: Path, base: str) -> None:
    cli = on(tmp_path, *PRIVATE)
    for name in ("wire", "ticker", "page"):
        await cli.run("feeds", "add", f"{base}/{name}", "--id", name)
    articles, raw = tmp_path / "articles.json", tmp_path / "raw.json"
    stored = len({*WIRE, *TICKER})
    told = await cli.run("ingest", "--export", str(articles))
    assert told == f"feeds: 3, new articles: {stored}, known from another source: 1, errors: 1\n"
    assert cli.said.splitlines()[0] == "  page: body: a web page, not a feed"
    assert {each["status"] for each in json.loads(articles.read_text())} == {"analyzed"}
    assert "new articles: 0" in await cli.run("ingest", "--raw-all-sources", "--export", str(raw))
    assert len(json.loads(raw.read_text())) == len(WIRE) + len(TICKER)
    for nowhere in (tmp_path, tmp_path / "none" / "x.json"):
        assert await cli.run("ingest", "--export", str(nowhere), code=1) == ""
        assert "must be a file in an existing folder" in cli.said
    found = await cli.json("ingest", "--tag", "nothing")
    assert found == {"feeds": 0, "articles_stored": 0, "collisions_detected": 0, "errors": 0}


async def test_ingest_fails_if_every_fetch_did(tmp_path: Path, base: str) -> None:
    cli = on(tmp_path)
    await cli.run("feeds", "add", f"{base}/wire", "--id", "wire")
    assert "errors: 1" in await cli.run("ingest", code=1)
    assert "ALLOW_PRIVATE_ADDRESSES" in cli.said
    assert cli.said.splitlines()[-1].startswith("no feed could be fetched: ")
    (tmp_path / MARK).write_text(json.dumps({"port": int(base.rpartition(":")[2])}))
    assert "new articles: 6, " in await cli.run("ingest"), "the demo's own port may be fetched"


async def test_the_app_that_runs_on_the_folder_gets_the_requests(tmp_path: Path, base: str) -> None:
    key, management_key = "k" * 24, "m" * 32
    settings = {**OFF, "DATA_DIR": str(tmp_path), "ALLOW_PRIVATE_ADDRESSES": "true"}
    settings |= {"FUNCTION_KEYS": key, "MANAGEMENT_KEY": management_key}
    async with running_host(data=tmp_path, settings=settings):
        without = on(tmp_path)
        await without.run("tools", "list", code=4)
        assert "needs a function key: set TOOLPULSE_KEY" in without.said
        cli = Cli(("--data", str(tmp_path)), {"TOOLPULSE_KEY": key, "TOOLPULSE_MANAGEMENT_KEY": management_key})
        await cli.run("feeds", "add", f"{base}/wire", "--id", "wire")
        await cli.run("ingest")
        statuses = {"pending"}
        async with asyncio.timeout(300):
            while statuses != {"analyzed"}:
                statuses = {each["status"] for each in await cli.json("articles", "list", "--limit", "0")}
        assert "0 differences" in await cli.run("audit")
        await cli.run("--set", "LOG_LEVEL=INFO", "tools", "list", code=1)
        assert "settings of its own" in cli.said


async def test_commands_wait_for_each_other(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    waiting = asyncio.create_task(on(tmp_path).run("tools", "list"))
    await asyncio.sleep(0)
    folder.close()
    assert await waiting == ""


async def test_differences_are_listed_with_exit_code_1(tmp_path: Path, base: str) -> None:
    cli = await ingested(tmp_path, base)
    for name in ("Hexwharf", "Quorvia"):
        await cli.run("tools", "add", name)
    sound = await cli.run("audit")
    assert sound.endswith(" documents checked, 0 differences\n")
    assert {"articles ...", "tools ..."} <= set(cli.said.splitlines())
    tool_id = await _damage(tmp_path)
    report = await cli.json("audit", code=1)
    kinds = {each["kind"] for each in report["differences"]}
    assert {"mention_missing", "hour_differs"} <= kinds
    of_tool = await cli.run("audit", "--tool", tool_id, code=1)
    assert "hour_differs" in of_tool
    await cli.run("audit", "--tool", "no tool has this name", code=1)
    assert "no tool has this name" in cli.said


async def _damage(folder: Path) -> str:
    """Loses a mention. Returns its tool."""
    store = SqliteStore(folder / "toolpulse.db", utc_now)
    mention = (await store.query(MENTIONS.name, Query(limit=1))).items[0]
    await store.delete(MENTIONS.name, mention["tool_id"], mention["id"])
    await store.close()
    return str(mention["tool_id"])


async def test_migrations_are_listed_and_run(tmp_path: Path) -> None:
    cli = on(tmp_path)
    assert {each["state"] for each in await cli.json("migrate", "--list")} == {"pending"}
    assert {each["state"] for each in await cli.json("migrate")} == {"done"}
    assert await cli.run("migrate") == ""
    assert cli.said == "nothing to do: every migration has been run\n"


async def test_stories_are_listed_and_one_is_shown_with_why_each_article_is_in_it(tmp_path: Path) -> None:
    cli = on(tmp_path)
    assert await cli.run("stories", "list") == ""
    assert cli.said == "There are none.\n"
    watch = Watch(datetime.now(UTC).replace(microsecond=0))
    store = SqliteStore(tmp_path / "toolpulse.db", watch)
    world = World(store, watch)
    tool = await world.tool("Hexwharf")
    first = await world.analysed(90, OUTAGE, LEAD)
    second = await world.analysed(80, OUTAGE_TOO)
    await world.analysed(70, OTHER)
    await world.group()
    event = (await world.read(first)).event_id or ""
    await store.upsert(SIGNALS.name, signal(created_at=watch(), event_id=event, tool_id=tool.tool_id).to_document())
    await store.close()
    for more in ([], ["--tool", "hexwharf", "--state", "open", "--text", "outage", "--min-articles", "2"]):
        (listed,) = await cli.json("stories", "list", *more)
        assert (listed["event_id"], listed["article_count"]) == (event, 2)
    assert event in await cli.run("stories", "list")
    assert await cli.run("stories", "list", "--state", "closed") == ""
    shown = await cli.run("stories", "show", "outage")
    assert [part in shown for part in (OUTAGE, OUTAGE_TOO, "begins the story", "same_event", "Hexwharf")] == [True] * 5
    assert len((await cli.json("stories", "show", event))["members"]) == 2
    assert "same_event" in await cli.run("stories", "ledger", event)
    await cli.run("stories", "show", "story:x", code=5)
    assert "story: there is none" in cli.said
    (found,) = await cli.json("signals", "--tool", "hexwharf", "--kind", "NEW")
    assert (found["tool"], found["headline"], found["kind"]) == ("Hexwharf", OUTAGE, "NEW")
    assert "A new story" in await cli.run("signals")
    assert await cli.run("signals", "--state", "withdrawn") == ""
    await cli.run("stories", "split", event, second, "--author", "Ada")
    assert [each["kind"] for each in await cli.json("corrections", "list")] == ["SPLIT_STORY"]


@pytest.mark.parametrize("arguments", [["health"], ["tools", "list", "--json"], ["--help"], ["feeds", "--help"]])
async def test_a_reader_that_ends_first_is_no_error_message(tmp_path: Path, arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "toolpulse", "--data", str(tmp_path), *arguments),
        stdout=writing, stderr=asyncio.subprocess.PIPE, env=host_environment({"PYTHONPATH": str(ROOT)}),
    )  # fmt: skip
    os.close(writing)
    _, errors = await asyncio.wait_for(process.communicate(), 30)
    assert (process.returncode, errors) == (141, b"")
