"""The command line, as a person runs it: in a process of its own, on a store of its own, with feeds to fetch."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import aiohttp
import pytest

from scripts.demo import MARK
from scripts.demo.cast import PRODUCTS
from scripts.demo.newsroom import Newsroom
from scripts.demo.server import Newsstand, served
from services.topology import TIMERS
from tests.builders import Watch
from tests.hosting import ROOT, host_environment, running_host

NOW = datetime.now(UTC) - timedelta(minutes=5)


@dataclass
class Cli:
    data: Path
    settings: tuple[str, ...] = ("--set", "ALLOW_PRIVATE_ADDRESSES=true")

    async def run(self, *arguments: str, code: int = 0) -> str:
        """What it prints; fails if it ends with another code."""
        command = [str(ROOT / "scripts" / "cli.py"), "--data", str(self.data), *self.settings]
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=host_environment(),
            cwd=self.data,
        )
        out, errors = await asyncio.wait_for(process.communicate(), 30)
        assert process.returncode == code, errors.decode()
        self.said = errors.decode()
        return out.decode()

    async def ingested(self) -> dict[str, str]:
        """Ingests the feeds. Returns the products that headlines begin with, each with the article of one of them. The
        first has most headlines: of some thirty headlines and a dozen products, at least two."""
        exported = self.data / "articles.json"
        await self.run("ingest", "--all", "--export", str(exported))
        headlines = {each["headline"]: each["source_id"] for each in json.loads(exported.read_text())}
        named = {
            product.name: [article for headline, article in headlines.items() if headline.startswith(product.name)]
            for product in PRODUCTS
        }
        by_headlines = sorted(named.items(), key=lambda item: -len(item[1]))
        return {name: articles[0] for name, articles in by_headlines if articles}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture
async def base() -> AsyncIterator[str]:
    async with served(Newsstand(Watch(NOW), Newsroom(NOW, most=30)), 0) as base:
        yield base


async def test_feeds_are_added_ingested_and_exported_in_either_layer(cli: Cli, base: str) -> None:
    for outlet, name, priority in (
        ("demo-dev-wire", "The Dev Wire", "1"),
        ("demo-tickerline", "Tickerline", "2"),
        ("demo-brochure", "Brochureware", "3"),
    ):
        said = ["--name", name, "--id", outlet, "--source-priority", priority]
        assert await cli.run("feeds", "add", f"{base}/{outlet}/feed", *said) == f"{outlet}\n"
    assert (await cli.run("feeds", "add", f"{base}/demo-dev-wire/feed/")).strip() == "demo-dev-wire"

    exported = cli.data / "canonical.json"
    summary = await cli.run("ingest", "--all", "--export", str(exported))
    articles = json.loads(exported.read_text())
    assert f"new articles: {len(articles)}" in summary
    assert cli.said.count("demo-brochure") == 1 == cli.said.count("  demo-brochure: body: a web page, not a feed")
    both = [each for each in articles if len(each["sources"]) == 2]
    assert both
    assert all(each["canonical"]["source"] == "demo-dev-wire" for each in both)

    for nowhere in (cli.data, cli.data / "none" / "x.json"):
        assert await cli.run("ingest", "--all", "--export", str(nowhere), code=1) == ""
        assert "--export: must be a file" in cli.said

    raw = cli.data / "raw.json"
    again = await cli.run("ingest", "--all", "--raw-all-sources", "--export", str(raw))
    assert "new articles: 0" in again
    observations = json.loads(raw.read_text())
    assert len(observations) == 60 == len(articles) + len(both)
    assert {each["source_id"] for each in observations} == {each["source_id"] for each in articles}

    health = json.loads(await cli.run("feeds", "health", "--json"))
    assert health[0]["feed_id"] == "demo-brochure"
    lines = (await cli.run("sources")).splitlines()
    assert lines[0].split() == ["source_name", "article_count", "avg_age_hours"]
    assert len({line.rindex(line.split()[-1]) + len(line.split()[-1]) for line in lines}) == 1, "aligned"


async def test_articles_that_no_app_can_analyse_are_analysed_by_the_command(cli: Cli, base: str) -> None:
    await cli.run("tools", "add", "Quorvia")
    await cli.run("feeds", "add", f"{base}/demo-dev-wire/feed")
    exported = cli.data / "articles.json"
    await cli.run("ingest", "--all", "--export", str(exported))
    found = len(json.loads(exported.read_text()))
    assert f"it analyses {found} articles itself" in cli.said
    assert f"{found} of {found} articles analysed" in cli.said
    await cli.run("ingest", "--all", "--export", str(exported))
    assert {each["status"] for each in json.loads(exported.read_text())} == {"analyzed"}
    assert "analys" not in cli.said


async def test_articles_are_analysed_by_the_app_that_runs_beside_the_command(cli: Cli, base: str) -> None:
    """Its timers are off, so only the messages of the command can start its work."""
    off = {f"AzureWebJobs.{timer.name}.Disabled": "1" for timer in TIMERS}
    settings = {**off, "DATA_DIR": str(cli.data), "READ_AUTH_LEVEL": "anonymous"}
    async with running_host(data=cli.data, settings=settings) as host, aiohttp.ClientSession(host.url) as web:
        await cli.run("feeds", "add", f"{base}/demo-dev-wire/feed")
        await cli.run("ingest", "--all")
        assert "analys" not in cli.said
        statuses = {"pending"}
        async with asyncio.timeout(20):
            while statuses != {"analyzed"}:
                await asyncio.sleep(0.05)
                async with web.get("/api/v1/articles?limit=500") as response:
                    statuses = {each["status"] for each in (await response.json())["items"]}


async def test_what_the_demo_has_in_its_data_folder_is_fetched_from_there(tmp_path: Path, base: str) -> None:
    cli = Cli(tmp_path, settings=())
    await cli.run("feeds", "add", f"{base}/demo-dev-wire/feed", "--id", "demo-dev-wire")
    assert "errors: 1" in await cli.run("ingest", "--all", code=1)
    assert "ALLOW_PRIVATE_ADDRESSES" in cli.said
    assert cli.said.splitlines()[-1].startswith("no feed could be fetched: ")
    (tmp_path / MARK).write_text(json.dumps({"port": 1}))
    assert "errors: 1" in await cli.run("ingest", "--all", code=1)
    (tmp_path / MARK).write_text(json.dumps({"port": int(base.rpartition(":")[2])}))
    assert "new articles: 30, " in await cli.run("ingest", "--all")


async def test_ingest_succeeds_if_one_of_several_fetches_did_and_if_there_are_no_feeds(cli: Cli, base: str) -> None:
    await cli.run("ingest", "--all")
    await cli.run("feeds", "add", f"{base}/demo-dev-wire/feed")
    await cli.run("feeds", "add", f"{base}/nothing")
    assert "feeds: 2, new articles: 30, known from another source: 0, errors: 1" in await cli.run("ingest", "--all")


@pytest.mark.parametrize("arguments", [["feeds", "list"], ["feeds", "list", "--json"], ["--help"]])
async def test_a_reader_that_ends_first_is_no_error_message(cli: Cli, arguments: list[str]) -> None:
    await cli.run("feeds", "apply")
    reading, writing = os.pipe()
    os.close(reading)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(ROOT / "scripts" / "cli.py"), "--data", str(cli.data), *arguments),
        stdout=writing, stderr=asyncio.subprocess.PIPE, env=host_environment(),
    )  # fmt: skip
    os.close(writing)
    _, errors = await asyncio.wait_for(process.communicate(), 30)
    assert (process.returncode, errors) == (141, b"")


async def test_lists_go_in_and_out_and_what_is_refused_is_told_by_line(cli: Cli) -> None:
    said = (await cli.run("feeds", "apply")).splitlines()
    assert (said[0], said[1]) == ("9 added, 0 changed, 0 unchanged", "+ python-insider  Python Insider")
    assert await cli.run("feeds", "apply") == "0 added, 0 changed, 9 unchanged\n"
    outlines = (await cli.run("feeds", "export")).encode()
    assert len(ElementTree.fromstring(outlines).findall("body/outline")) == 9
    (cli.data / "bad.opml").write_text('<opml><body>\n<outline xmlUrl="nonsense"/></body></opml>')
    await cli.run("feeds", "import", str(cli.data / "bad.opml"), code=1)
    assert cli.said.startswith("line 2: nonsense: url: must be")
    (cli.data / "bad.opml").write_text('<opml><body>\n<outline text="A" xmlUrl="nonsense"/></body></opml>')
    await cli.run("feeds", "import", str(cli.data / "bad.opml"), code=1)
    assert cli.said.startswith("line 2: A (nonsense): url: must be")
    assert len(json.loads(await cli.run("feeds", "list", "--json"))) == 9


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["feeds", "add", "ftp://example.com/"], "url: must be"),
        (["feeds", "add", "nonsense"], "url: must be"),
        (["feeds", "add", "http://["], "url: must be"),
        (["feeds", "apply", __file__], "feeds: must be YAML, but cannot be parsed ("),
        (["tools", "apply", __file__], "tools: must be YAML, but cannot be parsed ("),
        (["feeds", "import", "nothing.opml"], "nothing.opml: No such file"),
        (["--set", "LOG_LEVEL=LOUD", "sources"], "LOG_LEVEL must be one of"),
    ],
)
async def test_what_is_wrong_is_said_in_one_line(cli: Cli, arguments: list[str], said: str) -> None:
    await cli.run(*arguments, code=1)
    assert said in cli.said
    assert len(cli.said.splitlines()) == 1


@pytest.mark.parametrize("setting", ["LOG_LEVEL", "=DEBUG"])
async def test_a_setting_without_a_name_or_a_value_is_refused(cli: Cli, setting: str) -> None:
    await cli.run("--set", setting, "sources", code=2)
    assert cli.said.endswith(f"argument --set: {setting!r} is not NAME=VALUE\n")


@pytest.mark.parametrize("script", ["cli.py", "migrate.py", "create_cache_container.py"])
async def test_a_python_without_the_packages_is_told_which_has_them(script: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-IS", str(ROOT / "scripts" / script), "--help", stderr=asyncio.subprocess.PIPE
    )
    _, errors = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 1
    assert len(errors.splitlines()) == 1
    assert b"The packages are not installed for this Python: start it as " in errors


async def test_an_export_is_written_and_continued_where_it_was_interrupted(cli: Cli, base: str) -> None:
    await cli.run("feeds", "add", f"{base}/demo-dev-wire/feed", "--name", "The Dev Wire")
    await cli.run("ingest", "--all")
    file, state = cli.data / "out.ndjson", cli.data / "out.ndjson.state"
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
    table = cli.data / "mentions.csv"
    await cli.run("export", str(table), "--layer", "mentions", "--format", "csv")
    assert table.read_text().startswith("tool_id,source_id,removed,")
    await cli.run("export", str(cli.data / "none" / "x"), code=1)
    assert "must be in an existing folder" in cli.said


async def test_a_mention_is_judged_listed_exported_and_undone(cli: Cli, base: str) -> None:
    await cli.run("feeds", "add", f"{base}/demo-dev-wire/feed", "--id", "wire")
    name, by_name = next(iter((await cli.ingested()).items()))
    tool = (await cli.run("tools", "add", name)).strip()
    command = ("corrections", "judge", tool, by_name, "neutral")
    await cli.run(*command, code=2)
    assert "--author" in cli.said
    assert (await cli.run(*command, "--author", "Ada", "--reason", "plain news")).strip() == by_name
    told = await cli.run("corrections", "list", tool)
    assert by_name in told
    assert "reviewed: 1, about the tool: 1" in told
    (listed,) = json.loads(await cli.run("corrections", "list", tool, "--state", "active", "--json"))
    assert (listed["verdict"], listed["reason"]) == ("neutral", "plain news")
    line = await cli.run("corrections", "export")
    await cli.run("corrections", "export", str(cli.data / "labels.ndjson"))
    assert (cli.data / "labels.ndjson").read_text() == line
    assert (json.loads(line)["label"], json.loads(line)["source_id"]) == ("neutral", by_name)
    await cli.run("corrections", "export", str(cli.data), code=1)
    await cli.run("corrections", "undo", tool, by_name, "--author", "Ada")
    assert json.loads(await cli.run("corrections", "list", tool, "--state", "undone", "--json"))
    muted = (await cli.run("corrections", "mute", tool, "wire", "--author", "Ada")).strip()
    assert "backfill_tools SUCCEEDED: " in cli.said
    await cli.run("corrections", "exclude", tool, f"{name} Street", "--author", "Ada")
    assert muted == "SOURCE:wire"
    assert len((await cli.run("corrections", "list", tool)).splitlines()) == 5
    await cli.run("corrections", "undo", tool, "nothing", "--author", "Ada", code=1)


async def test_tools_are_listed_in_a_file_searched_for_tried_and_merged(cli: Cli, base: str) -> None:
    await cli.run("feeds", "add", f"{base}/demo-dev-wire/feed")
    added, target, *_ = await cli.ingested()
    names = {product.name for product in PRODUCTS}
    listed = "".join(f"- name: {json.dumps(name)}\n" for name in sorted(names - {added}))
    (cli.data / "tools.yaml").write_text(f"tools:\n{listed}- nam: x\n")
    told = await cli.run("tools", "apply", str(cli.data / "tools.yaml"), code=1)
    assert told == f"{len(names) - 1} added, 0 changed, 0 unchanged\n"
    assert f"line {len(names) + 1}: " in cli.said
    assert "backfill_tools SUCCEEDED: " in cli.said
    tried = json.loads(await cli.run("tools", "preview", target, "--alias", added, "--json"))
    assert (tried["taken_by"], tried["complete"], tried["would_remove"]) == ({}, True, 0)
    assert tried["would_add"] > 0
    told = await cli.run("tools", "preview", target, "--change", json.dumps({"excluded": [target]}))
    assert f"0 of {tried['articles_looked_at']} articles would be added, " in told
    assert "\n  - " in told
    await cli.run("tools", "preview", target, "--change", "[]", code=2)
    tool_id = (await cli.run("tools", "add", added, "--alias", "QV", "--ticker", "QRVA")).strip()
    tools = json.loads(await cli.run("tools", "list", "--json"))
    assert {tool["name"] for tool in tools} == names
    assert [tool["tool_id"] for tool in tools if "QV" in tool["aliases"]] == [tool_id]
    references = json.loads(await cli.run("tools", "references", "qv", "--json"))
    assert [each["role"] for each in references].count("DISCOVERY") == 1
    told = await cli.run("tools", "references", "qv", "--role", "DISCOVERY", "--limit", "1")
    assert (len(told.splitlines()), "DISCOVERY" in told) == (3, True)
    await cli.run("tools", "references", "qv", "--limit", "1")
    assert "There are more" in cli.said
    await cli.run("tools", "references", "qv", "--until", "2020-01-01T00:00:00Z")
    assert "There are no such references." in cli.said
    await cli.run("tools", "references", "qv", "--role", "first", code=1)
    assert "role: " in cli.said
    await cli.run("tools", "reanalyze", "qv")
    compared = json.loads(await cli.run("tools", "compare", "qv", "--json"))
    assert compared["changed"] == 0 < compared["compared"]
    told = await cli.run("tools", "compare", "qv", "--analyzer", "embedded")
    assert f"0 of {compared['compared']} mentions would change" in told
    assert "compare_analyzers SUCCEEDED: " in cli.said
    await cli.run("tools", "compare", "qv", "--analyzer", "candidate", code=1)
    assert "candidate needs SENTIMENT_CANDIDATE_FILE" in cli.said
    await cli.run("tools", "merge", "qv", target)
    assert "merge_tool SUCCEEDED: " in cli.said
    await cli.run("tools", "merge", "QV", target.lower(), code=1)
    assert f"{added!r} has been merged into {target!r}" in cli.said
    told = await cli.run("tools", "unmerge", "qv", "--author", "Ada", "--reason", "two things")
    assert told.strip() == tool_id
    assert "unmerge_tool SUCCEEDED: " in cli.said
    await cli.run("tools", "unmerge", tool_id, "--author", "Ada")
    assert "was undone before" in cli.said
    await cli.run("tools", "unmerge", target, "--author", "Ada", code=1)
    assert "is not merged into another" in cli.said


async def test_a_feed_is_added_by_a_preset_with_tags_and_found_by_them(cli: Cli) -> None:
    presets = json.loads(await cli.run("feeds", "presets", "--json"))
    assert presets[0].keys() == {"preset", "about", "url", "source_name", "values"}
    assert "owner=astral-sh repository=uv" in await cli.run("feeds", "presets")
    feed_id = (
        await cli.run("feeds", "add", "--preset", "hacker-news", "--value", "query=a=b & c", "--tag", "A / B")
    ).strip()
    (found,) = json.loads(await cli.run("feeds", "list", "--tag", "A/B", "--json"))
    assert (found["feed_id"], found["url"]) == (feed_id, "https://hnrss.org/newest?q=a%3Db%20%26%20c")
    assert json.loads(await cli.run("feeds", "list", "--tag", "A", "--json")) == []
    for arguments, said, code in (
        (("--preset", "hacker-news"), "values.query: must be", 1),
        (("--preset", "nothing"), "preset: must be one of github-releases", 1),
        (("https://a.example/", "--preset", "hacker-news", "--value", "query=a"), "url: must not be given", 1),
        ((), "url: must be", 1),
        (("--preset", "hacker-news", "--value", "query"), "'query' is not NAME=VALUE", 2),
        (("feed:https://a.example/", "--credential", "FEED_CREDENTIAL_NONE"), "no setting FEED_CREDENTIAL_NONE", 1),
    ):
        await cli.run("feeds", "add", *arguments, code=code)
        assert said in cli.said
