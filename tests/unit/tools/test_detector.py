"""Tools are found by their names, in any script, and not by plain words that look the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

import pytest

from models.tool import NameRule, Tool
from services.ports import Store
from services.store.sqlite import SqliteStore
from services.tools.catalog import Catalog, new_tool, tool_change
from services.tools.detector import REBUILT_AFTER, Detector, Watchlist
from tests.builders import Watch
from tests.documents import NOW
from tests.steps import steps


def tool(name: str, **fields: Any) -> Tool:
    tool_id = str(uuid5(NAMESPACE_DNS, name))
    return Tool(created_at=NOW, tool_id=tool_id, primary_name=name, **fields)


def found(tools: list[Tool], headline: str, text: str = "", **given: Any) -> dict[str, list[str]]:
    """The names as written, by the tool's primary name."""
    detector = Detector(tools)
    return {
        detector.tools[tool_id].primary_name: [reason.name for reason in detected.reasons]
        for tool_id, detected in detector.find(headline, text, **given).items()
    }


PLAIN = [
    tool("Visual Studio"),
    tool("Visual Studio Code", aliases=("VS Code",)),
    tool("C"),
    tool("C#"),
    tool("C++"),
    tool(".NET"),
    tool("Node"),
    tool("Node.js"),
    tool("Straße"),
    tool("微信"),
    tool("카카오"),
    tool("ドッカー"),
    tool("हिन्दी"),
    tool("Дзен"),
    tool("GitHub Copilot"),
]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("visual studio 2022 is slow", {"Visual Studio": ["visual studio"]}),
        ("I use Visual  Studio\nCode daily", {"Visual Studio Code": ["Visual Studio Code"]}),
        ("C#, C++20 and C are compiled languages", {"C#": ["C#"], "C++": ["C++"], "C": ["C"]}),
        ("Objective-C and vitamin C-rich food, a compiler", {}),
        ("ASP.NET is not .NET; example.net is neither", {".NET": [".NET"]}),
        ("Node.js 22 is out", {"Node.js": ["Node.js"]}),
        ("STRASSE frei", {"Straße": ["STRASSE"]}),
        ("腾讯微信支付", {"微信": ["微信"]}),
        ("카카오가 발표했다", {"카카오": ["카카오"]}),
        ("ドッカーを使う", {"ドッカー": ["ドッカー"]}),
        ("ДЗЕН закрыт; Дзеном", {"Дзен": ["ДЗЕН"]}),
        (
            "see https://github.com/microsoft/vs-code?q=visual%20studio or visual studio",
            {"Visual Studio": ["visual studio"]},
        ),
        ("GitHub Copilot's new price", {"GitHub Copilot": ["GitHub Copilot"]}),
    ],
)
def test_a_name_counts_between_its_boundaries_and_the_longest_one_wins(text: str, names: dict[str, list[str]]) -> None:
    assert found(PLAIN, text) == names


AMBIGUOUS = [
    tool("Go", aliases=("Golang",)),
    tool("R"),
    tool("Rust", excluded=("Rust Belt",)),
    tool("Apple", tickers=("AAPL",), excluded=("apple pie", "recipe")),
    tool("make"),
    tool("React"),
    tool("HP"),
    tool("IT"),
    tool("Windows"),
]


def test_a_rule_for_a_name_goes_before_the_word_list() -> None:
    plain = tool("Rust", name_rules={"Rust": NameRule()})
    game = tool("Rust", name_rules={"Rust": NameRule(case_sensitive=True, context=("survival", "server wipe"))})
    assert found([plain], "how rust forms") == {"Rust": ["rust"]}
    assert found([game], "The Rust compiler") == {}
    assert found([game], "Rust is a survival game") == {"Rust": ["Rust"]}
    assert found([game], "rust is a survival game") == {}


def test_context_counts_near_the_name_only_and_the_text_is_near_its_headline() -> None:
    game = [tool("Rust", name_rules={"Rust": NameRule(context=("compiler",))})]
    assert found(game, "Rust again", "A compiler is out.") == {"Rust": ["Rust"]}
    assert found(game, "Rust again", "x " * 200 + "A compiler is out.") == {}


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("Shares of $AAPL rise", ["$AAPL"]),
        ("Shares (NASDAQ: AAPL) rise", ["NASDAQ: AAPL"]),
        ("Shares (Nasdaq:AAPL), up", ["Nasdaq:AAPL"]),
        ("Up: AAPL (AAPL), $AAPL", ["AAPL", "$AAPL"]),
        ("US$AAPL, $AAPLX, x:AAPL, $AAPL$", []),
        ("Share: https://example.org/share?text=$AAPL&quote=NASDAQ:AAPL", []),
        ("SIX: AAPL", ["SIX: AAPL"]),
        ("NYSEARCA: AAPL, Euronext: AAPL", ["NYSEARCA: AAPL", "Euronext: AAPL"]),
    ],
)
def test_tickers_count_as_cashtags_and_behind_an_exchange(text: str, reasons: list[str]) -> None:
    assert found(AMBIGUOUS, text).get("Apple", []) == reasons


MAX_CALLS = 650_000


@pytest.mark.parametrize("unit", ["Go ", "Orion Belt "])
def test_a_text_that_repeats_one_name_is_searched_in_a_bounded_number_of_steps(unit: str) -> None:
    tools = [*AMBIGUOUS, tool("Orion", excluded=("Orion Belt",))]
    counted = [steps(partial(found, tools, "x", unit * size), of_lines=False) for size in (2_000, 4_000)]
    assert max(counted) < MAX_CALLS
    found(tools, "x", unit * 20_000)  # no expression is quadratic: see steps.py
    assert found(tools, "x", "Orion Belt " * 5000 + "and Orion") == {}


def test_tags_of_the_source_count_and_are_kept_as_such() -> None:
    detector = Detector(AMBIGUOUS)
    tagged = detector.find("Shares rise", tags=("golang", "NYSE:IBM", "xetra:AAPL", "apple"), tickers=("AAPL",))
    by_name = {detector.tools[tool_id].primary_name: detected for tool_id, detected in tagged.items()}
    assert {name: [each.name for each in detected.matches] for name, detected in by_name.items()} == {
        "Go": ["golang"],
        "Apple": ["AAPL", "xetra:AAPL", "apple"],
    }
    assert {(each.kind, each.where) for each in by_name["Apple"].matches} == {("SOURCE_TAG", "TAGS")}


def test_two_names_of_one_tool_are_one_mention_with_two_reasons() -> None:
    (detected,) = Detector(AMBIGUOUS).find("Golang 1.22: the Go release", "Go is a language. golang!").values()
    assert [(each.name, each.kind, each.where) for each in detected.matches] == [
        ("Golang", "ALIAS", "HEADLINE"),
        ("Go", "NAME", "HEADLINE"),
        ("Go", "NAME", "TEXT"),
        ("golang", "ALIAS", "TEXT"),
    ]


@pytest.mark.parametrize(
    ("headline", "text"),
    [
        ("Apple and Apple", "About Apple"),
        ("Crème brûlée by Apple", "ﬁne: Apple  \n Apple ﬀ Apple"),
        ("İstanbul: Apple", "e\u0301 Apple \u2028 Apple"),
    ],
)
def test_spans_are_of_the_texts_as_they_were_given(headline: str, text: str) -> None:
    (detected,) = Detector([tool("Apple", name_rules={"Apple": NameRule()})]).find(headline, text).values()
    assert [headline[start:end] for start, end in detected.headline_spans] == ["Apple"] * headline.count("Apple")
    assert [text[start:end] for start, end in detected.text_spans] == ["Apple"] * text.count("Apple")


def test_a_mention_keeps_at_most_20_reasons_of_at_most_120_characters() -> None:
    many = tool("Quorvia", aliases=tuple(f"Quorvia {number}" for number in range(30)))
    (detected,) = Detector([many]).find(" ".join(many.aliases)).values()
    assert len(detected.matches) == 20
    assert len(detected.headline_spans) == 30
    (detected,) = Detector([many]).find("Nothing", tags=("quorvia" + " " * 200,)).values()
    assert len(detected.matches[0].name) == 120


def test_tickers_in_headline_and_text_are_distinguished_from_names_and_tags() -> None:
    (detected,) = Detector(AMBIGUOUS).find("$aapl, Apple", "(NYSE: AAPL).", tags=("$AAPL",), tickers=("AAPL",)).values()
    assert detected.tickers == ("AAPL",)
    assert [(each.name, each.kind, each.where) for each in detected.matches] == [
        ("$aapl", "TICKER", "HEADLINE"),
        ("Apple", "NAME", "HEADLINE"),
        ("NYSE: AAPL", "TICKER", "TEXT"),
        ("AAPL", "SOURCE_TAG", "TAGS"),
        ("$AAPL", "SOURCE_TAG", "TAGS"),
    ]


def test_the_cues_of_a_name_that_counts_are_kept() -> None:
    (detected,) = Detector([AMBIGUOUS[2]]).find("The Rust team meets", "Rust.").values()
    assert set(detected.cues) == {"Rust"}
    assert "determiner before and thing after" in detected.cues["Rust"], "those of the first place"
    (plain,) = Detector(PLAIN[:1]).find("Visual Studio").values()
    assert plain.cues == {}


def test_a_bare_ticker_counts_once_beside_its_marked_form_and_not_where_a_name_is() -> None:
    both = [tool("AMD", tickers=("AMD", "SNOW"))]
    (detected,) = Detector(both).find("AMD, NASDAQ: AMD", "Is SNOW a buy?", tickers=("SNOW",)).values()
    assert [(each.name, each.kind) for each in detected.matches] == [
        ("AMD", "NAME"),
        ("NASDAQ: AMD", "TICKER"),
        ("SNOW", "TICKER"),
        ("SNOW", "SOURCE_TAG"),
    ]
    assert detected.text_spans == ((3, 7),)


def test_a_tag_counts_as_a_name_unless_the_rule_of_the_name_wants_another_spelling() -> None:
    rule = {"Rust": NameRule(case_sensitive=True, context=("game",))}
    strict = [tool("Rust", name_rules=rule)]
    assert found(strict, "x", tags=("rust",)) == {}
    assert found(strict, "x", tags=(" Rust ",)) == {"Rust": [" Rust "]}
    assert found([tool("Apple")], "x", tags=("apple",)) == {"Apple": ["apple"]}
    assert found([tool("Quorvia", keywords=("store",))], "x", tags=("store",)) == {}, "keywords count in texts only"


def test_of_overlapping_names_the_longest_counts_and_of_equal_ones_the_first() -> None:
    tools = [tool("Alpha Beta"), tool("Beta Gamma"), tool("Beta Gamma Delta")]
    assert found(tools, "Alpha Beta Gamma Delta") == {"Beta Gamma Delta": ["Beta Gamma Delta"]}
    assert found(tools, "Alpha Beta Gamma") == {"Alpha Beta": ["Alpha Beta"]}


def test_an_excluded_phrase_with_a_name_excludes_that_occurrence_and_another_phrase_the_article() -> None:
    orion = [tool("Orion", keywords=("ORN",), excluded=("Orion Belt", "ORN code", "horoscope"))]
    assert found(orion, "Orion Belt and Orion") == {"Orion": ["Orion"]}
    assert found(orion, "ORN code and ORN") == {"Orion": ["ORN"]}
    wechat = [tool("微信", excluded=("微信支付",))]
    (detected,) = Detector(wechat).find("微信微信支付微信").values()
    assert detected.headline_spans == ((0, 2), (6, 8)), "a name beside an excluded phrase counts"
    assert found(orion, "The horoscope of Orion", tags=("orion",)) == {}


async def test_a_change_elsewhere_is_known_at_the_next_call_and_nothing_is_built_without_one(
    store: SqliteStore, catalog_on: Callable[[Store], Catalog], watch: Watch
) -> None:
    ours, theirs = Watchlist(catalog_on(store), watch), catalog_on(store)
    assert (await ours.detector()).tools == {}
    added = await theirs.add(new_tool({"name": "Quorvia", "tickers": ["QRVA", "AQ"]}))
    detector = await ours.detector()
    assert list(detector.tools) == [added.tool_id]
    assert await ours.detector() is detector
    assert await ours.tickers() == ("AQ", "QRVA")
    await theirs.change("Quorvia", tool_change({"status": "DEPRECATED"}))
    assert (await ours.detector()).tools == {}


async def test_a_change_that_was_never_announced_is_known_after_a_minute_or_when_asked_anew(
    store: SqliteStore, catalog: Catalog, watch: Watch
) -> None:
    watchlist = Watchlist(catalog, watch)
    await watchlist.detector()
    await store.create("catalog", tool("Unannounced").to_document())
    assert (await watchlist.detector()).tools == {}
    assert (await watchlist.detector(anew=True)).tools
    other = Watchlist(catalog, watch)
    await other.detector()
    await store.create("catalog", tool("Another").to_document())
    watch.advance(seconds=REBUILT_AFTER.total_seconds())
    assert len((await other.detector()).tools) == 2
