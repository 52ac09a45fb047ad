"""A late recount never overwrites a later one, and hours stay dirty if they change while they are counted."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import pytest

from models.timeline import Timeline
from models.tool import Tool
from models.values import hour_key
from services.figures.recount import Recount
from services.figures.windows import Windows
from services.mentions.due import dirty_hours_of, dirty_hours_of_tools, few_tools_with_dirty_hours, mark_dirty
from services.store.containers import CATALOG, MENTIONS
from services.store.sqlite import SqliteStore
from tests.builders import Watch, existing
from tests.functional.articles.counting import CountingStore
from tests.functional.articles.dying import Died, DyingStore
from tests.functional.figures.world import (
    NOW,
    Judgement,
    Meanwhile,
    Process,
    Said,
    a_mention,
    a_tool,
    check_tables,
    check_unmarked_hours,
)

TOOL = a_tool(0, NOW - timedelta(days=40))
HOUR = NOW - timedelta(hours=2)


@pytest.fixture
async def process(store: SqliteStore, watch: Watch) -> Process:
    await store.create(CATALOG.name, TOOL.to_document())
    return Process(store, watch)


@pytest.mark.parametrize(
    ("first", "then"), [("positive", None), ("positive", "negative"), (None, "positive"), ("unscored", "negative")]
)
@pytest.mark.parametrize("everything", [True, False])
async def test_a_recount_that_was_overtaken_overwrites_nothing(
    store: SqliteStore, process: Process, first: Said | None, then: Said | None, everything: bool
) -> None:
    await process.analyse(TOOL.tool_id, "other", Judgement(HOUR + timedelta(minutes=1), "neutral", "2"))
    await process.cache.recount.recount_tool(TOOL.tool_id, NOW)
    await process.analyse(TOOL.tool_id, "article", Judgement(HOUR, "negative"))
    await process.analyse(TOOL.tool_id, "article", Judgement(HOUR, first))

    async def others() -> None:
        await process.analyse(TOOL.tool_id, "article", Judgement(HOUR, then))
        await process.cache.recount.recount_tool(TOOL.tool_id, NOW)

    late = Meanwhile(store, "query", MENTIONS.name, 1, others)
    recount = Recount(late)
    await (recount.rebuild_tool if everything else recount.recount_tool)(TOOL.tool_id, NOW)
    assert late.happened
    await process.cache.recount.recount_tool(TOOL.tool_id, NOW)
    await check_tables(store, TOOL.tool_id, NOW)


@pytest.mark.parametrize(("counted", "everything"), [(True, False), (False, False), (True, True)])
async def test_a_recount_that_is_overtaken_between_its_batches_overwrites_nothing(
    store: SqliteStore, process: Process, counted: bool, everything: bool
) -> None:
    """Of 60 dirty hours, those of the second batch are changed and, if `counted`, recounted after the first."""
    moments = [NOW - timedelta(hours=back) for back in range(60)]
    for number, moment in enumerate(moments):
        await process.analyse(TOOL.tool_id, f"article-{number}", Judgement(moment, "positive"))

    async def others() -> None:
        for number in (0, 5, 59):
            await process.analyse(TOOL.tool_id, f"article-{number}", Judgement(moments[number], "negative"))
        await process.analyse(TOOL.tool_id, "article-7", Judgement(moments[7], None))
        if counted:
            await process.cache.recount.recount_tool(TOOL.tool_id, NOW)

    meanwhile = Meanwhile(store, "batch_many", CATALOG.name, 1, others)
    recount = Recount(meanwhile)
    await (recount.rebuild_tool if everything else recount.recount_tool)(TOOL.tool_id, NOW)
    assert meanwhile.happened
    await check_unmarked_hours(store, TOOL.tool_id)
    assert len(await dirty_hours_of(store, TOOL.tool_id)) == (0 if counted else 4)
    await process.cache.recount.recount_tool(TOOL.tool_id, NOW)
    await check_tables(store, TOOL.tool_id, NOW)


async def test_windows_of_a_new_hour_that_were_overtaken_are_summed_again(
    store: SqliteStore, process: Process, watch: Watch
) -> None:
    """Else they would be believed for the rest of their hour: no hour is dirty any more."""
    await process.analyse(TOOL.tool_id, "article", Judgement(HOUR, "negative"))
    await process.cache.recount.recount_tool(TOOL.tool_id, NOW)
    watch.advance(minutes=60)

    async def others() -> None:
        await process.analyse(TOOL.tool_id, "another", Judgement(HOUR, "positive"))
        await process.cache.recount.recount_tool(TOOL.tool_id, watch.now)

    late = Meanwhile(store, "read_many", CATALOG.name, 2, others)
    found = await Recount(late).windows_of([TOOL.tool_id], watch.now)
    assert late.happened
    assert found.windows[TOOL.tool_id].at(watch.now)["DAY_7"]["total_mentions"] == 2
    await check_tables(store, TOOL.tool_id, watch.now)


async def test_the_hours_of_many_tools_are_counted_with_one_query(store: SqliteStore, process: Process) -> None:
    tools = [a_tool(number, NOW - timedelta(days=40)) for number in range(1, 6)]
    await store.write_many(CATALOG.name, [tool.to_document() for tool in tools])
    await process.cache.recount.windows_of([tool.tool_id for tool in tools], NOW)
    for number, tool in enumerate(tools):
        for article in range(number + 1):
            judgement = Judgement(HOUR + timedelta(minutes=article), "positive")
            await process.analyse(tool.tool_id, f"article-{article}", judgement)
    counting = CountingStore(store)
    found = await Recount(counting).windows_of([tool.tool_id for tool in tools], NOW)
    assert [found.windows[tool.tool_id].at(NOW)["DAY_7"]["total_mentions"] for tool in tools] == [1, 2, 3, 4, 5]
    # Reads dirty hours, windows, timelines with tools and dirty days, mentions, and the other days; writes one batch
    # for each tool, all in one call.
    assert counting.operations == 5 + 1
    for tool in tools:
        await check_tables(store, tool.tool_id, NOW)


async def test_mentions_older_than_any_window_are_not_counted(store: SqliteStore, process: Process) -> None:
    await process.analyse(TOOL.tool_id, "old", Judgement(NOW - timedelta(days=40), "positive"))
    await process.cache.recount.recount_tool(TOOL.tool_id, NOW)
    document = await existing(store, CATALOG.name, TOOL.tool_id, Timeline.ID)
    assert document["hours"] == {}
    assert await dirty_hours_of(store, TOOL.tool_id) == []


async def test_more_mentions_than_a_page_holds_are_all_counted(store: SqliteStore, process: Process) -> None:
    mentions = [a_mention(TOOL.tool_id, f"article-{n}", HOUR + timedelta(seconds=n % 60)) for n in range(2500)]
    await store.write_many(MENTIONS.name, [mention.to_document() for mention in mentions])
    await mark_dirty(store, {TOOL.tool_id: [HOUR]}, NOW)
    await process.cache.recount.recount_tool(TOOL.tool_id, NOW)
    await check_tables(store, TOOL.tool_id, NOW)


async def test_new_mentions_are_counted_also_after_a_thousand_old_dirty_hours(
    store: SqliteStore, process: Process
) -> None:
    """A feed's first fetch brings years."""
    await process.analyse(TOOL.tool_id, "article", Judgement(HOUR, "positive"))
    old = [NOW - timedelta(days=40, hours=number) for number in range(1001)]
    await mark_dirty(store, {TOOL.tool_id: old}, NOW)
    found = await process.cache.recount.windows_of([TOOL.tool_id], NOW)
    assert found.windows[TOOL.tool_id].at(NOW)["DAY_7"]["total_mentions"] == 1
    await check_tables(store, TOOL.tool_id, NOW)


@pytest.mark.parametrize(
    ("name", "broken", "is_dirty"),
    [
        ("TIMELINE", {"hours": 7}, True),
        ("COUNTS:20260221", {"hours": 7}, True),
        ("WINDOWS", {"whole": "x"}, False),
        ("WINDOWS", {"edges": {hour_key(NOW): {"embedded/1": {"a": {"b": [[1]]}}}}}, False),
        ("WINDOWS", {"updated_at": "lately"}, True),
        ("SUMS", {"between": {"20260214": {"numbers": 7}}}, True),
    ],
)
async def test_a_tool_whose_stored_counts_cannot_be_read_fails_alone_until_it_is_counted_anew(
    store: SqliteStore, process: Process, name: str, broken: dict[str, Any], is_dirty: bool
) -> None:
    other = a_tool(1, NOW - timedelta(days=40))
    await store.create(CATALOG.name, other.to_document())
    await process.analyse(TOOL.tool_id, "article", Judgement(HOUR, "positive"))
    await process.cache.recount.recount_tool(TOOL.tool_id, NOW)
    held = await existing(store, CATALOG.name, TOOL.tool_id, name)
    await store.upsert(CATALOG.name, {**held, **broken})
    if is_dirty:
        await process.analyse(TOOL.tool_id, "other", Judgement(HOUR, "negative"))
    found = await process.cache.recount.windows_of([TOOL.tool_id, other.tool_id], NOW)
    assert [other.tool_id in found.windows, list(found.failed)] == [True, [TOOL.tool_id]]
    await process.cache.recount.rebuild_tool(TOOL.tool_id, NOW)
    await check_tables(store, TOOL.tool_id, NOW)


async def test_an_error_of_the_program_is_not_taken_for_a_damaged_document(
    store: SqliteStore, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    await process.analyse(TOOL.tool_id, "article", Judgement(HOUR, "positive"))

    def wrong(*_: object) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr(Windows, "summed", wrong)
    with pytest.raises(IndexError):
        await process.cache.refresh.refresh_tools([TOOL.tool_id])


async def test_the_dirty_hours_of_all_tools_are_found_by_their_own_order(store: SqliteStore, watch: Watch) -> None:
    tools: list[Tool] = [a_tool(number, NOW) for number in range(3)]
    for tool in tools[:2]:
        await mark_dirty(store, {tool.tool_id: [NOW, NOW - timedelta(hours=1), NOW]}, NOW)
    await mark_dirty(store, {tools[2].tool_id: []}, NOW)
    assert await few_tools_with_dirty_hours(store) == {tool.tool_id for tool in tools[:2]}
    among = await dirty_hours_of_tools(store, [tools[1].tool_id, tools[2].tool_id])
    assert {tool_id: len(hours) for tool_id, hours in among.items()} == {tools[1].tool_id: 2}
    assert await dirty_hours_of_tools(store, []) == {}
    assert len(await dirty_hours_of(store, tools[0].tool_id)) == 2


@pytest.mark.parametrize(("everything", "when"), [(True, "after"), (False, "before")])
async def test_a_crash_between_the_batches_of_many_dirty_hours_leaves_right_counts_or_dirty_hours(
    store: SqliteStore, watch: Watch, everything: bool, when: Any, process: Process
) -> None:
    """A batch has room for 99 operations, so that these take two."""
    moments = [NOW - timedelta(hours=back) for back in range(120)]
    dirty_left: list[int] = []
    for k in itertools.count(1):
        tool = a_tool(k, TOOL.created_at)
        await store.create(CATALOG.name, tool.to_document())
        mentions = [a_mention(tool.tool_id, f"article-{n}", moment).to_document() for n, moment in enumerate(moments)]
        await store.write_many(MENTIONS.name, mentions)
        await mark_dirty(store, {tool.tool_id: moments}, NOW)
        dying = DyingStore(store, k, when)
        recount = Recount(dying)
        try:
            await (recount.rebuild_tool if everything else recount.recount_tool)(tool.tool_id, NOW)
        except Died:
            await check_unmarked_hours(store, tool.tool_id)
            dirty_left.append(len(await dirty_hours_of(store, tool.tool_id)))
        await process.cache.recount.recount_tool(tool.tool_id, NOW)
        await check_tables(store, tool.tool_id, NOW)
        if not dying.is_dead:
            break
    assert 120 in dirty_left
    assert any(0 < left < 120 for left in dirty_left)
