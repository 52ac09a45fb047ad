"""Presets: their file is checked by name, and the feeds that they make are read as the services write them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from models.errors import InvalidInput, WrongSettings
from models.resources.feeds import Preset
from services.feeds.form import load_presets, new_feed
from services.feeds.lists import apply_yaml
from services.feeds.registry import FeedRegistry
from services.parse import feed as feed_parser
from tests.documents import NOW

RECORDED = Path(__file__).resolve().parents[2] / "data" / "presets"
PRESETS = load_presets()

SEARCHED = "%22Visual%20Studio%20Code%22"
CASES: dict[str, tuple[dict[str, str], str, str, str, str, datetime]] = {
    "github-releases": (
        {"owner": "astral-sh", "repository": "uv"},
        "https://github.com/astral-sh/uv/releases.atom",
        "astral-sh/uv releases",
        "0.9.9",
        "https://github.com/astral-sh/uv/releases/tag/0.9.9",
        datetime(2026, 2, 20, 16, 7, 40, tzinfo=UTC),
    ),
    "github-advisories": (
        {"ecosystem": "pip"},
        "https://azu.github.io/github-advisory-database-rss/pip.json",
        "GitHub advisories: pip",
        "[urllib3] urllib3 streaming API improperly handles highly compressed data",
        "https://github.com/advisories/GHSA-2xpw-w6gg-jr37",
        datetime(2026, 2, 19, 21, 31, 8, tzinfo=UTC),
    ),
    "pypi-releases": (
        {"package": "httpx"},
        "https://pypi.org/rss/project/httpx/releases.xml",
        "httpx on PyPI",
        "1.0.1",
        "https://pypi.org/project/httpx/1.0.1/",
        datetime(2026, 2, 20, 13, 52, 51, tzinfo=UTC),
    ),
    "npm-releases": (
        {"package": "@babel/core"},
        "https://libraries.io/npm/%40babel%2Fcore/versions.atom",
        "@babel/core on npm",
        "8.0.1",
        "https://libraries.io/npm/@babel%2Fcore/8.0.1",
        datetime(2026, 2, 19, 8, 14, 30, tzinfo=UTC),
    ),
    "hacker-news": (
        {"query": '"Visual Studio Code"'},
        f"https://hnrss.org/newest?q={SEARCHED}",
        'Hacker News: "Visual Studio Code"',
        "Visual Studio Code now shows what an extension may read",
        "https://editor.example.com/blog/permissions",
        datetime(2026, 2, 20, 17, 55, 2, tzinfo=UTC),
    ),
    "reddit": (
        {"query": '"Visual Studio Code"'},
        f"https://www.reddit.com/search.rss?sort=new&q={SEARCHED}",
        'Reddit: "Visual Studio Code"',
        "The terminal of Visual Studio Code is faster now",
        "https://www.reddit.com/r/vscode/comments/1xyz001/terminal_is_faster/",
        datetime(2026, 2, 20, 18, 31, 12, tzinfo=UTC),
    ),
    "stack-overflow": (
        {"tag": "c#"},
        "https://stackoverflow.com/feeds/tag/c%23",
        "Stack Overflow: c#",
        "Why is a span not allowed in an async method?",
        "https://stackoverflow.com/questions/79900010/why-is-a-span-not-allowed-in-an-async-method",
        datetime(2026, 2, 20, 18, 40, 7, tzinfo=UTC),
    ),
    "google-news": (
        {"query": '"Visual Studio Code" when:7d'},
        f"https://news.google.com/rss/search?hl=en-US&gl=US&ceid=US%3Aen&q={SEARCHED}%20when%3A7d",
        'Google News: "Visual Studio Code" when:7d',
        "Visual Studio Code gets a new search - Example Times",
        "https://news.google.com/rss/articles/CBMiWkFVX3lxTE1leGFtcGxlMDAwMQ?oc=5",
        datetime(2026, 2, 20, 14, 0, tzinfo=UTC),
    ),
}
"""By preset: values; URL and name of the feed; headline, link and date of the first entry of the recorded response."""


def test_every_preset_has_a_recorded_response() -> None:
    assert sorted(each.preset for each in PRESETS.every) == sorted(CASES) == sorted(f.stem for f in RECORDED.iterdir())


@pytest.mark.parametrize("preset", CASES)
def test_a_preset_makes_a_feed_whose_answer_is_read(preset: str) -> None:
    values, url, name, headline, page, published = CASES[preset]
    new = new_feed(PRESETS.resolved({"preset": preset, "values": values, "tags": ["t"]}), NOW)
    assert (new.feed_url, new.source_name, new.tags) == (url, name, ("t",))
    (recorded,) = RECORDED.glob(f"{preset}.*")
    document = feed_parser.parse(recorded.read_bytes(), new.feed_url)
    assert (len(document.items), document.skipped, document.warnings) == (2, {}, {})
    first = document.items[0]
    assert (first.headline, first.url, first.published) == (headline, page, published)


def test_the_articles_of_a_search_are_those_of_the_publishers_that_it_names() -> None:
    document = feed_parser.parse((RECORDED / "google-news.xml").read_bytes(), "https://news.google.com/rss/search")
    assert [each.publisher for each in document.items] == ["Example Times", "Example Post"]


def test_a_posted_name_replaces_that_of_the_preset() -> None:
    given = {"preset": "stack-overflow", "values": {"tag": "c#"}, "source_name": "C sharp", "feed_id": None}
    assert PRESETS.resolved(given) == {"url": "https://stackoverflow.com/feeds/tag/c%23", "source_name": "C sharp"}


def test_fields_without_a_preset_stay_as_they_are() -> None:
    given = {"url": "https://a.example/", "source_name": "A", "colour": 1}
    assert PRESETS.resolved({**given, "preset": None, "values": None}) == given


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"preset": "none-such"}, "preset"),
        ({"values": {"tag": "c"}, "url": "https://a.example/"}, "preset"),
        ({"preset": "stack-overflow", "values": {"tag": "c"}, "url": "https://a.example/"}, "url"),
        ({"preset": "stack-overflow"}, "values.tag"),
        ({"preset": "stack-overflow", "values": "c"}, "values"),
        *(
            ({"preset": "stack-overflow", "values": {"tag": tag}}, "values.tag")
            for tag in ("../users", "..", " . ", "%2e%2e", "..\\users", "a/..")
        ),
        ({"preset": "npm-releases", "values": {"package": "@a/.."}}, "values.package"),
        ({"preset": "stack-overflow", "values": {"tag": "c", "sort": "new"}}, "values.sort"),
        ({"preset": "github-releases", "values": {"owner": "a/b", "repository": "c"}}, "values.owner"),
        ({"preset": "hacker-news", "values": {"query": "a\nb"}}, "values.query"),
    ],
)
def test_what_is_wrong_with_a_preset_or_a_value_is_named(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        PRESETS.resolved(given)
    assert caught.value.field == field


@pytest.mark.parametrize("query", ["a&b=c#d", "a/../b?c", "{query}", "ünïcode 例", "100%"])
def test_a_value_changes_nothing_of_the_url_but_its_place(query: str) -> None:
    url = PRESETS.resolved({"preset": "hacker-news", "values": {"query": query}})["url"]
    assert url.startswith("https://hnrss.org/newest?q=")
    assert not set(url.partition("q=")[2]) & set("&#/?{} =")


@pytest.mark.parametrize("preset", PRESETS.every, ids=lambda each: each.preset)
def test_the_examples_of_a_preset_make_a_feed_of_a_fixed_host(preset: Preset) -> None:
    values = {each.name: each.example for each in preset.values}
    new = new_feed(PRESETS.resolved({"preset": preset.preset, "values": values}), NOW)
    assert new.feed_url.partition("/")[0] == "https:"
    assert "{" not in preset.url.split("/")[2] + new.feed_url + new.source_name


@pytest.mark.parametrize(
    ("document", "said"),
    [("presets: {}", "presets: must be a list"), ("presets: [{preset: a, colour: red}]", "colour\n")],
)
def test_what_is_wrong_in_the_file_is_named(document: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "presets.yaml"
    file.write_text(document)
    with pytest.raises(WrongSettings, match=f"config/presets.yaml: (.|\n)*{said}"):
        load_presets(file)


def test_no_file_means_no_presets(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"^preset: must be one of "):
        load_presets(tmp_path / "none.yaml").resolved({"preset": "a"})


async def test_a_list_may_name_presets(registry: FeedRegistry) -> None:
    document = b"""
feeds:
  - {preset: pypi-releases, values: {package: httpx}, tags: [releases]}
  - {preset: pypi-releases, values: {package: "../x"}}
"""
    report = await apply_yaml(registry, document, NOW, presets=PRESETS)
    assert [(each.source_name, each.tags) for each in report.added] == [("httpx on PyPI", ("releases",))]
    assert [(each.line, each.reason[:14]) for each in report.refused] == [(4, "values.package")]
    again = await apply_yaml(registry, document, NOW, presets=PRESETS)
    assert [each.source_name for each in again.known] == ["httpx on PyPI"]
