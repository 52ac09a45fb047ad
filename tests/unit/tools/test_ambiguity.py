"""When a name that is also a plain word counts as the name."""

from __future__ import annotations

import pytest

from models.tool import NameRule
from services.tools.ambiguity import (
    CAPITALISED,
    CONTEXT,
    IN_CONTEXT,
    NEAR,
    MatchRule,
    has_version,
    is_near,
    is_proper_noun,
    match_rule,
)

OWN = ("golang",)
IN_ANY_CASE = MatchRule()
AS_WRITTEN = MatchRule(case_sensitive=True)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("Kubernetes", IN_ANY_CASE),
        ("VS Code", IN_ANY_CASE),
        ("C#", IN_ANY_CASE),
        ("Straße", IN_ANY_CASE),
        ("42", IN_ANY_CASE),
        ("7", IN_ANY_CASE),
        ("Apple", AS_WRITTEN),
        ("apple", IN_ANY_CASE),
        ("HP", AS_WRITTEN),
        ("hp", IN_ANY_CASE),
        ("C3", AS_WRITTEN),
        ("R", MatchRule(True, (*CONTEXT, *OWN), version_suffices=True)),
        ("Go", MatchRule(True, (*CONTEXT, *OWN), version_suffices=True)),
        ("Rust", MatchRule(True, (*CONTEXT, *OWN), proper_noun_suffices=True, version_suffices=True)),
        ("Ada", MatchRule(True, (*CONTEXT, *OWN), proper_noun_suffices=True, version_suffices=True)),
        ("make", MatchRule(False, (*CONTEXT, *OWN), version_suffices=True)),
    ],
)
def test_the_rule_of_a_name_follows_from_its_words_and_case(name: str, rule: MatchRule) -> None:
    assert match_rule(name, None, OWN) == rule


def test_a_rule_of_the_tool_replaces_the_lists() -> None:
    assert match_rule("Rust", NameRule(), OWN) == MatchRule()
    assert not MatchRule().proper_noun_suffices
    assert not MatchRule().version_suffices
    given = NameRule(case_sensitive=True, context=("game",))
    assert match_rule("Kubernetes", given, OWN) == MatchRule(True, ("game",))


def test_each_word_is_in_one_list() -> None:
    assert not CAPITALISED & IN_CONTEXT
    assert all(word.islower() for word in CAPITALISED | IN_CONTEXT | set(CONTEXT))
    assert len(set(CONTEXT)) == len(CONTEXT)


@pytest.mark.parametrize("gap", [1, NEAR - 9, NEAR - 8, NEAR - 7])
def test_a_context_word_counts_within_200_characters_on_either_side(gap: int) -> None:
    assert NEAR == 200
    behind, before = "go" + "." * gap + "compiler", "compiler" + "." * gap + "go"
    assert is_near(("compiler",), behind, 0, 2) == (gap <= NEAR - 8)
    assert is_near(("compiler",), before, len(before) - 2, len(before)) == (gap <= NEAR - 8)


def test_a_context_word_is_a_whole_word_outside_of_the_name() -> None:
    assert is_near(("code", "open source"), "go is open source", 0, 2)
    assert not is_near(("code",), "go decodes", 0, 2)
    assert not is_near(("code",), "code", 0, 4)
    assert is_near(("code",), "code code", 0, 4)
    assert is_near(("C++",), "go or c++", 0, 2), "context words are compared as names are"
    assert is_near(("asp",), "asp.net", 3, 7), "a word that touches the name is outside of it"
    assert is_near(("code",), "c#code", 0, 2)
    assert not is_near(("open", "open source"), "open source", 5, 11), "the longer word contains the name"
    text = "x" * 10 + "code " + "." * 191 + "go"
    assert not is_near(("code",), text, len(text) - 2, len(text)), "a word that is cut off is none"


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("we moved to Rust and", True),
        ("(using Rust.", True),
        ("it, too: Rust", True),
        ("don't Rust", True),
        ("Rust and", False),
        ("We Rust", False),
        ("the end. Rust", False),
        ("we moved to Rust Belt", False),
        ("we moved to Rust, Belt", True),
        ("we moved to Rust  Belt", False),
        ("we moved to Rust   Belt", True),
        ("X" + "a" * 38 + " Rust", False),
        ("X" + "a" * 39 + " Rust", True),
    ],
)
def test_a_capital_counts_within_a_sentence_and_not_before_another(text: str, counts: bool) -> None:
    """The rule reads 40 characters before the name and 3 behind."""
    start = text.index("Rust")
    assert is_proper_noun(text, start, start + 4) == counts


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("Go 1.22", True),
        ("Go v1.22.3", True),
        ("Go  10.1", True),
        ("Go 2 released", True),
        *((f"Go 2 {word}", True) for word in ("is out", "is here", "release", "alpha", "beta", "rc", "preview")),
        *((f"Go 2 {word}", True) for word in ("brings", "ships", "lands", "adds", "arrives", "drops", "gets")),
        ("Go 2 support", True),
        ("Go 123 is out", True),
        ("Go 1234 is out", False),
        ("Go 2 betas", False),
        ("Go 3 times", False),
        ("Go1.22", False),
        ("Go, 1.22", False),
        ("Go 2", False),
        ("Go" + " " * 21 + "1.2", True),
        ("Go" + " " * 22 + "1.2", False),
    ],
)
def test_a_version_right_behind_the_name_counts(text: str, counts: bool) -> None:
    assert has_version(text, 2) == counts
