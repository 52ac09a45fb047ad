"""A list of tools is applied entry by entry; doing it twice does it once."""

from pathlib import Path

import pytest

from models.errors import InvalidInput
from services.tools.catalog import Catalog
from services.tools.lists import apply_yaml

ROOT = Path(__file__).resolve().parents[3]


async def test_the_shipped_list_is_applied_and_found_as_it_is_the_next_time(catalog: Catalog) -> None:
    document = (ROOT / "config" / "tools.yaml").read_bytes()
    first, second = await apply_yaml(catalog, document), await apply_yaml(catalog, document)
    assert (len(first.added), first.refused, second.known) == (9, [], first.added)
    assert (second.added, second.changed, second.searched_for) == ([], [], [])


async def test_known_tools_are_changed_and_refused_entries_are_reported_by_line(catalog: Catalog) -> None:
    await apply_yaml(catalog, b"tools:\n- name: Quorvia\n  aliases: [QV]\n- name: Old\n")
    report = await apply_yaml(
        catalog,
        b"tools:\n- name: quorvia\n  tickers: [QRVA]\n- name: QV\n- nam: x\n- name: Tarnwick\n  aliases: [QV]\n"
        b"- name: Old\n  status: DEPRECATED\n",
    )
    assert [(each.line, each.name) for each in report.refused] == [(4, "QV"), (5, ""), (6, "Tarnwick")]
    quorvia = await catalog.get("QV")
    assert (quorvia.primary_name, quorvia.aliases, quorvia.tickers) == ("quorvia", ("QV",), ("QRVA",))
    assert report.searched_for == [quorvia.tool_id]
    assert (await catalog.get("Old")).status == "DEPRECATED"


@pytest.mark.parametrize(
    "document", [b"", b"tools: 7", b"- name: A", b"tools:\n- A", b"{", b"feeds: []", b"tools: &a [*a]"]
)
async def test_a_document_that_is_no_list_of_tools_is_refused(catalog: Catalog, document: bytes) -> None:
    with pytest.raises(InvalidInput):
        await apply_yaml(catalog, document)


async def test_a_tool_may_be_listed_twice_and_with_its_status(catalog: Catalog) -> None:
    report = await apply_yaml(catalog, b"tools:\n- name: Old\n  status: DEPRECATED\n- name: old\n  tickers: [O]\n")
    tool = await catalog.get("Old")
    assert (tool.primary_name, tool.status, tool.tickers) == ("old", "DEPRECATED", ("O",))
    assert (report.added, report.known, report.changed, report.refused) == ([tool.tool_id], [], [], [])
