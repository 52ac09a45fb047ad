"""The references of a tool outlive mentions and articles, and follow every change of a mention before that."""

from __future__ import annotations

import itertools
from datetime import date, datetime, timedelta
from typing import Any

import pytest

from models.errors import InvalidInput
from models.tool import ReferenceDay, Tool
from services.figures.figures import Figures
from services.mentions import references
from services.mentions.references import Asked, ToolReferences, keep_references
from services.ports import Query, Store
from services.store.containers import CATALOG, MENTIONS
from services.tools.catalog import new_tool
from services.work.announcing import Announcer
from tests.builders import MemoryQueues, existing
from tests.functional.figures.world import a_mention
from tests.functional.mentions.world import World

DAY = timedelta(days=1)


async def listed(world: World, tool: Tool, limit: int = 50, **filters: Any) -> list[dict[str, Any]]:
    """All references, page by page."""
    known = await world.worker.catalog.get(tool.tool_id)
    reader, cursor = reader_of(world), None
    found: list[dict[str, Any]] = []
    while True:
        page = await reader.page(known, Asked(**filters), limit, cursor)
        assert len(page.items) == limit or page.next is None
        found += page.items
        cursor = page.next
        if cursor is None:
            return found
        assert page.items, "an empty page follows nothing"


def reader_of(world: World) -> ToolReferences:
    return ToolReferences(world.store, world.worker.catalog)


async def ids(world: World, tool: Tool, **more: Any) -> list[str]:
    return [each["source_id"] for each in await listed(world, tool, **more)]


async def closed(world: World, store: Store | None = None) -> None:
    """All days that are due are closed and frozen."""
    store = store or world.store
    announcer = Announcer(MemoryQueues())
    new_id = iter(f"{number}" for number in itertools.count())
    figures = Figures(
        *(store, world.worker.catalog, announcer, world.watch, lambda: next(new_id), 0.0, lambda: "words/1")
    )
    while (await figures.daily_closes.work()).done:
        pass


async def recounted(world: World, *tools: Tool) -> None:
    for each in tools:
        await world.worker.recount.recount_tool(each.tool_id, world.watch.now)


async def said(world: World, tool: Tool, name: str, at: datetime, **fields: Any) -> None:
    mention = a_mention(tool.tool_id, name, at, **fields)
    await world.store.upsert(MENTIONS.name, mention.to_document())


async def kept(world: World, tool: Tool) -> dict[str, list[str]]:
    found = (await world.store.query(CATALOG.name, Query(partition=tool.tool_id, limit=1000))).items
    days = [ReferenceDay.from_document(each) for each in found if each["id"].startswith("REFS:")]
    return {each.day: [one.source_id for one in each.references] for each in days}


async def keep(world: World, tool: Tool, day: date) -> None:
    """As the daily close does."""
    found = (await world.store.query(MENTIONS.name, Query(partition=tool.tool_id, limit=1000))).items
    mentions = [each for each in found if each["published_at"].startswith(day.isoformat())]
    await keep_references(world.store, tool.tool_id, day, mentions, world.watch.now)


async def test_references_outlive_articles_and_mentions(world: World) -> None:
    tool = await world.tool("Quorvia")
    names = [await world.article(number, "Quorvia is good") for number in (1, 2, 3)]
    await world.delivered(names)
    live = await listed(world, tool)
    assert [each["source_id"] for each in live] == names
    assert [each["role"] for each in live] == ["TIMELINE_SOURCE", "TIMELINE_SOURCE", "DISCOVERY"]
    assert all(each["article_url"] == f"/api/v1/articles/{each['source_id']}" for each in live)
    for days in (32, 14, 400):
        world.watch.advance(hours=24 * days)
        await closed(world)
        old = await listed(world, tool)
        links = {"tool": f"/api/v1/tools/{tool.tool_id}"}
        assert old == [{**each, "article_url": None, "links": links} for each in live]
    assert await world.mentions(tool) == {}
    assert (await world.store.query(MENTIONS.name, world.everything)).items == []


async def test_live_and_kept_references_are_listed_once_and_paged_exactly(world: World) -> None:
    tool = await world.tool("Quorvia")
    start = world.watch.now
    expected = []
    for days in (80, 50, 40, 35, 33, 31, 30, 29, 3, 0):
        for number in range(3):
            # Two of three are published in the same second.
            name, at = f"article-{days:02}-{number}", start - days * DAY - timedelta(hours=number // 2)
            await said(world, tool, name, at, created_at=max(at, start - 44 * DAY))
            expected.append((at, name))
    for day in sorted({at.date() for at, _ in expected}):
        await keep(world, tool, day)
    newest_first = [name for _, name in sorted(expected, reverse=True)]
    for limit in (1, 2, 3, 7, 30, 31, 100):
        assert await ids(world, tool, limit=limit) == newest_first, limit
    since, until = f"{start - 50 * DAY:%Y-%m-%dT%H:%M:%SZ}", f"{start - 29 * DAY:%Y-%m-%dT%H:%M:%SZ}"
    wanted = [name for at, name in sorted(expected, reverse=True) if start - 50 * DAY <= at < start - 29 * DAY]
    for limit in (1, 4, 50):
        assert await ids(world, tool, limit=limit, since=since, until=until) == wanted


async def test_a_role_is_found_among_others_and_a_page_looks_at_a_bounded_number(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = await world.tool("Quorvia")
    for number in range(20):
        role = "OTHER" if number % 7 == 0 else "TIMELINE_SOURCE"
        await said(world, tool, f"article-{number:02}", world.watch.now - number * DAY, role=role)
    wanted = ["article-00", "article-07", "article-14"]
    for limit in (1, 2, 3, 50):
        assert await ids(world, tool, limit=limit, role="OTHER") == wanted
    monkeypatch.setattr(references, "MAX_LOOKED_AT", 4)
    reader, cursor = reader_of(world), None
    pages: list[list[str]] = []
    while cursor is not None or not pages:
        page = await reader.page(tool, Asked("OTHER"), 50, cursor)
        pages.append([each["source_id"] for each in page.items])
        cursor = page.next
    assert pages == [["article-00"], ["article-07"], [], ["article-14"], []]


async def test_a_cursor_of_another_list_is_refused(world: World) -> None:
    tool = await world.tool("Quorvia")
    for number in range(3):
        await said(world, tool, f"article-{number}", world.watch.now)
    reader = reader_of(world)
    cursor = (await reader.page(tool, Asked(), 1, None)).next
    for asked, given in ((Asked("OTHER"), cursor), (Asked(), "x"), (Asked(), "")):
        with pytest.raises(InvalidInput, match="cursor"):
            await reader.page(tool, asked, 1, given)


async def test_a_merged_tool_gives_its_references(world: World) -> None:
    old, new = await world.tool("Hexwharf"), await world.tool("Pebblegrid")
    long_ago, then = world.watch.now - 400 * DAY, world.watch.now - 33 * DAY
    for tool, whose in ((old, "old"), (new, "new")):
        names = (f"ancient-{whose}", "ancient-both")
        for name in names:
            await said(world, tool, name, long_ago, created_at=world.watch.now)
        await keep(world, tool, long_ago.date())
        for name in names:
            await world.store.delete(MENTIONS.name, tool.tool_id, name)
    theirs = await world.article(1, "Hexwharf is good", timestamp=then)
    both = await world.article(2, "Hexwharf is bad", "Pebblegrid is bad", timestamp=then)
    own = await world.article(3, "Pebblegrid is good", timestamp=then)
    await world.delivered([theirs, both, own])
    await recounted(world, old, new)
    before = [await ids(world, each) for each in (old, new)]
    assert before == [[both, theirs, "ancient-old", "ancient-both"], [own, both, "ancient-new", "ancient-both"]]
    run = await world.run(await world.worker.changes.merge(old.tool_id, new.tool_id))
    assert run.status == "SUCCEEDED"
    joint = [own, both, theirs, "ancient-old", "ancient-new", "ancient-both"]
    for limit in (1, 2, 50):
        assert await ids(world, new, limit=limit) == joint
        assert await ids(world, old, limit=limit) == joint
    await recounted(world, old, new)
    assert set(itertools.chain(*(await kept(world, old)).values())) == {"ancient-old", "ancient-both"}


async def test_of_a_day_with_too_many_references_the_latest_are_kept_and_the_page_says_how_many_are_missing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = await world.tool("Quorvia")
    at = world.watch.now - 33 * DAY
    for number in range(5):
        await said(world, tool, f"article-{number}", at, created_at=world.watch.now)
    monkeypatch.setattr(references, "MAX_KEPT", 3)
    await keep(world, tool, at.date())
    world.watch.advance(hours=24 * 60)
    page = await reader_of(world).page(tool, Asked(), 50, None)
    assert [each["source_id"] for each in page.items] == ["article-4", "article-3", "article-2"]
    assert page.not_kept == {at.date().isoformat(): 2}


async def test_documents_that_cannot_be_read_hide_nothing_else(world: World) -> None:
    tool = await world.tool("Quorvia")
    old, older = world.watch.now - 33 * DAY, world.watch.now - 35 * DAY
    for at in (old, older):
        await said(world, tool, f"article-{at.date()}", at, created_at=world.watch.now)
    await keep(world, tool, older.date())
    broken = {"id": ReferenceDay.id_of(old.date().isoformat()), "pk": tool.tool_id, "entity_type": "ReferenceDay"}
    await world.store.upsert(CATALOG.name, broken)
    mention = await existing(world.store, MENTIONS.name, tool.tool_id, f"article-{older.date()}")
    await world.store.upsert(MENTIONS.name, {**mention, "analyzer": 7})
    page = await reader_of(world).page(tool, Asked(), 50, None)
    assert [each["source_id"] for each in page.items] == [f"article-{old.date()}", f"article-{older.date()}"]
    assert sorted(page.unreadable) == sorted([broken["id"], f"article-{older.date()}"])


async def test_a_reference_says_which_workflow_added_it(world: World) -> None:
    old = await world.tool("Quorvia")
    early, late = await world.article(1, "Quorvia and Hexwharf are good"), await world.article(2, "Quorvia, a plan")
    await world.delivered([early])
    worker = world.worker

    async def added_by(tool: Tool) -> dict[str, str]:
        return {each["source_id"]: each["added_by_workflow"] for each in await listed(world, tool)}

    new, run = await worker.changes.add_tool(new_tool({"name": "Hexwharf"}))
    await world.run(run)
    await world.delivered([late])
    await world.run(await worker.changes.reanalyze("Quorvia"))
    assert await added_by(old) == {early: "analyze_articles", late: "analyze_articles"}
    assert await added_by(new) == {early: "backfill_tools"}
    verdict = await worker.correct(new, early, "not_this_tool")
    assert await added_by(new) == {}
    await worker.undo(new, verdict.correction_id)
    assert await added_by(new) == {early: "correct_mention"}
    await world.run(await worker.changes.merge("Quorvia", "Hexwharf"))
    assert await added_by(new) == {early: "correct_mention", late: "merge_tool"}
    kept_at = world.watch.now.date()
    world.watch.advance(hours=24 * 32)
    await keep(world, new, kept_at)
    (kept,) = await world.store.read_many(CATALOG.name, [(new.tool_id, ReferenceDay.id_of(kept_at.isoformat()))])
    assert [each["added_by_workflow"] for each in (kept or {})["references"]] == ["correct_mention", "merge_tool"]
