"""Names for ids: the nearest one if there is none, and no guess between several."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from toolpulse.client import Client
from toolpulse.failures import Failure
from toolpulse.names import Names
from toolpulse.targets import Remote

TOOLS = [{"tool_id": "1", "name": "C/C++", "aliases": ["Cee"]}, {"tool_id": "2", "name": "Kubernetes", "aliases": []}]
FEEDS = [
    {"feed_id": "a", "source_name": "The Wire", "title": "Wire News", "url": "https://a.example/feed"},
    {"feed_id": "b", "source_name": "Twice", "title": None, "url": "https://b.example/feed"},
    {"feed_id": "c", "source_name": "Twice", "title": None, "url": "https://c.example/feed"},
]
RUNS = [{"run_id": "abcd1111"}, {"run_id": "abcd2222"}, {"run_id": "ffff3333"}]
FOUND = {"one": [{"source_id": "dedup:1", "headline": "One"}], "two": [
    {"source_id": "dedup:1", "headline": "One"}, {"source_id": "dedup:2", "headline": "Two"}]}  # fmt: skip


def answer(request: httpx.Request) -> httpx.Response:
    what, _, id_ = request.url.path.removeprefix("/api/v1/").partition("/")
    if id_:
        known: dict[str, dict[str, Any]] = {
            "tools": {"k8s": TOOLS[1], "Kubernetes": TOOLS[1]},
            "feeds": {"a": FEEDS[0]},
        }
        found = known[what].get(id_)
        return httpx.Response(200, json=found) if found else httpx.Response(404, json={"detail": "none"})
    items = FOUND.get(request.url.params.get("text", ""), []) if what == "articles" else {
        "tools": TOOLS, "feeds": FEEDS, "runs": RUNS}[what]  # fmt: skip
    return httpx.Response(200, json={"items": items, "next": None})


@pytest.fixture
def names() -> Names:
    return Names(Client(Remote("https://x.example/api/v1"), httpx.MockTransport(answer)))


def test_names_stand_for_ids_and_ids_are_shown_as_names(names: Names) -> None:
    assert [names.tool_id(each) for each in ("k8s", "c/c++", "CEE")] == ["2", "1", "1"]
    assert [names.feed(each) for each in ("a", "the wire", "Wire News", "https://a.example/feed")] == ["a"] * 4
    assert [names.of_tool("1"), names.of_feed("a"), names.of_subject("2"), names.of_subject("x")] == [
        "C/C++", "The Wire", "Kubernetes", "x"]  # fmt: skip
    assert [names.subject(each) for each in ("kubernetes", "the wire", "dedup:1")] == ["2", "a", "dedup:1"]
    assert [names.article("dedup:9"), names.article("one"), names.run("last"), names.run("ffff")] == [
        "dedup:9", "dedup:1", "abcd1111", "ffff3333"]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("tool", "Kubernets", "there is no tool 'Kubernets'; did you mean 'Kubernetes'"),
        ("tool", "zzzzzz", "there is no tool 'zzzzzz': see `toolpulse tools list`"),
        ("tool", " ", "must be an id, name or alias"),
        ("feed", "The Wired", "did you mean 'The Wire'"),
        ("feed", "Twice", "is the name of several feeds: b, c; give an id"),
        ("article", "nothing", "there is no article"),
        ("article", "two", "may be several of these; give an id:\n  dedup:1  One\n  dedup:2  Two"),
        ("run", "abcd", "several runs begin so"),
        ("run", "zz", "no recent run begins so"),
    ],
)
def test_what_is_not_there_or_not_clear_is_told(names: Names, kind: str, given: str, said: str) -> None:
    with pytest.raises(Failure) as failed:
        getattr(names, kind)(given)
    assert said in str(failed.value)
