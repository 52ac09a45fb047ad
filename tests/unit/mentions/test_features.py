"""Which features say what a text says about a tool."""

from __future__ import annotations

import pytest

from services.mentions.analyzers.features import Features, Vocabulary, features_of, joint_figures, read, word_features
from services.mentions.analyzers.tokens import phrases_of, read_tokens
from services.tools.matching import Span

CLASSES = {"beats": ("beat",), "ditches": ("leave",), "outage": ("outage",), "never": ("negator",)}
WON = ["c won", "c won A", "c won A1"]
VALENCES = {"good": 2.0, "bad": -2.0, "huge": 9.0}


def features(text: str, tool: str, *others: str) -> Features:
    found = {name: (Span(text.index(name), text.index(name) + len(name)),) for name in (tool, *others)}
    vocabulary = Vocabulary(CLASSES, VALENCES)
    return features_of(read(read_tokens(text, found, phrases_of(CLASSES)), vocabulary), tool)


def places(text: str, tool: str, *others: str) -> dict[str, str]:
    return dict(features(text, tool, *others).placed)


def test_a_word_has_its_side_and_distance() -> None:
    assert places("a b c d Foo e f g h", "Foo") == {
        "a": "B3", "b": "B2", "c": "B2", "d": "B1", "e": "A1", "f": "A2", "g": "A2", "h": "A3",
    }  # fmt: skip


def test_a_word_of_another_clause_has_only_its_side() -> None:
    assert places("up, Foo fell while flat", "Foo") == {"up": "XB", "fell": "A1", "while": "XA", "flat": "XA"}


def test_a_word_behind_another_name_is_marked() -> None:
    assert places("Foo beats Bar again", "Foo", "Bar") == {"beats": "A1", "O": "A2", "again": "A2o"}
    assert places("Foo beats Bar again", "Bar", "Foo") == {"O": "B2", "beats": "B1", "again": "A1"}


def test_the_nearest_of_several_names_counts() -> None:
    text = "Foo a b c d e Foo f"
    found = {"Foo": (Span(0, 3), Span(14, 17))}
    placed = features_of(read(read_tokens(text, found, {}), Vocabulary({}, {})), "Foo").placed
    assert dict(placed) == {"a": "A1", "b": "A2", "c": "A2", "d": "B2", "e": "B1", "f": "A1"}


@pytest.mark.parametrize(
    ("word", "place", "classes", "features"),
    [
        ("up", "B1", (), ["w up", "w up B", "w up B1"]),
        ("up", "XA", (), ["w up", "w up XA", "w up XA"]),
        ("beats", "A1", ("won",), [*(f"w beats{each}" for each in ("", " A", " A1")), "s beat", "s beat A", *WON]),
    ],
)  # fmt: skip
def test_a_placed_word_has_features_from_general_to_special(
    word: str, place: str, classes: tuple[str, ...], features: list[str]
) -> None:
    assert word_features(word, place, classes) == features


def test_patterns_name_classes_and_relations_around_the_tool() -> None:
    patterns = features("Foo quietly ditches Bar for Baz", "Bar", "Foo", "Baz").patterns
    assert {"< LEAVE", "< O LEAVE", "> for", "> for O", "= LEAVE T for", "@ LEAVE", "@ LEAVE LEAVE"} <= set(patterns)
    assert {"b ditches T", "n ditches T for", "others 2"} <= set(patterns)


def test_valences_add_up_by_side_and_place() -> None:
    figures = features("bad Foo is good", "Foo").figures
    assert figures["v + A"] == figures["v + A2"] == figures["v +"] > 0
    assert figures["v - B"] == figures["v - B1"] == figures["v -"] > 0
    assert "v" not in figures  # they cancel out


def test_a_negated_valence_has_the_other_sign_and_is_weaker() -> None:
    plain, negated = features("Foo is good", "Foo").figures, features("Foo is never good", "Foo").figures
    assert plain["v"] > 0 > negated["v"]
    assert abs(negated["v"]) < plain["v"]


def test_what_stands_between_two_tools_is_a_pattern_of_each_by_which_comes_first() -> None:
    first = features("Foo quietly beats Bar", "Foo", "Bar").patterns
    second = features("Foo quietly beats Bar", "Bar", "Foo").patterns
    assert {"~<", "~< words quietly beats", "~< symbols BEAT", "~< classes BEAT", "~< has BEAT"} <= set(first)
    assert {"~>", "~> words quietly beats", "~> symbols BEAT", "~> classes BEAT", "~> has BEAT"} <= set(second)
    assert not [each for each in features("Foo quietly beats it", "Foo").patterns if each[0] == "~"]


def test_what_leads_to_two_tools_and_joins_their_clauses_is_a_pattern() -> None:
    patterns = features("it ditches Foo for Bar", "Foo", "Bar").patterns
    assert {"~< led LEAVE | LEAVE | for", "~< verb LEAVE | for", "~< relations for", "~< joined "} <= set(patterns)
    assert "~> joined while" in features("Foo is good while Bar fell", "Bar", "Foo").patterns


def test_the_joint_figures_are_of_the_tool_and_of_the_mean_of_the_others() -> None:
    figures = joint_figures((-1.0, 2.0), (0.0, 0.5, 0.5), [(1.0, 0.0, 0.0), (0.0, 0.0, 1.0)])
    assert (figures["joint -"], figures["joint +"]) == (-1.0, 2.0)
    assert figures["joint +-"] == figures["joint ++"] == figures["joint 0+"] == pytest.approx(0.75)
    assert figures["joint -+"] == figures["joint +0"] == 0.0
