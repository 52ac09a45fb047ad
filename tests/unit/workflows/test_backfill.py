"""A backfill reads every article that names one of its tools, and few others."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.article import Article
from models.tool import Tool
from services.mentions.understanding import KEY, detect, understand, words_of_analysis
from services.ports import Where
from services.tools.detector import Detector
from services.workflows.changes import places_of
from tests.documents import NOW, article, reading

LABELS = Path(__file__).parents[3] / "scripts" / "names" / "labels.tsv"
NOBODY = Detector(())
TOOLS: dict[str, dict[str, Any]] = {
    "C++": {},
    ".NET": {},
    "Node.js": {"aliases": ("NodeJS",)},
    "GitHub Actions": {"keywords": ("workflow runner",)},
    "Go": {"aliases": ("Golang",)},
    "R": {},
    "Python 3": {},
    "Orange": {"tickers": ("ORAN", "BRK.B")},
    "Tencent": {"tickers": ("0700",)},
    "Zürich Cloud": {},
    "Amazon": {},
    "Кафка": {},
    "微软": {},
    "쿠버네티스": {},
    "クラウド": {},
    "Kubernetes": {},
    "foo_bar": {},
    "कुबेर": {},
}
HEADLINES = [
    "C++20 and C++ are here, c++ too",
    "ASP.NET? No: .NET 9 is out",
    "Node.js's release, NODEJS and node.js-based apps",
    "Why \u201cGitHub\u00a0Actions\u201d stalls",
    "A workflow  runner for everybody",
    "Go 1.22 and Golang/Rust for developers of software",
    "R code in the R language for data science, by developers of software",
    "Python 3.12 beats Python 2",
    "Shares of $ORAN rose",
    "Insurers: $BRK.B. and others",
    "Games: HKEX:0700 rose",
    "ZU\u0308RICH CLOUD fails",
    "L'arrivo d'Amazon",
    "Amazon'un yeni hizmeti, dell\u2019Amazon",
    "Apache Кафка вышла",
    "微软发布新品,使用Kubernetes部署",
    "새 쿠버네티스는 빠르다",
    "Kubernetes는 새롭다",
    "新しいクラウドとＫｕｂｅｒｎｅｔｅｓ",
    "the foo_bar is good",
    "कुबेर बैंक",
]
TAGS = ["kubernetes", "  GitHub   ACTIONS", "NYSE:ORAN", "$BRK.B", "微软", "C++", "golang", "R", "HKEX: 0700", "AMAZON"]


@cache
def tool_of(name: str) -> Tool:
    return Tool(created_at=NOW, tool_id=str(uuid5(NAMESPACE_DNS, name)), primary_name=name, **TOOLS.get(name, {}))


@cache
def detector_of(name: str) -> Detector:
    return Detector([tool_of(name)])


def document(**fields: Any) -> dict[str, Any]:
    """An article as its analysis stored it before there was a tool."""
    headline = str(fields.pop("headline", "Nothing of all this"))
    stored = article(**{"headline": headline, "canonical": reading(headline=headline), "matched_tickers": (), **fields})
    analysis = understand(stored, NOBODY)
    return stored.changed(stored.updated_at, words=words_of_analysis(analysis)).to_document()


def is_read(found: Any, tools: list[Tool]) -> bool:
    return any(not place or Where(*place).is_met_by(found) for place in places_of(tools))


def named_in(**fields: Any) -> set[str]:
    """The tools that the article names, each of which finds it."""
    found = document(**fields)
    stored = Article.from_document({**found, "_etag": "1", "_ts": 1})
    names = {name for name in TOOLS if detect(stored, detector_of(name))}
    assert all(is_read(found, [tool_of(name)]) for name in names)
    return names


def test_every_way_of_naming_a_tool_finds_the_article() -> None:
    in_headlines = {name for each in HEADLINES for name in named_in(headline=each)}
    assert in_headlines == set(TOOLS)
    assert {name for each in HEADLINES for name in named_in(text_for_analysis=f"We say: {each}")} == set(TOOLS)
    by_tags = {name for each in TAGS for name in named_in(tags=(each,))}
    assert by_tags == {"Kubernetes", "GitHub Actions", "Orange", "微软", "C++", "Go", "R", "Tencent", "Amazon"}
    assert {name for each in ("oran", "0700") for name in named_in(matched_tickers=(each,))} == {"Orange", "Tencent"}


def test_every_labelled_text_that_names_a_tool_is_found() -> None:
    with LABELS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[::3]
    meant = 0
    for row in rows:
        if detector_of(row["name"]).find(row["text"]):
            meant += 1
            assert is_read(document(headline=row["text"]), [tool_of(row["name"])]), row
    assert meant > 300


@given(st.lists(st.sampled_from([*TOOLS, *HEADLINES, *"'\u2019.-_:$#+/ ,0a한微é\u0301", "s", "://x"]), max_size=8))
def test_a_tool_that_is_named_in_odd_surroundings_is_found(parts: list[str]) -> None:
    named_in(headline="".join(parts) or "x", text_for_analysis=" ".join(parts))


def test_an_article_that_names_no_tool_is_not_read() -> None:
    other = document(headline="A cloud in Zurich", text_for_analysis="It's GitHub", analysis_due_since=None)
    wanted = [tool_of(name) for name in ("GitHub Actions", "Amazon", "Кафка", "Kubernetes")]
    assert not is_read(other, wanted)
    assert is_read({**other, "words": [KEY]}, wanted), "the keys of a full text are not stored"
    assert is_read({**other, "status": "error"}, wanted)
    assert is_read({**other, "analysis_due_since": "2026-02-21T00:00:00.000000Z"}, wanted)
    assert is_read({**other, "words": [KEY + wanted[0].tool_id]}, wanted)


@pytest.mark.parametrize("name", ["R", "微软", "쿠버네티스", "C++"])
def test_of_a_tool_with_a_name_that_gives_no_key_every_article_is_read(name: str) -> None:
    assert places_of([tool_of("Kubernetes"), tool_of(name)]) == [[]]
