"""Undoing a merge leaves both tools as if each had been alone, wherever its worker dies and whatever came meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from datetime import timedelta

import pytest

from models.correction import phrase_correction
from models.errors import Conflict, NotFound, ToolpulseError
from models.run import JobRun
from models.tool import Tool
from services.figures.recount import Recount
from services.mentions.correction_form import new_correction
from services.runs.driver import MERGE
from services.tools.form import tool_change
from services.workflows.merging import Merging
from tests.failing_stores import Crash, hesitant, mortal
from tests.functional.articles.dying import Died, DyingStore, When
from tests.functional.mentions.world import World
from tests.functional.workflows.carried_out import generation, status

Words = dict[str, str | None]


async def said(world: World, tool: Tool) -> Words:
    return {key: each.sentiment for key, each in (await world.mentions(tool)).items()}


async def undone(world: World, text: str) -> JobRun:
    run = await world.worker.unmerge(text)
    assert run is not None
    ended = await world.run(run)
    assert (ended.status, ended.errors) == ("SUCCEEDED", ())
    return ended


async def stored(world: World, tool: Tool) -> Tool:
    found = await world.worker.catalog.names.tool(tool.tool_id)
    assert found is not None
    return found


class Two:
    """Two tools, merged, with articles from before and after the merge; two of them have expired."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def merged(self, number: int = 0) -> Two:
        world, suffix = self.world, str(number or "")
        self.old = await world.tool(
            f"Hexwharf{suffix}", f"HWR{suffix}", tickers=[f"HXW{suffix}"], excluded=[f"hwr{suffix} parade"]
        )
        self.new = await world.tool(f"Pebblegrid{suffix}", f"Pebble{suffix}")
        first = number * 100
        old, new = f"Hexwharf{suffix}", f"Pebblegrid{suffix}"
        self.theirs = [await world.article(first + n, f"{old} is good") for n in (1, 2, 3)]
        self.both = [await world.article(first + n, f"{old} is bad", f"{new} is bad") for n in (4, 5)]
        self.own = [await world.article(first + n, f"{new} is good") for n in (6, 7)]
        await world.delivered([*self.theirs, *self.both, *self.own])
        for each in (self.theirs[0], self.both[0], self.own[0]):
            await world.store.delete("articles", each, "article")
        self.before = [await said(world, each) for each in (self.old, self.new)]
        run = await world.run(await world.worker.changes.merge(self.old.tool_id, self.new.tool_id))
        assert run.status == "SUCCEEDED"
        assert await said(world, self.old) == {}
        self.late = [
            await world.article(first + 8, f"{old} is bad"),
            await world.article(first + 9, f"{old} is good", f"{new} is good"),
        ]
        await world.delivered(self.late)
        return self

    async def is_as_before(self) -> None:
        world = self.world
        old, new = await stored(world, self.old), await stored(world, self.new)
        assert (old.status, old.merged_into, old.names, old.tickers, old.excluded) == (
            *("ACTIVE", None, self.old.names, self.old.tickers),
            self.old.excluded,
        )
        assert (new.names, new.tickers, new.excluded) == (self.new.names, (), ())
        for each in (old, new):
            for name in each.names:
                assert (await world.worker.catalog.get(name)).tool_id == each.tool_id
        late_old: Words = {self.late[0]: "negative", self.late[1]: "positive"}
        late_new: Words = {self.late[1]: "positive"}
        assert await said(world, self.old) == {**self.before[0], **late_old}
        assert await said(world, self.new) == {**self.before[1], **late_new}
        for each in (self.old, self.new):
            await world.is_counted(each)


async def test_names_tickers_exclusions_and_mentions_return_and_articles_with_both_names_count_for_both(
    world: World,
) -> None:
    two = await Two(world).merged()
    before = await generation(world, two.old), await generation(world, two.new)
    await undone(world, "HWR")
    await two.is_as_before()
    assert await generation(world, two.old) > before[0]
    assert await generation(world, two.new) > before[1]
    after = await world.article(20, "Hexwharf is good")
    await world.delivered([after])
    assert after in await world.mentions(two.old)
    assert after not in await world.mentions(two.new)


@pytest.mark.parametrize("when", ["before", "after", "halfway"])
async def test_a_worker_that_dies_anywhere_leaves_both_tools_right(world: World, when: When) -> None:
    for k in itertools.count(1):
        two = await Two(world).merged(k)
        run = await world.worker.unmerge(two.old.tool_id)
        assert run is not None
        dying = DyingStore(world.store, k * 3 - 2, when)
        with contextlib.suppress(Died):
            await world.new_worker(dying).workflows.advance(run.run_id)
        for text in (*two.old.names, *two.new.names):
            assert (await world.worker.catalog.get(text)).tool_id in (two.old.tool_id, two.new.tool_id), "never lost"
        await world.worker.workflows.advance(run.run_id, 2)
        assert await status(world, run) == "SUCCEEDED"
        await two.is_as_before()
        for each in (*two.theirs, *two.both, *two.own, *two.late):
            await world.store.delete("articles", each, "article")
        if not dying.is_dead:
            assert k > 10
            return


async def test_undoing_again_changes_nothing_and_a_merge_after_it_is_another(world: World) -> None:
    two = await Two(world).merged()
    await undone(world, two.old.tool_id)
    for text in (two.old.tool_id, "Hexwharf"):
        assert await world.worker.unmerge(text) is None
    await two.is_as_before()
    await world.run(await world.worker.changes.merge("Hexwharf", "Pebblegrid"))
    assert await said(world, two.old) == {}
    await undone(world, two.old.tool_id)
    await two.is_as_before()
    merges = await world.worker.changes.merges.into(two.new.tool_id)
    assert [(each.undone_by, each.undone_reason) for each in merges] == [("Ada", "a mistake")] * 2


async def test_two_who_undo_at_once_undo_it_once(world: World) -> None:
    for seed in range(5):
        two = await Two(world).merged(seed + 1)
        runs = [await world.worker.unmerge(two.old.tool_id) for _ in range(2)]
        workers = [world.new_worker(hesitant(world.store, seed * 2 + number)) for number in range(2)]
        await asyncio.gather(
            *(worker.workflows.advance(run.run_id) for worker, run in zip(workers, runs, strict=True) if run),
            return_exceptions=True,
        )
        for run in runs:
            assert run is not None
            assert (await world.run(run)).status == "SUCCEEDED"
        await two.is_as_before()


async def test_a_name_that_a_third_tool_has_taken_is_named_in_the_refusal(world: World) -> None:
    two = await Two(world).merged()
    await world.worker.changes.change(two.new.tool_id, tool_change({"aliases": ["Pebble", "Hexwharf"]}))
    third = await world.tool("HWR")
    with pytest.raises(Conflict, match=f"'HWR' belongs to the tool {third.tool_id} already.*remove it there first"):
        await world.worker.unmerge(two.old.tool_id)
    assert (await stored(world, two.old)).status == "MERGED"
    await world.worker.changes.change(third.tool_id, tool_change({"name": "Thirdly"}))
    await undone(world, two.old.tool_id)
    await two.is_as_before()


async def test_a_name_that_is_taken_after_the_request_fails_the_run_and_nothing_is_lost(world: World) -> None:
    two = await Two(world).merged()
    run = await world.worker.unmerge(two.old.tool_id)
    assert run is not None
    await world.worker.changes.change(two.new.tool_id, tool_change({"aliases": ["Pebble", "Hexwharf"]}))
    third = await world.tool("HWR")
    ended = await world.run(run)
    assert ended.status == "FAILED"
    assert "remove it there first" in ended.errors[0]
    assert (await world.worker.catalog.get("Hexwharf")).tool_id == two.new.tool_id
    await world.worker.changes.change(third.tool_id, tool_change({"name": "Thirdly"}))
    await undone(world, two.old.tool_id)
    await two.is_as_before()


async def test_what_the_target_got_since_stays_with_it(world: World) -> None:
    two = await Two(world).merged()
    names = ["Pebble", "Hexwharf", "HWR", "Gridstone"]
    await world.run((await world.worker.changes.change("Pebblegrid", tool_change({"aliases": names})))[1])  # type: ignore[arg-type]
    await world.worker.changes.change("Pebblegrid", tool_change({"keywords": ["masonry"]}))
    await undone(world, "Hexwharf")
    new = await stored(world, two.new)
    assert (new.aliases, new.keywords) == (("Pebble", "Gridstone"), ("masonry",))


async def test_a_target_with_the_name_as_its_first_is_renamed_before(world: World) -> None:
    two = await Two(world).merged()
    change = tool_change({"name": "Hexwharf", "aliases": ["Pebblegrid", "Pebble", "HWR"]})
    await world.worker.changes.change(two.new.tool_id, change)
    with pytest.raises(Conflict, match=r"give .* another name first"):
        await world.worker.unmerge(two.old.tool_id)


async def test_a_target_that_was_merged_or_is_not_watched_refuses_with_what_to_do(world: World) -> None:
    two = await Two(world).merged()
    await world.worker.changes.change(two.new.tool_id, tool_change({"status": "DEPRECATED"}))
    with pytest.raises(Conflict, match="make it ACTIVE first"):
        await world.worker.unmerge(two.old.tool_id)
    await world.worker.changes.change(two.new.tool_id, tool_change({"status": "ACTIVE"}))
    await world.tool("Quorvia")
    await world.run(await world.worker.changes.merge(two.new.tool_id, "Quorvia"))
    with pytest.raises(Conflict, match=r"was itself merged into .* undo that merge first"):
        await world.worker.unmerge(two.old.tool_id)
    await undone(world, two.new.tool_id)
    await undone(world, two.old.tool_id)
    await two.is_as_before()


async def test_only_what_is_merged_can_be_unmerged(world: World) -> None:
    tool = await world.tool("Quorvia")
    for text in (tool.tool_id, "Quorvia"):
        with pytest.raises(Conflict, match="is not merged into another"):
            await world.worker.unmerge(text)
    with pytest.raises(NotFound):
        await world.worker.unmerge("Nobody")


async def test_a_merge_that_is_under_way_is_not_undone(world: World) -> None:
    await world.tool("Hexwharf")
    await world.tool("Pebblegrid")
    old = await world.worker.catalog.get("Hexwharf")
    article = await world.article(1, "Hexwharf is good")
    await world.delivered([article])
    run = await world.worker.changes.merge("Hexwharf", "Pebblegrid")
    worker = world.new_worker()
    merging = worker.workflows.workflows[MERGE]
    assert isinstance(merging, Merging)
    await merging._merge_tools(run, old.tool_id, str(run.parameters["into"]))
    with pytest.raises(Conflict, match="still under way"):
        await world.worker.unmerge(old.tool_id)
    await world.run(run)
    await undone(world, old.tool_id)
    assert await said(world, old) == {article: "positive"}


async def test_a_tool_that_was_not_watched_is_not_watched_again_and_has_its_mentions(world: World) -> None:
    old, new = await world.tool("Hexwharf"), await world.tool("Pebblegrid")
    articles = [await world.article(number, "Hexwharf is good") for number in (1, 2)]
    await world.delivered(articles)
    await world.worker.changes.change("Hexwharf", tool_change({"status": "DEPRECATED"}))
    await world.run(await world.worker.changes.merge("Hexwharf", "Pebblegrid"))
    await undone(world, old.tool_id)
    assert (await stored(world, old)).status == "DEPRECATED"
    assert set(await world.mentions(old)) == set(articles)
    assert await world.mentions(new) == {}


@pytest.mark.parametrize("seed", range(12))
async def test_analyses_edits_and_backfills_meanwhile_leave_each_article_with_the_tools_that_it_names(
    world: World, seed: int
) -> None:
    two = await Two(world).merged(1)
    extra = [await world.article(500 + n, "Hexwharf1 is good") for n in range(3)]
    edited = two.theirs[1]
    run = await world.worker.unmerge(two.old.tool_id)
    assert run is not None

    async def analysing(number: int) -> None:
        worker = world.new_worker(hesitant(world.store, seed * 10 + number))
        with contextlib.suppress(ToolpulseError):
            await worker.analysis.handle(extra[:number] or [*two.late, edited])

    async def editing() -> None:
        await asyncio.sleep(0.001 * (seed % 5))
        for _ in range(50):
            with contextlib.suppress(ToolpulseError):
                await world.edit(edited, "Pebblegrid1 is bad")
                return

    async def searching() -> None:
        worker = world.new_worker(hesitant(world.store, seed * 10 + 7))
        backfill = await worker.changes.backfill([two.new.tool_id])
        with contextlib.suppress(ToolpulseError):
            await worker.workflows.advance(backfill.run_id)

    async def undoing() -> None:
        worker = world.new_worker(hesitant(world.store, seed * 10 + 8))
        with contextlib.suppress(ToolpulseError):
            await worker.workflows.advance(run.run_id)

    await asyncio.gather(undoing(), editing(), searching(), *(analysing(number) for number in range(4)))
    await world.run(run)
    await world.delivered([*extra, edited, *two.late])
    assert await status(world, run) == "SUCCEEDED"
    of_old, of_new = await said(world, two.old), await said(world, two.new)
    assert of_old == {
        **{key: each for key, each in two.before[0].items() if key != edited},
        **{two.late[0]: "negative", two.late[1]: "positive"},
        **dict.fromkeys(extra, "positive"),
    }
    assert of_new == {**two.before[1], two.late[1]: "positive", edited: "negative"}
    for each in (two.old, two.new):
        await world.is_counted(each)


async def test_an_undoing_races_a_merge_of_its_target(world: World) -> None:
    for seed in range(8):
        two = await Two(world).merged(seed + 1)
        third = await world.tool(f"Quorvia{seed}")
        undoing = await world.worker.unmerge(two.old.tool_id)
        merging = await world.worker.changes.merge(two.new.tool_id, third.tool_id)
        assert undoing is not None
        workers = [world.new_worker(hesitant(world.store, seed * 3 + number)) for number in range(2)]
        await asyncio.gather(
            workers[0].workflows.advance(undoing.run_id),
            workers[1].workflows.advance(merging.run_id),
            return_exceptions=True,
        )
        assert (await world.run(merging)).status == "SUCCEEDED"
        ended = await world.run(undoing)
        old = await stored(world, two.old)
        if ended.status == "FAILED":
            assert "undo that merge first" in ended.errors[0] or "is being merged" in ended.errors[0]
            assert (await world.worker.catalog.get(two.old.names[0])).tool_id == third.tool_id
        else:
            assert old.status == "ACTIVE"
            assert (await world.worker.catalog.get(two.old.names[0])).tool_id == old.tool_id
            assert set(await world.mentions(two.old)) == {*two.before[0], *two.late}
            assert set(await world.mentions(third)) == {*two.before[1], two.late[1]}
        for tool in (two.old, two.new, third):
            await Recount(world.store).recount_tool(tool.tool_id, world.watch.now)
            await world.is_counted(tool)


async def test_a_change_of_a_merged_tool_is_refused_and_names_the_target(world: World) -> None:
    two = await Two(world).merged()
    for text in (two.old.tool_id, "Hexwharf", "hwr"):
        with pytest.raises(Conflict, match=f"merged into 'Pebblegrid' \\({two.new.tool_id}\\)"):
            await world.worker.changes.change(text, tool_change({"status": "DEPRECATED"}))
        with pytest.raises(Conflict, match="has been merged"):
            await world.worker.changes.merge(text, "Pebblegrid")
        assert (await world.worker.catalog.get(text)).tool_id == two.new.tool_id, "reading still answers"
    assert (await world.worker.changes.change("Pebblegrid", tool_change({"keywords": ["masonry"]})))[0].keywords


async def test_a_merge_of_an_earlier_version_is_undone_by_what_both_tools_list(world: World) -> None:
    two = await Two(world).merged()
    (record,) = await world.worker.changes.merges.into(two.new.tool_id)
    await world.store.delete("catalog", two.new.tool_id, record.id)
    old = await stored(world, two.old)
    without_run = old.changed(world.watch.now, merged_by_run=None)
    await world.store.replace("catalog", without_run.to_document(), old.stored_etag or "")
    await undone(world, two.old.tool_id)
    await two.is_as_before()
    assert await world.worker.unmerge("Hexwharf") is None


async def verdicts(world: World, tool: Tool) -> dict[str, tuple[str, str | None, int]]:
    """The verdicts of a tool by article: the present one, who undid it, and how many came before it."""
    shown = await world.worker.corrections.page(await stored(world, tool), None, 100, None)
    made = [each.correction for each in shown.items]
    return {each.correction_id: (each.verdict, each.undone_by, len(each.history)) for each in made}


@pytest.mark.parametrize("writes", [*range(0, 60, 4), 999])
async def test_verdicts_return_to_the_tool_that_they_were_made_on_and_later_ones_go_where_the_article_belongs(
    world: World, writes: int
) -> None:
    old, new = await world.tool("Hexwharf"), await world.tool("Pebblegrid")
    theirs = [await world.article(number, "Hexwharf is good") for number in (1, 2, 3)]
    both = [await world.article(number, "Hexwharf is good", "Pebblegrid is good") for number in (4, 5, 6)]
    own = [await world.article(number, "Pebblegrid is good") for number in (7, 8)]
    await world.delivered([*theirs, *both, *own])
    correct = world.worker.correct
    for tool, article, verdict in (
        *((old, theirs[0], "negative"), (old, theirs[1], "not_this_tool"), (old, both[0], "negative")),
        *((new, both[0], "neutral"), (new, own[0], "negative"), (old, both[1], "neutral")),
    ):
        await correct(tool, article, verdict)
    await world.worker.undo(new, own[0])
    before = [(await stored(world, each)).reviews for each in (old, new)]
    of_old, of_new = await verdicts(world, old), await verdicts(world, new)
    world.watch.now += timedelta(minutes=5)
    await world.run(await world.worker.changes.merge("Hexwharf", "Pebblegrid"))
    assert await verdicts(world, old) == {}
    world.watch.now += timedelta(minutes=5)
    for article, verdict in ((theirs[2], "negative"), (both[2], "neutral"), (own[1], "negative")):
        await correct(new, article, verdict, "Grace")
    await world.worker.undo(new, both[1], "Grace")
    run = await world.worker.unmerge(old.tool_id)
    assert run is not None
    with contextlib.suppress(Crash):
        await world.new_worker(mortal(world.store, writes)).workflows.advance(run.run_id)
    assert (await world.run(run)).status == "SUCCEEDED"
    assert await verdicts(world, old) == {
        **of_old,
        theirs[2]: ("negative", None, 0),
        both[2]: ("neutral", None, 0),
        both[1]: ("neutral", "Grace", 0),
    }
    assert await verdicts(world, new) == {
        **of_new,
        both[2]: ("neutral", None, 0),
        own[1]: ("negative", None, 0),
        both[1]: ("neutral", "Grace", 0),
    }
    assert await said(world, old) == {
        **{theirs[0]: "negative", theirs[2]: "negative"},
        **{both[0]: "negative", both[1]: "positive", both[2]: "neutral"},
    }
    assert await said(world, new) == {
        **{both[0]: "neutral", both[1]: "positive", both[2]: "neutral"},
        **{own[0]: "positive", own[1]: "negative"},
    }
    counted = [sum(one.reviewed for one in (await stored(world, each)).reviews.values()) for each in (old, new)]
    assert counted == [before[0]["words/1"].reviewed - 1 + 2, before[1]["words/1"].reviewed + 2]
    for each in (old, new):
        await world.is_counted(each)


async def test_muted_sources_and_phrases_return_and_articles_that_they_kept_out_count_again(world: World) -> None:
    old, new = await world.tool("Hexwharf"), await world.tool("Pebblegrid")
    await world.worker.correcting.make("Hexwharf", new_correction({"phrase": "grand parade", "author": "Ada"}))
    await world.run(await world.worker.changes.merge("Hexwharf", "Pebblegrid"))
    article = await world.article(1, "Pebblegrid is good at the grand parade")
    await world.delivered([article])
    assert await said(world, new) == {}, "the phrase excludes articles of the target now"
    assert set(await verdicts(world, new)) == {phrase_correction("grand parade")}
    await undone(world, "Hexwharf")
    assert await said(world, new) == {article: "positive"}
    assert (await stored(world, new)).excluded == ()
    assert (await stored(world, old)).excluded == ("grand parade",)
    assert (await verdicts(world, new), len(await verdicts(world, old))) == ({}, 1)


@pytest.mark.parametrize("writes", range(3, 30, 3))
async def test_a_merge_that_died_goes_on_after_its_target_is_no_longer_watched(world: World, writes: int) -> None:
    old, new = await world.tool("Hexwharf"), await world.tool("Pebblegrid")
    articles = [await world.article(number, "Hexwharf is good") for number in range(1, 5)]
    await world.delivered(articles)
    await world.worker.correct(old, articles[0], "negative")
    await world.store.delete("articles", articles[3], "article")
    run = await world.worker.changes.merge("Hexwharf", "Pebblegrid")
    with contextlib.suppress(Crash):
        await world.new_worker(mortal(world.store, writes)).workflows.advance(run.run_id)
    await world.worker.changes.change(new.tool_id, tool_change({"status": "DEPRECATED"}))
    ended = await world.run(run)
    if ended.status == "FAILED":
        assert (await stored(world, old)).merging_into is None, "it had not begun"
        assert set(await world.mentions(old)) == set(articles)
        return
    assert await said(world, new) == {articles[0]: "negative", **dict.fromkeys(articles[1:], "positive")}
    assert await world.mentions(old) == {}
    await world.worker.delete(articles[1])
    assert articles[1] not in await world.mentions(new), "its article leads to the copied mention"
    for each in (old, new):
        await world.is_counted(each)
