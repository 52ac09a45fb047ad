"""Two tools never own one name, in any race and after any crash, and no name is blocked for ever."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from models.errors import Conflict, NotFound, ToolpulseError, Unavailable
from models.tool import Tool, ToolName, name_key, normalize_name
from services.ports import Query, Store, Where
from services.store.containers import CATALOG
from services.store.sqlite import SqliteStore
from services.tools.catalog import (
    IN_USE_FOR,
    Catalog,
    ListReport,
    apply_entries,
    entries_of,
    new_tool,
    owns,
    tool_change,
)
from tests.builders import Watch
from tests.documents import OTHER_TOOL_ID, TOOL_ID
from tests.documents import tool as a_tool
from tests.failing_stores import Crash, Interrupted, mortal, unheard

ROOT = Path(__file__).resolve().parents[3]
TOOL, OTHER = a_tool(), a_tool(tool_id=OTHER_TOOL_ID)

Opened = Callable[[Store], Catalog]


def wanted(name: str, *aliases: str, **fields: Any) -> Any:
    return new_tool({"name": name, "aliases": list(aliases), **fields})


async def tools(store: Store) -> list[Tool]:
    page = await store.query(CATALOG.name, Query((Where("entity_type", "eq", "Tool"),), limit=1000))
    return [Tool.from_document(document) for document in page.items]


async def each_name_has_one_owner(store: Store) -> None:
    """Every name that a tool lists is claimed by it, so by no other."""
    page = await store.query(CATALOG.name, Query((Where("entity_type", "eq", "NameMapping"),), limit=1000))
    claims = {ToolName.from_document(each).name_normalized: each["tool_id"] for each in page.items}
    listed = Counter(normalize_name(name) for tool in await tools(store) for name in tool.names)
    assert max(listed.values(), default=1) == 1, listed
    for tool in await tools(store):
        assert {claims.get(normalize_name(name)) for name in tool.names} == {tool.tool_id}


async def test_a_tool_is_found_by_id_name_and_alias_in_any_case_and_spacing(catalog: Catalog) -> None:
    tool = await catalog.add(wanted("Visual Studio Code", "VS Code", "C#"))
    for text in (tool.tool_id, "visual  studio CODE", " vs code", "c#"):
        assert (await catalog.get(text)).tool_id == tool.tool_id
    for text in ("C", "C++", "", "studio", "00000000-0000-4000-8000-00000000ffff"):
        assert await catalog.find(text) is None
    with pytest.raises(NotFound):
        await catalog.get("C")


async def test_a_name_of_another_tool_conflicts_and_nothing_is_left_behind(
    catalog: Catalog, store: SqliteStore
) -> None:
    first = await catalog.add(wanted("Quorvia", "QV"))
    for new in (wanted("quorvia"), wanted("Other", "Free", "qv"), wanted("QV")):
        with pytest.raises(Conflict, match=first.tool_id):
            await catalog.add(new)
    other = await catalog.add(wanted("Other", "Free"))
    with pytest.raises(Conflict, match=first.tool_id):
        await catalog.change(other.tool_id, tool_change({"aliases": ["Free", "Freer", "QV"]}))
    assert (await catalog.get("Other")).aliases == ("Free",)
    await each_name_has_one_owner(store)


async def test_a_change_frees_the_names_that_it_takes_away(catalog: Catalog, store: SqliteStore) -> None:
    tool = await catalog.add(wanted("Old", "Both", "Gone"))
    changed, is_other = await catalog.change("gone", tool_change({"name": "New", "aliases": ["both", "Old"]}))
    assert (changed.tool_id, changed.names, is_other) == (tool.tool_id, ("New", "both", "Old"), True)
    assert await catalog.find("Gone") is None
    assert (await catalog.add(wanted("Gone"))).tool_id != tool.tool_id
    await each_name_has_one_owner(store)


async def test_what_changes_nothing_is_no_change(catalog: Catalog) -> None:
    tool = await catalog.add(wanted("Quorvia", "QV", tickers=["qrva"]))
    version = await catalog.version()
    same, is_other = await catalog.change("QV", tool_change({"tickers": ["QRVA"], "status": "ACTIVE"}))
    assert (same.stored_etag, is_other) == (tool.stored_etag, False)
    assert await catalog.version() == version


async def test_each_change_of_what_is_recognised_changes_the_version(catalog: Catalog) -> None:
    versions = [await catalog.version()]
    await catalog.add(wanted("Quorvia"))
    for change in ({"aliases": ["QV"]}, {"excluded": ["QV codes"]}, {"status": "DEPRECATED"}):
        versions.append(await catalog.version())
        await catalog.change("Quorvia", tool_change(change))
    versions.append(await catalog.version())
    assert len(set(versions)) == len(versions)


@pytest.mark.parametrize("failing", [mortal, unheard], ids=["dies", "hears no answer"])
async def test_adding_a_tool_can_be_repeated_after_a_death_or_a_lost_answer_at_any_write(
    store: SqliteStore, catalog_on: Opened, watch: Watch, failing: Callable[[Store, int], Store]
) -> None:
    for writes in range(6):
        survived = False
        with contextlib.suppress(Crash, Unavailable):
            await catalog_on(failing(store, writes)).add(wanted(f"Quorvia{writes}", f"QV{writes}", f"DB{writes}"))
            survived = True
        assert survived == (writes == 5), "a fault at each of the five writes"
        watch.advance(seconds=IN_USE_FOR.total_seconds())
        catalog = catalog_on(store)
        with contextlib.suppress(Conflict):
            await catalog.add(wanted(f"Another{writes}", f"qv{writes}"))
        with contextlib.suppress(Conflict):
            await catalog.add(wanted(f"quorvia{writes}"))
        for name in (f"Quorvia{writes}", f"QV{writes}"):
            assert await catalog.find(name) is not None, "no name is blocked"
    await each_name_has_one_owner(store)


@pytest.mark.parametrize("failing", [mortal, unheard], ids=["dies", "hears no answer"])
async def test_the_names_of_a_change_are_free_after_a_death_or_a_lost_answer_at_any_write(
    store: SqliteStore, catalog_on: Opened, watch: Watch, failing: Callable[[Store, int], Store]
) -> None:
    for writes in range(8):
        catalog = catalog_on(store)
        await catalog.add(wanted(f"Quorvia{writes}", f"QV{writes}", f"Old{writes}"))
        change = tool_change({"name": f"Next{writes}", "aliases": [f"New{writes}"]})
        survived = False
        with contextlib.suppress(Crash, Unavailable):
            await catalog_on(failing(store, writes)).change(f"Quorvia{writes}", change)
            survived = True
        assert survived == (writes == 7), "a fault at each of the seven writes"
        watch.advance(seconds=IN_USE_FOR.total_seconds())
        added = 0
        for name in ("QV", "Old", "New", "Next"):
            with contextlib.suppress(Conflict):
                await catalog.add(wanted(f"{name}{writes}"))
                added += 1
        assert added == 2, "as many names are free as before or after the change"
    await each_name_has_one_owner(store)


@pytest.mark.parametrize("is_new", [True, False])
async def test_whatever_call_another_caller_comes_before_a_name_has_one_owner(
    store: SqliteStore, catalog_on: Opened, is_new: bool
) -> None:
    for number in range(40):
        name, contested = f"Slow{number}", f"Contested{number}"
        if not is_new:
            await catalog_on(store).add(wanted(name))

        async def come_between(number: int = number, contested: str = contested) -> None:
            with contextlib.suppress(Conflict):
                await catalog_on(store).add(wanted(f"Quick{number}", contested))

        interrupted = Interrupted(store, number, come_between)
        catalog = catalog_on(cast("Store", interrupted))
        with contextlib.suppress(ToolpulseError):
            if is_new:
                await catalog.add(wanted(name, contested))
            else:
                await catalog.change(name, tool_change({"aliases": [contested]}))
        assert await catalog_on(store).find(contested) is not None, number
        if not interrupted.has_acted:
            break
    assert 5 < number < 39
    await each_name_has_one_owner(store)


async def test_active_tools_come_in_pages_by_name(catalog: Catalog) -> None:
    for name in ("b", "c", "A"):
        await catalog.add(wanted(name))
    await catalog.change("c", tool_change({"status": "DEPRECATED"}))
    assert [tool.primary_name for tool in await catalog.active()] == ["A", "b"]
    first = await catalog.page(2)
    second = await catalog.page(2, first.next)
    assert ([tool.primary_name for tool in (*first.items, *second.items)], second.next) == (["A", "b", "c"], None)


@pytest.mark.parametrize(
    ("name", "normalized"),
    [
        ("  Visual\tStudio  CODE ", "visual studio code"),
        ("C#", "c#"),
        ("C++", "c++"),
        (".NET", ".net"),
        ("Straße", "strasse"),
        ("\uff23\uff2f\uff24\uff25", "code"),
        ("ﬁne", "fine"),
        ("Cafe\u0301", "café"),
        ("\u0345\u0391", "\u03b9\u03b1"),
        ("  ", ""),
    ],
)
def test_names_are_alike_in_case_form_and_space_and_keep_their_punctuation(name: str, normalized: str) -> None:
    assert normalize_name(name) == normalized
    assert normalize_name(normalized) == normalized


def test_the_key_of_a_name_is_its_hash() -> None:
    assert name_key("c#") == "NAME:951a4d36e0a9018b7b895a76402a7b6b"


def test_a_tool_owns_the_names_that_it_lists_in_any_spelling() -> None:
    assert owns(TOOL, "visual STUDIO code")
    assert owns(TOOL, "c#")
    assert not owns(TOOL, "C")
    assert not owns(None, "C#")


async def claimed_by(catalog: Catalog, name: str) -> str | None:
    claim = await catalog.claim_of(name)
    return None if claim is None else claim.tool_id


async def test_a_name_that_a_tool_lists_is_never_taken_over(catalog: Catalog, store: SqliteStore, watch: Watch) -> None:
    await store.create("catalog", TOOL.to_document())
    await catalog.claim("C#", TOOL)
    await catalog.release(["C#"], TOOL_ID)
    watch.advance(days=1)
    with pytest.raises(Conflict, match=TOOL_ID):
        await catalog.claim("C#", OTHER)
    await catalog.claim("C#", OTHER, instead_of=TOOL_ID)
    assert await claimed_by(catalog, "c#") == OTHER_TOOL_ID


@pytest.mark.parametrize("has_tool", [False, True])
async def test_a_claim_whose_tool_does_not_list_the_name_is_taken_over_after_a_minute(
    catalog: Catalog, store: SqliteStore, watch: Watch, has_tool: bool
) -> None:
    if has_tool:
        await store.create("catalog", TOOL.to_document())
    await catalog.claim("Free", TOOL)
    watch.advance(hours=1)
    await catalog.claim("free", TOOL)  # renews the claim
    watch.advance(seconds=59)
    with pytest.raises(Conflict, match="just now"):
        await catalog.claim("Free", OTHER)
    watch.advance(seconds=1)
    await catalog.claim("Free", OTHER)
    assert await claimed_by(catalog, "Free") == OTHER_TOOL_ID
    assert timedelta(minutes=1) == IN_USE_FOR


async def test_a_name_that_is_released_is_taken_over_at_once(catalog: Catalog) -> None:
    for name in ("Free", "Other"):
        await catalog.claim(name, OTHER if name == "Other" else TOOL)
        await catalog.release([name], TOOL_ID)
    await catalog.release(["Unknown"], TOOL_ID)
    await catalog.claim("Free", OTHER)
    with pytest.raises(Conflict, match="just now"):
        await catalog.claim("Other", TOOL)
    assert await claimed_by(catalog, "Unknown") is None


async def test_a_claim_of_a_clock_that_was_ahead_is_taken_over(catalog: Catalog, watch: Watch) -> None:
    watch.advance(days=1)
    await catalog.claim("Quorvia", TOOL)
    watch.advance(days=-1)
    await catalog.claim("Quorvia", OTHER)


async def apply_list(catalog: Catalog, document: bytes) -> ListReport:
    return await apply_entries(catalog, entries_of(document))


async def test_a_name_says_whether_a_person_or_a_list_gave_it(catalog: Catalog, watch: Watch) -> None:
    await apply_list(catalog, b"tools:\n- name: Quorvia\n  aliases: [QV]\n")
    first = watch.now
    watch.advance(hours=1)
    await catalog.change("Quorvia", tool_change({"name": "QVia", "aliases": ["quorvia", "Qv"]}))
    await catalog.add(wanted("Tarnwick"))

    async def listed(name: str) -> list[Any]:
        found = (await catalog.names(name)).items
        return [(each.name_raw, each.name_kind, each.source, each.created_at) for each in found]

    assert await listed("qv") == [
        ("QVia", "PRIMARY", "USER_INPUT", watch.now),
        ("quorvia", "ALIAS", "CONFIG", first),
        ("Qv", "ALIAS", "CONFIG", first),
    ]
    assert await listed("Tarnwick") == [("Tarnwick", "PRIMARY", "USER_INPUT", watch.now)]
    await catalog.change("QVia", tool_change({"aliases": ["quorvia"]}))
    await apply_list(catalog, b"tools:\n- name: Tarnwick\n  aliases: [QV]\n")
    assert (await listed("Tarnwick"))[1] == ("QV", "ALIAS", "CONFIG", watch.now)


async def test_the_shipped_list_is_applied_and_found_as_it_is_the_next_time(catalog: Catalog) -> None:
    document = (ROOT / "config" / "tools.yaml").read_bytes()
    first, second = await apply_list(catalog, document), await apply_list(catalog, document)
    assert (len(first.added), first.refused, second.known) == (9, [], first.added)
    assert (second.added, second.changed, second.searched_for) == ([], [], [])


async def test_known_tools_are_changed_and_refused_entries_are_reported_by_line(catalog: Catalog) -> None:
    await apply_list(catalog, b"tools:\n- name: Quorvia\n  aliases: [QV]\n- name: Old\n")
    report = await apply_list(
        catalog,
        b"tools:\n- name: quorvia\n  tickers: [QRVA]\n- name: QV\n- nam: x\n- name: Tarnwick\n  aliases: [QV]\n"
        b"- name: Old\n  status: DEPRECATED\n",
    )
    assert [(each.line, each.name) for each in report.refused] == [(4, "QV"), (5, ""), (6, "Tarnwick")]
    quorvia = await catalog.get("QV")
    assert (quorvia.primary_name, quorvia.aliases, quorvia.tickers) == ("quorvia", ("QV",), ("QRVA",))
    assert report.searched_for == [quorvia.tool_id]
    assert (await catalog.get("Old")).status == "DEPRECATED"


async def test_a_tool_may_be_listed_twice_and_with_its_status(catalog: Catalog) -> None:
    report = await apply_list(catalog, b"tools:\n- name: Old\n  status: DEPRECATED\n- name: old\n  tickers: [O]\n")
    tool = await catalog.get("Old")
    assert (tool.primary_name, tool.status, tool.tickers) == ("old", "DEPRECATED", ("O",))
    assert ([each.tool_id for each in report.added], report.known, report.changed, report.refused) == (
        [tool.tool_id],
        *([], [], []),
    )
