"""What the rules and tables make of our labelled headlines stays the same, to the last digit.

A change that is meant to change answers changes these digests: run benchmarks/answers.py before and after, and store
the new digests if no figure has fallen.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from uuid import NAMESPACE_DNS, uuid5

from models.tool import normalize_name
from scripts.sentiment import corpus
from scripts.sentiment.corpus import Labelled
from services.mentions import prose as rules
from services.mentions import scoring
from services.mentions.analyzers import general
from services.mentions.analyzers.embedded import EmbeddedAnalyzer
from services.mentions.analyzers.port import Passage
from services.mentions.prose import headline_prose, text_prose
from services.mentions.scoring import ask, conclude
from services.tools import detector as detecting
from services.tools.detector import Detector
from tests.documents import tool

FRAME = "By Jane Doe | {} We moved to {} and it is great. Read more"
JUDGED = "01584e75a446cfcb"
DETECTED = "064062a1b2c99190"
SCORED = "88406e34778b05cf"


@cache
def headlines() -> list[Labelled]:
    """Some headlines of the kinds that we have; the same ones in each version of Python."""
    return [each for each in (*corpus.headlines()[::16], *corpus.written()[::4]) if each.text.isascii()]


@cache
def detector() -> Detector:
    names = {normalize_name(name): name for each in headlines() for name in each.names if len(name) < 40}
    return Detector(
        tool(tool_id=str(uuid5(NAMESPACE_DNS, plain)), primary_name=name, aliases=(), name_rules={})
        for plain, name in sorted(names.items())
        if plain
    )


def digest(found: list[object]) -> str:
    return sha256(repr(found).encode()).hexdigest()[:16]


def prose() -> list[tuple[str, str]]:
    return [
        (headline_prose(f"{each.text} - Reuters"), text_prose(FRAME.format(each.text, next(iter(each.names)))))
        for each in headlines()
    ]


def test_the_limits_that_no_headline_reaches() -> None:
    assert (general.LONGEST_TEXT, scoring.LONGEST_TEXT, scoring.MAX_SENTENCES) == (20_000, 50_000, 12)
    assert rules.MAX_PUBLISHERS == 2
    assert (detecting.MAX_MATCHES, detecting.MAX_POSITIONS, detecting.MAX_OCCURRENCES) == (20, 10, 1000)


def test_each_headline_is_judged_as_before() -> None:
    passages = [
        Passage(each.text, {name: spans for name, spans in each.names.items() if spans}) for each in headlines()
    ]
    found = EmbeddedAnalyzer().judge(passages)
    assert digest([(each.whole, sorted(each.tools.items())) for each in found]) == JUDGED


def test_each_tool_is_found_as_before() -> None:
    assert digest([sorted(detector().find(*each, tags=("python",)).items()) for each in prose()]) == DETECTED


def test_each_article_is_scored_as_before() -> None:
    analyzer, found = EmbeddedAnalyzer(), list[object]()
    for headline, text in prose():
        questions = ask(headline, text, detector().find(headline, text))
        scores = conclude(questions, analyzer.judge(questions.passages))
        found.append((questions.article, sorted(questions.tools.items()), scores.article, sorted(scores.tools.items())))
    assert digest(found) == SCORED
