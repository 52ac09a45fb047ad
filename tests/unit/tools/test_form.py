"""What is wrong with a tool is named by field, before anything is asked."""

from typing import Any

import pytest

from models.errors import InvalidInput
from services.tools.form import changed_tool, new_tool, tool_change
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
        ({"name": "A", "name_rules": {"A": {"case": True}}}, "name_rules"),
        ({"name": "A", "name_rules": {"A": {"case_sensitive": "yes"}}}, "name_rules"),
        ({"name": "A", "status": "ACTIVE"}, "status"),
        ({"name": "A", "colour": "red"}, "colour"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as wrong:
        new_tool(fields)
    assert wrong.value.field == field


def test_names_are_trimmed_and_tickers_written_as_exchanges_do() -> None:
    new = new_tool({"name": "  Visual  Studio ", "aliases": ["VS", "VS"], "tickers": ["$msft", "brk.b"]})
    assert (new.name, new.aliases, new.tickers) == ("Visual Studio", ("VS",), ("MSFT", "BRK.B"))


def test_status_may_be_changed_but_not_to_merged() -> None:
    assert tool_change({"status": "DEPRECATED"}) == {"status": "DEPRECATED"}
    with pytest.raises(InvalidInput):
        tool_change({"status": "MERGED"})


def test_a_rule_goes_with_its_name() -> None:
    assert "C#" in tool().name_rules
    assert changed_tool(tool(), {"aliases": ("VS Code",)}, NOW).name_rules == {}
    assert changed_tool(tool(), {"aliases": tool().aliases}, NOW) == tool()
