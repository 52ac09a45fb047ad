"""Backfills, merges and reanalyses come to the same end wherever they die, and whatever else happens meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from datetime import timedelta
from typing import Any

import pytest

from models.cache import CacheGeneration
from models.errors import Conflict, NotFound, ToolpulseError, Unavailable
from models.run import JobRun
from models.tool import Tool
from services.mentions.intake import AnalysisFailed
from services.ports import Query
from services.runs.workflows import LAST_DELIVERY, LOST_AFTER, STUCK_AFTER, TURN, Turn
from services.store.containers import ARTICLES, MENTIONS, RUNS, SENTIMENT_CACHE
from services.tools.catalog import Catalog
from services.tools.form import tool_change
from services.workflows.backfill import preview
from tests.documents import observation
from tests.functional.articles.dying import Died, DyingStore, When
from tests.functional.mentions.world import Worker, World
from tests.unit.feeds.stores import Crash, hesitant, mortal, unheard


async def generation(world: World, tool: Tool) -> int:
    document = await world.store.read(SENTIMENT_CACHE.name, tool.tool_id, f"{tool.tool_id}:generation")
    return CacheGeneration.from_document(document).generation if document else 0


async def until_done(world: World, run: JobRun, writes: int) -> Turn:
    """By one worker after the other, each of which dies after so many writes; then by one that lives."""
    for _ in range(6):
        with contextlib.suppress(Crash):
            return await world.new_worker(mortal(world.store, writes)).workflows.advance(run.run_id)
    return await world.worker.workflows.advance(run.run_id)


async def status(world: World, run: JobRun) -> str:
    document = await world.store.read(RUNS.name, run.run_id, JobRun.ID)
    assert document is not None
    return str(document["status"])


@pytest.mark.parametrize("writes", [0, 1, 2, 3, 4, 5, 6, 8, 11, 15, 99])
async def test_a_merge_that_dies_anywhere_moves_names_and_mentions_exactly_once(world: World, writes: int) -> None:
    old = await world.tool("Hexwharf Registry", "HWR", tickers=["HXWF"])
    new = await world.tool("Pebblegrid")
    both = await world.article(1, "Hexwharf Registry is bad", "Pebblegrid is good")
    theirs = [await world.article(number, "HWR is good") for number in range(2, 6)]
    gone = await world.article(6, "HWR is bad")
    await world.delivered([both, *theirs, gone])
    await world.edit(gone, "Nothing")
    await world.delivered([gone])
    run = await world.worker.changes.merge("HWR", "pebblegrid")
    turn = await until_done(world, run, writes)
    assert (await status(world, run), set(turn.changed)) == ("SUCCEEDED", {old.tool_id, new.tool_id})

    for text in (old.tool_id, "Hexwharf Registry", "hwr", "Pebblegrid"):
        assert (await world.worker.catalog.get(text)).tool_id == new.tool_id
    merged = await world.worker.catalog.get("HWR")
    assert (merged.aliases, merged.tickers) == (("Hexwharf Registry", "HWR"), ("HXWF",))
    assert await world.mentions(old) == {}
    mentions = await world.mentions(new)
    assert set(mentions) == {both, *theirs}
    assert {each.name for each in mentions[both].matches} == {"Hexwharf Registry", "Pebblegrid"}
    assert (await generation(world, old), await generation(world, new)) >= (1, 1)
    for tool in (old, new):
        await world.is_counted(tool)
    late = await world.article(7, "HWR is good")
    await world.delivered([late])
    assert late in await world.mentions(new)
    assert await world.worker.workflows.advance(run.run_id) == turn, "its events are sent again, and nothing is done"


async def test_articles_that_are_no_more_keep_their_mentions_through_a_merge(world: World) -> None:
    old, new = await world.tool("Hexwharf"), await world.tool("Pebblegrid")
    one = await world.article(1, "Hexwharf is bad")
    both = await world.article(2, "Hexwharf is bad", "Pebblegrid is good")
    await world.delivered([one, both])
    before = await world.mentions(old)
    for each in (one, both):
        await world.store.delete("articles", each, "article")
    run = await world.worker.changes.merge("Hexwharf", "Pebblegrid")
    for writes in (2, 4, 5, 6, 7):
        await world.dying(writes, lambda worker: worker.workflows.advance(run.run_id))
    await world.run(run)
    after = await world.mentions(new)
    assert (after[one].published_at, after[one].sentiment) == (before[one].published_at, "negative")
    assert (after[both].sentiment, len(after[both].matches)) == ("positive", 2), "its own stays"
    assert await world.mentions(old) == {}
    for tool in (old, new):
        await world.is_counted(tool)


@pytest.mark.parametrize("seed", range(40))
async def test_a_merge_amid_edits_deletions_and_analyses_leaves_each_article_with_one_mention(
    world: World, seed: int
) -> None:
    """Every store operation of every worker lets others go first."""
    old, new = await world.tool("Hexwharf"), await world.tool("Pebblegrid")
    articles = [await world.article(number, "Hexwharf is good") for number in range(1, 6)]
    await world.delivered(articles[:3])

    async def again(worker: Worker, ids: list[str]) -> None:
        with contextlib.suppress(ToolpulseError):
            await worker.intake.take(ids)

    async def merging(worker: Worker) -> None:
        run = await worker.changes.merge("Hexwharf", "Pebblegrid")
        with contextlib.suppress(ToolpulseError):
            await worker.workflows.advance(run.run_id)
        await world.worker.workflows.advance(run.run_id)

    async def editing() -> None:
        await asyncio.sleep(0.001 * (seed % 7))
        for source_id, headline in ((articles[0], "Nothing"), (articles[1], "Hexwharf and Pebblegrid are bad")):
            for _ in range(50):
                with contextlib.suppress(ToolpulseError):
                    await world.edit(source_id, headline)
                    break
        await world.delivered(articles[:2])

    workers = [world.new_worker(hesitant(world.store, seed * 10 + number)) for number in range(4)]
    await asyncio.gather(
        merging(workers[0]),
        again(workers[1], articles),
        again(workers[2], articles[2:]),
        again(workers[3], articles[::-1]),
        editing(),
    )
    await world.delivered(articles)
    assert await world.mentions(old) == {}
    mentions = await world.mentions(new)
    assert {key: each.sentiment for key, each in mentions.items()} == {
        articles[1]: "negative",
        **dict.fromkeys(articles[2:], "positive"),
    }
    for tool in (old, new):
        await world.is_counted(tool)


async def test_tools_cannot_be_made_to_answer_for_each_other_in_a_circle(world: World) -> None:
    for seed in range(10):
        one, other = await world.tool(f"One {seed}"), await world.tool(f"Other {seed}")
        first = await world.worker.changes.merge(one.tool_id, other.tool_id)
        second = await world.worker.changes.merge(other.tool_id, one.tool_id)
        workers = [world.new_worker(hesitant(world.store, seed * 2 + number)) for number in range(2)]
        for run in await asyncio.gather(
            workers[0].workflows.advance(first.run_id),
            workers[1].workflows.advance(second.run_id),
            return_exceptions=True,
        ):
            assert isinstance(run, Turn | ToolpulseError)
        for each in (first, second):
            await world.worker.workflows.advance(each.run_id)
        assert sorted([await status(world, first), await status(world, second)]) == ["FAILED", "SUCCEEDED"]
        assert (await world.worker.catalog.get(one.tool_id)) == (await world.worker.catalog.get(other.tool_id))


@pytest.mark.parametrize("writes", range(12))
async def test_a_merge_elsewhere_does_not_overtake_one_that_died_half_way(world: World, writes: int) -> None:
    old = await world.tool("Hexwharf")
    for name in ("Pebblegrid", "Quorvia"):
        await world.tool(name)
    article = await world.article(1, "Hexwharf is good")
    await world.delivered([article])
    first = await world.worker.changes.merge("Hexwharf", "Pebblegrid")
    with contextlib.suppress(Crash):
        await world.new_worker(mortal(world.store, writes)).workflows.advance(first.run_id)
    with contextlib.suppress(Conflict):
        await world.run(await world.worker.changes.merge(old.tool_id, "Quorvia"))
    await world.run(first)
    (holder,) = [tool for tool in await world.worker.catalog.active() if "Hexwharf" in tool.names]
    assert (await world.worker.catalog.get("Hexwharf")).tool_id == holder.tool_id
    assert (await world.worker.catalog.get(old.tool_id)).tool_id == holder.tool_id
    assert (await world.read(article)).detected_tool_ids == (holder.tool_id,)
    await world.is_counted(holder)


async def test_a_tool_whose_merge_is_under_way_is_merged_nowhere_else(world: World) -> None:
    one, other = await world.tool("Hexwharf"), await world.tool("Pebblegrid")
    await world.tool("Quorvia")
    leaving = one.changed(world.watch.now, merging_into=other.tool_id)
    await world.store.replace("catalog", leaving.to_document(), one.stored_etag or "")
    with pytest.raises(Conflict, match=f"'Hexwharf' is just being merged into {other.tool_id}"):
        await world.worker.changes.merge("Hexwharf", "Quorvia")
    await world.run(await world.worker.changes.merge("Hexwharf", "Pebblegrid"))
    assert (await world.worker.catalog.get("Hexwharf")).tool_id == other.tool_id


async def test_a_merge_that_cannot_be_lets_its_tool_go(world: World) -> None:
    one, other = await world.tool("Hexwharf"), await world.tool("Pebblegrid")
    third = await world.tool("Quorvia")
    run = await world.worker.changes.merge("Hexwharf", "Pebblegrid")
    leaving = one.changed(world.watch.now, merging_into=other.tool_id)
    await world.store.replace("catalog", leaving.to_document(), one.stored_etag or "")
    await world.worker.changes.change("Pebblegrid", tool_change({"status": "DEPRECATED"}))
    assert (await world.run(run)).status == "FAILED"
    await world.run(await world.worker.changes.merge("Hexwharf", "Quorvia"))
    assert (await world.worker.catalog.get("Hexwharf")).tool_id == third.tool_id


async def test_a_merge_into_a_tool_that_is_merged_meanwhile_follows_it(world: World) -> None:
    await world.tool("Hexwharf")
    await world.tool("Pebblegrid")
    last = await world.tool("Quorvia")
    article = await world.article(1, "Hexwharf is good")
    await world.delivered([article])
    first = await world.worker.changes.merge("Hexwharf", "Pebblegrid")
    await world.run(await world.worker.changes.merge("Pebblegrid", "Quorvia"))
    assert (await world.run(first)).status == "SUCCEEDED"
    assert (await world.worker.catalog.get("Hexwharf")).tool_id == last.tool_id
    assert (await world.read(article)).detected_tool_ids == (last.tool_id,)


async def test_what_cannot_be_merged_is_refused_at_once(world: World) -> None:
    await world.tool("One", "Uno")
    with pytest.raises(Conflict):
        await world.worker.changes.merge("One", "uno")
    for source, into in (("One", "nobody"), ("nobody", "One")):
        with pytest.raises(NotFound):
            await world.worker.changes.merge(source, into)


@pytest.mark.parametrize("writes", [0, 1, 2, 3, 4, 5, 7, 9, 12, 99])
async def test_an_alias_is_tried_then_applied_to_30_days_wherever_that_dies(world: World, writes: int) -> None:
    tool = await world.tool("Quorvia", "Quo")
    ages = {"new": 0, "known": 1, "old": 29, "too old": 31}
    articles = {
        name: await world.article(
            number,
            f"{'Quorvia' if name == 'known' else 'Qrvdb'} is good",
            timestamp=world.watch.now - timedelta(days=age),
        )
        for number, (name, age) in enumerate(ages.items(), 1)
    }
    lost = await world.article(9, "Quo is good")
    await world.delivered([*articles.values(), lost])
    change = tool_change({"aliases": ["QRVDB"]})
    worker = world.worker
    tried = await preview(world.store, worker.catalog, worker.watchlist, tool, change, world.watch.now)
    assert (tried.would_add, tried.complete, tried.taken_by) == (2, True, {})
    assert [each.source_id for each in tried.samples] == [articles["new"], articles["old"]]
    assert tried.samples[0].matches == ("Qrvdb",)
    assert set(await world.mentions(tool)) == {articles["known"], lost}, "trying changes nothing"

    changed, run = await worker.changes.change("Quorvia", change)
    assert run is not None
    assert changed.aliases == ("QRVDB",)
    turn = await until_done(world, run, writes)
    assert (await status(world, run), turn.changed) == ("SUCCEEDED", (tool.tool_id,))
    assert set(await world.mentions(tool)) == {articles["new"], articles["known"], articles["old"]}
    assert await generation(world, tool) >= 1
    await world.is_counted(tool)


async def test_an_alias_that_is_another_tools_is_told_by_its_preview(world: World) -> None:
    tool, other = await world.tool("Quorvia"), await world.tool("Tarnwick", "TW")
    worker, change = world.worker, tool_change({"aliases": ["tw"]})
    tried = await preview(world.store, worker.catalog, worker.watchlist, tool, change, world.watch.now)
    assert tried.taken_by == {"tw": other.tool_id}


@pytest.mark.parametrize("writes", range(8))
async def test_a_change_that_dies_before_its_answer_leaves_a_run_that_is_sent_again(world: World, writes: int) -> None:
    tool = await world.tool("Quorvia")
    one = await world.article(1, "Qrvdb is good")
    await world.delivered([one])
    change = tool_change({"aliases": ["QRVDB"]})
    await world.dying(writes, lambda worker: worker.changes.change("Quorvia", change))
    world.watch.advance(seconds=LOST_AFTER.total_seconds())
    for run_id in await world.worker.workflows.overdue(world.watch.now):
        await world.worker.workflows.advance(run_id)
    is_changed = (await world.worker.catalog.get("Quorvia")).aliases == ("QRVDB",)
    assert (one in await world.mentions(tool)) == is_changed


@pytest.mark.parametrize("writes", range(6))
async def test_a_change_whose_answer_was_lost_keeps_its_run(world: World, writes: int) -> None:
    tool = await world.tool("Quorvia")
    one = await world.article(1, "Qrvdb is good")
    await world.delivered([one])
    change = tool_change({"aliases": ["QRVDB"]})
    with contextlib.suppress(Unavailable):
        await world.new_worker(unheard(world.store, writes)).changes.change("Quorvia", change)
    world.watch.advance(seconds=LOST_AFTER.total_seconds())
    for run_id in await world.worker.workflows.overdue(world.watch.now):
        await world.worker.workflows.advance(run_id)
    is_changed = (await world.worker.catalog.get("Quorvia")).aliases == ("QRVDB",)
    assert (one in await world.mentions(tool)) == is_changed


async def test_a_change_that_is_refused_leaves_no_run(world: World) -> None:
    await world.tool("Quorvia")
    await world.tool("Tarnwick")
    with pytest.raises(Conflict):
        await world.worker.changes.change("Quorvia", tool_change({"aliases": ["Tarnwick"]}))
    _, run = await world.worker.changes.change("Quorvia", tool_change({"aliases": []}))
    assert run is None
    assert await world.store.count(RUNS.name) == 0


@pytest.mark.parametrize("writes", [0, 1, 2, 3, 4, 5, 6, 99])
async def test_a_reanalysis_that_dies_anywhere_scores_every_mention_anew(world: World, writes: int) -> None:
    tool = await world.tool("Quorvia")
    articles = [await world.article(number, "Quorvia is good") for number in range(1, 5)]
    await world.delivered(articles)
    await world.store.delete("articles", articles[3], "article")
    world.analyzer.version = "2"
    run = await world.worker.changes.reanalyze("Quorvia")
    turn = await until_done(world, run, writes)
    assert (await status(world, run), turn.changed) == ("SUCCEEDED", (tool.tool_id,))
    versions = {source_id: each.analyzer_version for source_id, each in (await world.mentions(tool)).items()}
    assert versions == {**dict.fromkeys(articles[:3], "2"), articles[3]: "1"}
    assert await generation(world, tool) >= 1
    await world.is_counted(tool)


async def test_a_reanalysis_in_which_mentions_failed_is_partial_and_names_them(world: World) -> None:
    tool = await world.tool("Quorvia")
    well, cursed, broken = [await world.article(number, "Quorvia is good") for number in range(1, 4)]
    await world.delivered([well, cursed, broken])
    await world.edit(cursed, "Quorvia is cursed text")
    await break_mention(world, tool, broken)
    world.analyzer.version = "2"
    ended = await world.run(await world.worker.changes.reanalyze("Quorvia"))
    assert (ended.status, ended.progress, ended.metrics["rescored"], ended.metrics["failed"]) == ("PARTIAL", 3, 1, 2)
    assert [error.split(":")[1] for error in ended.errors] == [each.split(":")[1] for each in (cursed, broken)]
    assert (await world.worker.workflows.advance(ended.run_id)).changed == (tool.tool_id,)
    await heal_mention(world, tool, broken)
    await world.edit(cursed, "Quorvia is good")
    again = await world.run(await world.worker.changes.reanalyze("Quorvia"))
    assert (again.status, again.metrics["failed"], again.errors) == ("SUCCEEDED", 0, ())
    assert {each.analyzer_version for each in (await world.mentions(tool)).values()} == {"2"}


@pytest.mark.parametrize("article_is_there", [True, False])
@pytest.mark.parametrize("whose", ["source", "target"])
async def test_a_merge_leaves_what_it_cannot_read_and_is_partial(
    world: World, whose: str, article_is_there: bool
) -> None:
    old, new = await world.tool("Hexwharf"), await world.tool("Pebblegrid")
    well, broken = [await world.article(number, "Hexwharf is good", "Pebblegrid too") for number in (1, 2)]
    await world.delivered([well, broken])
    if not article_is_there:
        await world.store.delete("articles", broken, "article")
    tool = {"source": old, "target": new}[whose]
    await break_mention(world, tool, broken)
    ended = await world.run(await world.worker.changes.merge("Hexwharf", "Pebblegrid"))
    assert (ended.status, ended.metrics, ended.errors[0][:38]) == ("PARTIAL", {"mentions": 2, "failed": 1}, broken)
    await heal_mention(world, tool, broken)
    assert set(await world.mentions(old)) == {broken}
    assert set(await world.mentions(new)) == {well, broken}


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_deletion_that_dies_at_any_operation_is_finished_by_clean_up_without_being_asked_again(
    world: World, when: When
) -> None:
    tool = await world.tool("Quorvia")
    for k in itertools.count(1):
        article = await world.article(k, "Quorvia is good")
        await world.store.upsert(ARTICLES.name, observation(source_id=article).to_document())
        await world.delivered([article])
        dying = DyingStore(world.store, k, when)
        with contextlib.suppress(Died):
            await world.new_worker(dying).delete(article)
        world.watch.advance(seconds=max(LOST_AFTER, STUCK_AFTER).total_seconds())
        overdue = await world.worker.workflows.overdue(world.watch.now)
        for run_id in overdue:
            assert not (await world.worker.workflows.advance(run_id)).goes_on
        if await world.store.count(RUNS.name) == 0:
            assert dying.operations <= 2, "it died before it had promised anything"
            continue
        assert (await world.read(article)).deleted_at is not None
        assert await world.store.read(ARTICLES.name, article, observation().id) is None
        assert article not in await world.mentions(tool)
        await world.is_counted(tool)
        assert {run["status"] for run in (await world.store.query(RUNS.name, Query())).items} == {"SUCCEEDED"}
        await world.store.delete(RUNS.name, (await world.store.query(RUNS.name, Query())).items[0]["run_id"], "RUN")
        if not dying.is_dead:
            assert k > 15
            return


async def test_a_deletion_that_cannot_take_a_mention_away_is_not_done_and_is_tried_again(world: World) -> None:
    tool = await world.tool("Quorvia")
    article = await world.article(1, "Quorvia is good")
    await world.delivered([article])
    await break_mention(world, tool, article)
    with pytest.raises(AnalysisFailed):
        await world.worker.delete(article)
    await heal_mention(world, tool, article)
    world.watch.advance(seconds=STUCK_AFTER.total_seconds())
    (run_id,) = await world.worker.workflows.overdue(world.watch.now)
    await world.worker.workflows.advance(run_id)
    assert await world.mentions(tool) == {}


async def break_mention(world: World, tool: Tool, source_id: str) -> None:
    document = await world.store.read(MENTIONS.name, tool.tool_id, source_id)
    assert document is not None
    await world.store.upsert(MENTIONS.name, {**document, "matches": "many"})


async def heal_mention(world: World, tool: Tool, source_id: str) -> None:
    document = await world.store.read(MENTIONS.name, tool.tool_id, source_id)
    assert document is not None
    await world.store.upsert(MENTIONS.name, {**document, "matches": []})


async def test_a_run_hands_on_after_its_turn_and_shows_how_far_it_is(world: World) -> None:
    await world.tool("Quorvia")
    articles = [await world.article(number, "Quorvia") for number in range(1, 451)]
    for start in range(0, 450, 100):
        await world.worker.intake.take(articles[start : start + 100])
    run = await world.worker.changes.reanalyze("Quorvia")
    told: list[tuple[bool, Any]] = []
    worker = world.worker

    class Slow(type(worker.workflows._workflows["reanalyze_tool"])):  # type: ignore[misc]
        async def step(self, run: JobRun) -> Any:
            world.watch.advance(seconds=TURN.total_seconds())
            return await super().step(run)

    worker.workflows._workflows["reanalyze_tool"].__class__ = Slow
    for _ in range(3):
        turn = await worker.workflows.advance(run.run_id)
        document = await world.store.read(RUNS.name, run.run_id, JobRun.ID)
        assert document is not None
        told.append((turn.goes_on, document["progress"]))
    assert told == [(True, 200), (True, 400), (False, 450)]


async def test_runs_are_overdue_when_their_message_was_lost_or_their_worker_died(world: World) -> None:
    await world.tool("Quorvia")
    queued, running = [await world.worker.changes.reanalyze("Quorvia") for _ in range(2)]
    document = await world.store.read(RUNS.name, running.run_id, JobRun.ID)
    assert document is not None
    started = JobRun.from_document(document).changed(world.watch.now, status="RUNNING", running_since=world.watch.now)
    await world.store.upsert(RUNS.name, started.to_document())
    overdue = world.worker.workflows.overdue
    assert await overdue(world.watch.now) == []
    assert await overdue(world.watch.advance(seconds=LOST_AFTER.total_seconds())) == [queued.run_id]
    both = await overdue(world.watch.advance(seconds=STUCK_AFTER.total_seconds()))
    assert sorted(both) == sorted([queued.run_id, running.run_id])
    for run_id in both:
        await world.worker.workflows.advance(run_id)
    assert await overdue(world.watch.advance(hours=1)) == []


async def test_a_run_whose_message_came_twice_is_done_by_one_and_poisons_no_message_of_the_other(world: World) -> None:
    tool = await world.tool("Pebblegrid")
    await world.delivered([await world.article(number, "Pebblegrid is good") for number in range(5)])
    for seed in range(20):
        run = await world.worker.changes.reanalyze("Pebblegrid")
        workers = [world.new_worker(hesitant(world.store, seed=seed * 2 + number)) for number in range(2)]
        turns = await asyncio.gather(*(worker.workflows.advance(run.run_id, LAST_DELIVERY) for worker in workers))
        assert await status(world, run) == "SUCCEEDED"
        assert Turn(changed=(tool.tool_id,)) in turns
        assert set(turns) <= {Turn(changed=(tool.tool_id,)), Turn()}


async def test_a_run_that_fails_at_its_last_delivery_says_so_and_may_be_redriven(world: World) -> None:
    await world.tool("Quorvia")
    await world.delivered([await world.article(1, "Quorvia")])
    run = await world.worker.changes.reanalyze("Quorvia")
    world.analyzer.is_down = True
    for delivery in range(1, 6):
        with pytest.raises(ToolpulseError):
            await world.worker.workflows.advance(run.run_id, delivery)
    assert await status(world, run) == "FAILED"
    world.analyzer.is_down = False
    await world.worker.workflows.advance(run.run_id)
    assert await status(world, run) == "SUCCEEDED"


async def test_a_name_of_a_merged_tool_may_be_added_to_neither(world: World) -> None:
    await world.tool("Old", "Ancient")
    await world.tool("New Thing")
    await world.run(await world.worker.changes.merge("Old", "New Thing"))
    catalog: Catalog = world.worker.catalog
    for name in ("Old", "Ancient"):
        with pytest.raises(Conflict):
            await world.tool(name)
    changed, _ = await catalog.change("Old", tool_change({"aliases": ["Ancient"]}))
    assert changed.primary_name == "New Thing"
    assert (await world.tool("Old")).primary_name == "Old"
