"""The form of a tool is checked before anything is stored, and an error names its field."""

from typing import Any

import pytest

from models.errors import InvalidInput
from models.tool import NameRule
from services.tools.catalog import changed_tool, new_tool, tool_change
from tests.documents import NOW, tool


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "name"),
        ({"name": "  "}, "name"),
        ({"name": 7}, "name"),
        ({"name": "x" * 121}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"name": "\u093fa"}, "name"),
        ({"name": "A", "aliases": "B"}, "aliases"),
        ({"name": "A", "aliases": ["a"]}, "aliases"),
        ({"name": "A", "aliases": [None]}, "aliases"),
        ({"name": "A", "aliases": [str(n) for n in range(101)]}, "aliases"),
        ({"name": "A", "tickers": ["A B"]}, "tickers"),
        ({"name": "A", "name_rules": {"B": {}}}, "name_rules"),
        ({"name": "A", "name_rules": {"A": {"case_sensitive": "yes"}}}, "name_rules"),
        ({"name": "A", "status": "ACTIVE"}, "status"),
        ({"name": "A", "colour": "red"}, "colour"),
        ({"name": "A", "tickers": ["x" * 16]}, "tickers"),
        ({"name": "A", "name_rules": {"a": {}}}, "name_rules"),
        ({"name": "A", "name_rules": {"A": {"context": "word"}}}, "name_rules"),
        ({"name": "A", "name_rules": {str(n): {} for n in range(101)}}, "name_rules"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as wrong:
        new_tool(fields)
    assert wrong.value.field == field


INVISIBLE = (
    "\u200b\u200c\u200d\u2060\ufeff\u00ad\u202e\u2066\u200e\u2800"
    "\u3164\u115f\uffa0\u034f\ufe0f\ufe00\u180b\u17b4\U000e0041\U000e0100"
)


@pytest.mark.parametrize(
    "name", [*(f"Ru{each}st" for each in INVISIBLE), "\u200c\u0645\u06cc", "a\u200c\u0645", "\u0645\u200c"]
)
def test_a_name_with_a_character_that_shows_nothing_is_refused_as_it_could_look_like_another(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"invisible characters such as U\+"):
        new_tool({"name": name})


@pytest.mark.parametrize(
    "name",
    ["\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0915\u094d\u200d\u0937", "caf\u00e9", "C#", "\u6771\u4eac"],
)
def test_a_name_may_have_joiners_where_they_show_and_letters_of_any_script(name: str) -> None:
    assert new_tool({"name": name})["primary_name"] == name


def test_status_may_be_changed_but_not_to_merged() -> None:
    assert tool_change({"status": "DEPRECATED"}) == {"status": "DEPRECATED"}
    with pytest.raises(InvalidInput):
        tool_change({"status": "MERGED"})


def test_the_longest_forms_are_allowed() -> None:
    names = [str(number) for number in range(100)]
    rules: dict[str, Any] = {name: {} for name in names}
    assert len(new_tool({"name": "x", "aliases": names, "name_rules": rules})["name_rules"]) == 100
    new = new_tool({"name": "x" * 120, "aliases": names, "tickers": ["x" * 15], "excluded": names, "keywords": names})
    assert (len(new["primary_name"]), len(new["aliases"]), new["tickers"]) == (120, 100, ("X" * 15,))


def test_an_error_says_what_is_allowed() -> None:
    for fields, words in (
        ({"name": "x" * 121}, "1 to 120 characters"),
        ({"name": "A", "aliases": 7}, "a list of at most 100"),
        ({"name": "A", "tickers": ["?"]}, "AAPL or BRK.B"),
        ({"name": "A", "name_rules": {"A": 7}}, "name_rules: must be an object"),
        ({"name": "A", "aliases": ["a"]}, "'a' is there twice"),
        ({"name": "A", "x": 1}, "name, aliases, tickers, keywords, excluded, muted_sources, name_rules"),
    ):
        with pytest.raises(InvalidInput, match=words):
            new_tool(fields)
    with pytest.raises(InvalidInput, match="ACTIVE, DEPRECATED"):
        tool_change({"status": "GONE"})


def test_the_fields_of_a_new_tool_have_their_stored_names_and_usual_spelling() -> None:
    fields = {
        "name": " A \t b ",
        "aliases": ["B", "B"],
        "tickers": ["$c", "brk.b"],
        "keywords": ["D"],
        "excluded": ["E"],
        "name_rules": {"A b": {"case_sensitive": True, "context": ["F"]}, "B": {}},
    }
    assert new_tool(fields) == {
        "primary_name": "A b",
        "aliases": ("B",),
        "tickers": ("C", "BRK.B"),
        "keywords": ("D",),
        "excluded": ("E",),
        "name_rules": {"A b": NameRule(case_sensitive=True, context=("F",)), "B": NameRule()},
    }


def test_a_null_field_of_a_new_tool_is_absent() -> None:
    assert new_tool({"name": "A", "aliases": None, "name_rules": None}) == {"primary_name": "A"}


def test_a_change_is_by_stored_names_and_checked() -> None:
    rule = NameRule(context=("x",))
    given = {"name": " A ", "name_rules": {"A": {"context": ["x"]}}}
    assert tool_change(given) == {"primary_name": "A", "name_rules": {"A": rule}}
    for change in ({"name": ""}, {"aliases": None}, {"colour": 1}):
        with pytest.raises(InvalidInput):
            tool_change(change)


def test_a_changed_tool_keeps_rules_of_its_names_only_unless_new_rules_are_given() -> None:
    renamed = changed_tool(tool(), {"primary_name": "Code"}, NOW)
    assert (renamed.primary_name, "C#" in renamed.name_rules) == ("Code", True)
    assert changed_tool(tool(), {"name_rules": {}}, NOW).name_rules == {}
    assert changed_tool(tool(), {"aliases": ("VS Code",)}, NOW).name_rules == {}
    same = tool()
    assert changed_tool(same, {"aliases": same.aliases, "status": "ACTIVE"}, NOW) is same
    with pytest.raises(InvalidInput, match="name_rules"):
        changed_tool(tool(), {"name_rules": {"Nobody": NameRule()}}, NOW)
    with pytest.raises(InvalidInput, match="aliases"):
        changed_tool(tool(), {"primary_name": "vs code"}, NOW)


@pytest.mark.parametrize(
    "change",
    [
        {"primary_name": "Code", "name_rules": {}},
        {"aliases": (), "name_rules": {}},
        {"tickers": ("MSFT",)},
        {"keywords": ("editor",)},
        {"excluded": ("no",)},
        {"name_rules": {}},
        {"status": "DEPRECATED"},
    ],
)
def test_detection_depends_on_these_fields(change: dict[str, Any]) -> None:
    assert not tool().is_detected_as(tool().changed(NOW, **change))
    assert tool().is_detected_as(tool().changed(NOW, scored_by="x", discovery_date="2026-01-01"))
