"""The embedded analyzer with the shipped table judges plain cases right, and any text in bounded time."""

import re
import threading
from collections.abc import Sequence

import pytest

from services.mentions.analyzers import general
from services.mentions.analyzers.embedded import EmbeddedAnalyzer
from services.mentions.analyzers.general import LONGEST_TEXT, judge
from services.mentions.analyzers.port import Judgement, NotJudged, Passage, PassageJudgement
from services.mentions.analyzers.tables import WORD_TABLE, shipped_words
from services.tools.matching import Span
from tests.steps import growth, steps


def judged(text: str) -> str:
    return judge(text, shipped_words()).sentiment


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("Profits surge", "Losses surge"),
        ("Losses narrow", "Losses widen"),
        ("Latency drops after upgrade", "Latency surges after upgrade"),
        ("Revenue up 12%", "Revenue down 12%"),
    ],
)
def test_a_direction_takes_its_sign_from_what_moves(better: str, worse: str) -> None:
    table = shipped_words()
    assert judge(better, table).polarity > 0 > judge(worse, table).polarity
    assert judged(better) != "negative"
    assert judged(worse) != "positive"


@pytest.mark.parametrize(
    "noise",
    [
        "$FB",
        "@great @awful",
        "https://example.com/terrible/crash/hate",
        "a@bad.com",
    ],
)
def test_tickers_handles_and_addresses_are_neutral(noise: str) -> None:
    assert judged(noise) == "neutral"
    table = shipped_words()
    with_noise = judge(f"Quarterly results due on Thursday {noise}", table).polarity
    assert abs(with_noise - judge("Quarterly results due on Thursday", table).polarity) < 0.1


@pytest.mark.parametrize(
    "text", ["", " ", "…", "12 34", "\x00\ud800", "速い", "x" * 100_000, "(" * 30_000, "a@" * 20_000]
)
def test_odd_texts_are_neutral(text: str) -> None:
    assert judge(text, shipped_words()).sentiment == "neutral"


EXPRESSIONS = [each for each in vars(general).values() if isinstance(each, re.Pattern)]


@pytest.mark.parametrize("unit", ["x", "(", "a@", "`", "$A ", "…", "a-", ":'", "don't ", "a.b", "http://a"])
def test_odd_texts_take_steps_in_proportion_to_their_length(unit: str) -> None:
    table = shipped_words()
    assert growth(lambda size: judge(unit * size, table), 1000) < 2.2
    assert steps(lambda: judge(unit * 20_000, table)) == steps(lambda: judge(unit * 40_000, table))
    for expression in EXPRESSIONS:  # none is quadratic: see steps.py
        expression.findall(unit * 300_000)


def test_the_shipped_table_is_small_and_names_its_version() -> None:
    assert WORD_TABLE.stat().st_size <= 70_000
    assert EmbeddedAnalyzer().name == "embedded"
    assert EmbeddedAnalyzer().version.startswith("2-")


async def test_the_names_of_tools_are_no_opinion() -> None:
    names = ["Best Buy", "Brave", "Ghost", "Fatal Bug", "C++"]
    passages = [Passage(f"{name} is great", {"tool": (Span(0, len(name)),)}) for name in names]
    first, *others = await EmbeddedAnalyzer().analyze(passages)
    assert isinstance(first.tools["tool"], Judgement)
    assert all(each == first for each in others)


@pytest.mark.parametrize(
    ("text", "sentiments"),
    [
        ("{} gains users as {} struggles with outages", "pn"),
        ("Red Hat ditches {}, switches to {}", "np"),
        ("Why we moved from {} to {}", "np"),
        ("{} loses to {} in speed test", "np"),
        ("{} sues {} over patents", "0n"),
        ("{} acquires {}", "00"),
        ("{} restores service after outage", "p"),
        ("Debugging crashes in {}: a guide", "0"),
        ("{} hit by authorization-bypass CVE", "n"),
        ("{} vs {}: a comparison", "00"),
    ],
)
async def test_each_tool_is_judged_by_what_is_said_of_it(text: str, sentiments: str) -> None:
    parts = text.split("{}")
    names: dict[str, tuple[Span, ...]] = {}
    whole = parts[0]
    for number, part in enumerate(parts[1:]):
        names[f"tool {number}"] = (Span(len(whole), len(whole) + 4),)
        whole += f"Zed{number}{part}"
    [found] = await EmbeddedAnalyzer().analyze([Passage(whole, names)])
    letters = {"positive": "p", "negative": "n", "neutral": "0"}
    judged_tools = [letters[each.sentiment] for each in found.tools.values() if isinstance(each, Judgement)]
    assert "".join(judged_tools) == sentiments


async def test_a_tool_beyond_the_part_that_is_read_is_not_judged() -> None:
    text = "x " * LONGEST_TEXT + "Foo fails"
    [found] = await EmbeddedAnalyzer().analyze([Passage(text, {"foo": (Span(len(text) - 9, len(text) - 6),)})])
    assert isinstance(found.tools["foo"], NotJudged)


async def test_much_text_is_judged_in_a_thread() -> None:
    class Noting(EmbeddedAnalyzer):
        thread = 0

        def judge(self, passages: Sequence[Passage]) -> list[PassageJudgement]:
            self.thread = threading.get_ident()
            return super().judge(passages)

    analyzer, passage = Noting(), Passage("A rather good sentence about a tool that fails.")
    await analyzer.analyze([passage])
    assert analyzer.thread == threading.get_ident()
    await analyzer.analyze([passage] * 100)
    assert analyzer.thread != threading.get_ident()
