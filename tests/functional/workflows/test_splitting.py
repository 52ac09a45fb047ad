"""A source that was put into the wrong article becomes an article of its own, and may return."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from models.correction import GroupingCorrection
from models.errors import Conflict, NotFound
from services.articles import splitting
from services.store.sqlite import SqliteStore
from services.work.driver import WORKFLOWS_STAGE
from tests.builders import overdue_keys
from tests.failing_stores import Crash, mortal
from tests.functional.articles.world import SettableClock
from tests.functional.workflows.split_world import ADA, SplitWorld, entry


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[SplitWorld]:
    clock = SettableClock()
    store = SqliteStore(tmp_path / "store.db", clock)
    await store.ensure_containers()
    yield await SplitWorld.of(store, clock)
    await store.close()


async def split(world: SplitWorld, source_id: str, source: str) -> GroupingCorrection:
    return await world.analysing.worker.grouping.split_article(source_id, source, ADA)


@pytest.mark.parametrize("source", ["a", "b"])
async def test_each_article_has_its_own_text_and_mentions_when_the_call_returns_and_the_old_one_keeps_its_time(
    world: SplitWorld, source: str
) -> None:
    before = await world.brought("a", "b")
    made = await split(world, before.source_id, source)
    of = {each.sources: each for each in await world.articles()}
    one, other = of["a",], of["b",]
    assert (one.text_for_analysis, other.text_for_analysis) == ("Quorvia is good.", "Pebblegrid is bad.")
    assert {made.articles[0], made.others[0]} == {one.source_id, other.source_id}
    assert made.articles[0] == before.source_id
    assert await world.mentioned(world.quorvia) == {one.source_id: "09"}
    assert await world.mentioned(world.pebblegrid) == {other.source_id: "15" if source == "b" else "09"}
    await world.is_whole()


async def test_later_entries_and_edits_of_the_source_go_to_its_own_article(world: SplitWorld) -> None:
    before = await world.brought("a", "b")
    made = await split(world, before.source_id, "b")
    world.ingesting.publish("b", [entry("b", text="Quorvia is bad now.")])
    await world.ingesting.poll("b")
    world.ingesting.publish("a", [entry("a", text="Quorvia is good, still.")])
    await world.ingesting.poll("a", world.ingesting.new_worker())
    await world.analyse()
    assert await world.sources() == [["a"], ["b"]]
    mentions = await world.analysing.mentions(world.quorvia)
    assert {key: each.sentiment for key, each in mentions.items()} == {
        before.source_id: "positive",
        made.others[0]: "negative",
    }
    await world.is_whole()


async def test_no_further_source_joins_the_article_by_its_headline_until_the_split_is_undone(
    world: SplitWorld,
) -> None:
    before = await world.brought("a", "b")
    made = await split(world, before.source_id, "b")
    await world.ingesting.add_feed("c", [entry("c")])
    await world.ingesting.poll("c")
    await world.ingesting.add_feed("d", [entry("d", link="https://b.example/1")])
    await world.ingesting.poll("d")
    assert sorted(await world.sources()) == [["a"], ["b", "d"], ["c"]]
    await world.analysing.worker.grouping.undo(made.correction_id, ADA)
    await world.ingesting.add_feed("e", [entry("e")])
    await world.ingesting.poll("e")
    await world.analyse()
    assert sorted(await world.sources()) == [["a", "b", "d", "e"], ["c"]]
    await world.is_whole()


@pytest.mark.parametrize("source", ["a", "b"])
async def test_undoing_returns_the_source_with_the_edits_that_came_in_meanwhile(world: SplitWorld, source: str) -> None:
    before = await world.brought("a", "b")
    made = await split(world, before.source_id, source)
    edited = entry(source, text="Quorvia is bad now.")
    world.clock.forward(days=1)
    world.ingesting.publish(source, [edited])
    await world.ingesting.poll(source)
    undone = await world.analysing.worker.grouping.undo(made.correction_id, ADA)
    assert (undone.undone_by, undone.is_active) == ("Ada", False)
    (article,) = await world.articles()
    assert (article.source_id, article.sources) == (before.source_id, ("a", "b"))
    assert (article.timestamp, article.headline, article.created_at) == (
        before.timestamp,
        before.headline,
        before.created_at,
    )
    assert article.text_for_analysis == "Quorvia is bad now."
    assert article.source_attribution["b"].joined_by == "headline_and_day"
    assert await world.mentioned(world.quorvia) == {article.source_id: "09"}
    await world.is_whole()
    world.ingesting.publish(source, [entry(source, text="Pebblegrid is good.")])
    await world.ingesting.poll(source)
    await world.analyse()
    assert await world.sources() == [["a", "b"]]
    again = await split(world, before.source_id, source)
    assert again.correction_id != made.correction_id
    assert sorted(await world.sources()) == [["a"], ["b"]]
    await world.is_whole()


async def test_deleting_one_of_the_two_deletes_only_that_one(world: SplitWorld) -> None:
    before = await world.brought("a", "b")
    made = await split(world, before.source_id, "b")
    await world.analysing.worker.delete(made.others[0])
    (left,) = await world.articles()
    assert (left.source_id, left.sources) == (before.source_id, ("a",))
    world.ingesting.publish("b", [entry("b", text="Pebblegrid is good.")])
    await world.ingesting.poll("b")
    assert await world.sources() == [["a"]]
    with pytest.raises(Conflict, match="deleted"):
        await world.analysing.worker.grouping.undo(made.correction_id, ADA)
    await world.is_whole()


async def test_asking_again_returns_the_same_correction(world: SplitWorld) -> None:
    before = await world.brought("a", "b")
    made = await split(world, before.source_id, "b")
    assert await split(world, before.source_id, "b") == made
    undone = await world.analysing.worker.grouping.undo(made.correction_id, ADA)
    assert await world.analysing.worker.grouping.undo(made.correction_id, ADA) == undone


async def test_what_cannot_be_split_is_refused(world: SplitWorld) -> None:
    before = await world.brought("a")
    with pytest.raises(Conflict, match="source: a is the only source"):
        await split(world, before.source_id, "a")
    with pytest.raises(NotFound, match="source: x is not in the article"):
        await split(world, before.source_id, "x")
    with pytest.raises(NotFound, match="article"):
        await split(world, "dedup:" + "0" * 32, "a")


async def test_a_link_that_all_sources_have_cannot_be_split_off(world: SplitWorld) -> None:
    """Both have no ids, and one link: nothing tells them apart."""
    shared: dict[str, Any] = {"link": "https://news.example/1", "guid": None}
    before = await world.brought("a", "b", a=[entry("a", **shared)], b=[entry("b", **shared)])
    with pytest.raises(Conflict, match="no other link than that of b"):
        await split(world, before.source_id, "b")


async def test_sources_with_one_link_leave_and_return_together(world: SplitWorld) -> None:
    shared: dict[str, Any] = {"link": "https://b.example/1"}
    before = await world.brought("a", "b", "c", "d", c=[entry("c", **shared)])
    made = await split(world, before.source_id, "b")
    assert await world.sources() == [["a", "d"], ["b", "c"]]
    await world.is_whole()
    await world.analysing.worker.grouping.undo(made.correction_id, ADA)
    assert await world.sources() == [["a", "b", "c", "d"]]
    await world.is_whole()


@pytest.mark.parametrize("writes", [0, 1, 2, 4, 7, 11])
@pytest.mark.parametrize("undoing", [False, True])
async def test_a_worker_that_dies_leaves_a_split_that_its_run_finishes(
    world: SplitWorld, writes: int, undoing: bool
) -> None:
    before = await world.brought("a", "b")
    correction_id = (await split(world, before.source_id, "a")).correction_id if undoing else ""
    dying = world.analysing.new_worker(mortal(world.analysing.store, writes)).grouping
    with contextlib.suppress(Crash):
        if undoing:
            await dying.undo(correction_id, ADA)
        else:
            await dying.split_article(before.source_id, "a", ADA)
    world.clock.forward(minutes=20)
    world.ingesting.publish("a", [entry("a", text="Quorvia is bad.")])
    await world.ingesting.poll("a")
    for run_id in await overdue_keys(world.analysing.store, WORKFLOWS_STAGE, world.clock):
        await world.analysing.worker.workflows.advance(run_id, 2)
    await world.analyse()
    is_done = sorted(await world.sources()) == ([["a", "b"]] if undoing else [["a"], ["b"]])
    assert is_done == (writes > 0), "it died before it had promised anything"
    if is_done:
        mentions = await world.analysing.mentions(world.quorvia)
        assert [each.sentiment for each in mentions.values()] == ["negative"]
    await world.is_whole()


@pytest.mark.parametrize("undoing", [False, True])
async def test_a_worker_that_dies_between_the_batches_of_a_large_split_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undoing: bool
) -> None:
    monkeypatch.setattr(splitting, "_BATCH", 3)
    shared = [entry("b", link="https://b.example/1")]
    for writes in range(4, 9):
        clock = SettableClock()
        store = SqliteStore(tmp_path / f"{writes}.db", clock)
        world = await SplitWorld.of(store, clock)
        before = await world.brought("a", "b", "c", "d", "e", c=shared, d=shared)
        correction_id = (await split(world, before.source_id, "b")).correction_id if undoing else ""
        dying = world.analysing.new_worker(mortal(store, writes)).grouping
        with contextlib.suppress(Crash):
            await (dying.undo(correction_id, ADA) if undoing else dying.split_article(before.source_id, "b", ADA))
        clock.forward(minutes=20)
        for run_id in await overdue_keys(store, WORKFLOWS_STAGE, clock):
            await world.analysing.worker.workflows.advance(run_id, 2)
        await world.analyse()
        assert sorted(await world.sources()) == (
            [["a", "b", "c", "d", "e"]] if undoing else [["a", "e"], ["b", "c", "d"]]
        )
        await world.is_whole()
        await store.close()
