"""Two tools never own one name, in any race and after any crash, and no name is blocked for ever."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Any, cast

import pytest

from models.errors import Conflict, NotFound, ToolpulseError, Unavailable
from models.tool import Tool, ToolName, normalize_name
from services.ports import Query, Store, Where
from services.store.containers import CATALOG
from services.store.sqlite import SqliteStore
from services.tools.catalog import Catalog
from services.tools.form import new_tool, tool_change
from services.tools.names import IN_USE_FOR
from tests.builders import Watch
from tests.failing_stores import Crash, Interrupted, hesitant, mortal, unheard

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


@pytest.mark.parametrize("seed", range(6))
async def test_of_many_callers_that_want_the_same_names_at_once_each_name_gets_one_owner(
    store: SqliteStore, catalog_on: Opened, seed: int
) -> None:
    async def one(number: int) -> None:
        with contextlib.suppress(ToolpulseError):
            catalog = catalog_on(hesitant(store, seed * 10 + number))
            if number % 2:
                await catalog.add(wanted(f"tool {number % 3}", f"name {number % 4}", "Everybody's"))
            else:
                await catalog.change(
                    "the first", tool_change({"aliases": [f"name {number % 4}", f"tool {number % 3}"]})
                )

    await catalog_on(store).add(wanted("The first"))
    await asyncio.gather(*(one(number) for number in range(8)))
    await each_name_has_one_owner(store)


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
