"""A verdict of a person is applied, is counted in all figures when the call returns, and survives what follows."""

from __future__ import annotations

import pytest

from models.cache import CacheGeneration
from models.errors import ChangedMeanwhile, Conflict, NotFound
from models.resources.tools import Precision
from models.tool import Tool
from services.ports import Query
from services.store.containers import ARTICLES, CATALOG, MENTIONS, SENTIMENT_CACHE
from services.tools.catalog import tool_change
from tests.builders import existing
from tests.functional.figures.world import Process
from tests.functional.mentions.world import World


@pytest.fixture
async def tool(world: World) -> Tool:
    return await world.tool("Quorvia")


async def generation(world: World, tool: Tool) -> int:
    document = await world.store.read(SENTIMENT_CACHE.name, tool.tool_id, f"{tool.tool_id}:generation")
    return CacheGeneration.from_document(document).generation if document else 0


async def judged(world: World, tool: Tool) -> dict[str, str | None]:
    return {key: each.sentiment for key, each in (await world.mentions(tool)).items()}


async def reviewed(world: World, tool: Tool) -> dict[str, object]:
    precision = Precision.of((await world.worker.catalog.get(tool.tool_id)).reviews).shown()
    return {name: precision[name] for name in ("reviewed", "precision", "scored", "sentiment_accuracy")}


async def article(world: World, headline: str = "Quorvia is good", number: int = 1, text: str = "") -> str:
    found = await world.article(number, headline, text)
    await world.delivered([found])
    return found


async def test_another_sentiment_counts_as_one_of_a_person_and_is_undone(world: World, tool: Tool) -> None:
    one = await article(world)
    before = (await world.mentions(tool))[one]
    correction = await world.worker.correct(tool, one, "negative")
    after = (await world.mentions(tool))[one]
    assert (after.sentiment, after.score, after.polarity, after.corrected) == ("negative", 1.0, -1.0, True)
    assert after.analyzer_judgement is not None
    assert (after.analyzer_judgement.sentiment, after.analyzer_judgement.polarity) == ("positive", before.polarity)
    assert (correction.label, correction.said is not None and correction.said.sentiment) == ("negative", "positive")
    assert await generation(world, tool) == 1
    await world.is_counted(tool)
    undone = await world.worker.undo(tool, one, "Grace")
    assert (undone.undone_by, undone.undone_reason, undone.is_active) == ("Grace", "a mistake", False)
    again = (await world.mentions(tool))[one]
    assert again.shown() | {"updated_at": None} == before.shown() | {"updated_at": None}
    assert await generation(world, tool) == 2
    await world.is_counted(tool)


async def test_a_mention_that_is_not_about_the_tool_is_removed_and_comes_back_when_undone(
    world: World, tool: Tool
) -> None:
    one = await article(world)
    await world.worker.correct(tool, one, "not_this_tool")
    assert await world.mentions(tool) == {}
    assert (await world.read(one)).detected_tool_ids == ()
    await world.is_counted(tool)
    await world.edit(one, "Quorvia is bad")
    await world.delivered([one])
    assert await world.mentions(tool) == {}, "it holds whatever becomes of the text"
    await world.worker.undo(tool, one)
    assert await judged(world, tool) == {one: "negative"}
    await world.is_counted(tool)


async def test_the_figures_are_right_when_the_call_returns(world: World, tool: Tool) -> None:
    articles = [await article(world, number=number) for number in (1, 2, 3)]
    elsewhere = Process(world.store, world.watch)

    async def served() -> tuple[int, int, int, float]:
        entry = (await elsewhere.cache.reader.read(tool.tool_id, "DAY_30")).entry
        return entry.total_mentions, entry.positive_count, entry.negative_count, entry.average_sentiment

    own = (await world.mentions(tool))[articles[0]].polarity or 0.0
    assert await served() == (3, 3, 0, own)
    await world.worker.correct(tool, articles[0], "negative")
    assert await served() == (3, 2, 1, round((2 * own - 1) / 3, 4))
    await world.worker.correct(tool, articles[1], "not_this_tool")
    assert await served() == (2, 1, 1, round((own - 1) / 2, 4))
    await world.worker.undo(tool, articles[1])
    await world.worker.undo(tool, articles[0])
    assert await served() == (3, 3, 0, own)
    await elsewhere.close()


async def test_to_confirm_a_mention_changes_no_figure_and_keeps_the_sentiment_under_another_analyzer(
    world: World, tool: Tool
) -> None:
    one = await article(world)
    before = (await world.mentions(tool))[one]
    await world.worker.correct(tool, one, "right")
    after = (await world.mentions(tool))[one]
    assert (after.sentiment, after.polarity, after.corrected) == ("positive", before.polarity, None)
    assert after.verdict == "right"
    world.analyzer.version = "2"
    world.analyzer.turned = True
    await world.run(await world.worker.changes.reanalyze(tool.tool_id))
    after = (await world.mentions(tool))[one]
    assert (after.sentiment, after.polarity, after.corrected, after.analyzer_version) == ("positive", 1.0, True, "2")
    await world.is_counted(tool)


@pytest.mark.parametrize(
    ("verdict", "left"), [("negative", "negative"), ("neutral", "neutral"), ("not_this_tool", None)]
)
async def test_a_verdict_survives_reanalysis_backfill_and_a_repeated_message(
    world: World, tool: Tool, verdict: str, left: str | None
) -> None:
    one = await article(world)
    await world.worker.correct(tool, one, verdict)
    world.analyzer.version = "2"
    for run in (
        await world.worker.changes.reanalyze(tool.tool_id),
        await world.worker.changes.backfill([tool.tool_id]),
    ):
        assert (await world.run(run)).status == "SUCCEEDED"
        await world.delivered([one])
        assert (await judged(world, tool)).get(one) == left
        await world.is_counted(tool)


async def test_a_verdict_on_the_sentiment_is_outdated_by_other_words_about_the_tool_and_by_nothing_else(
    world: World, tool: Tool
) -> None:
    one = await article(world, "Quorvia is good", text="Elsewhere it rains.")
    await world.worker.correct(tool, one, "neutral")

    async def states() -> list[str]:
        return [each.state for each in (await world.worker.corrections.page(tool, None, 10, None)).items]

    before = await world.read(one)
    other_text = before.changed(
        world.watch.now,
        canonical=before.canonical.model_copy(update={"revision": "other"}),
        text_for_analysis="Elsewhere it snows.",
        analysis_due_since=world.watch.now,
    )
    await world.store.replace(ARTICLES.name, other_text.to_document(), before.stored_etag or "")
    await world.delivered([one])
    assert (await judged(world, tool), await states()) == ({one: "neutral"}, ["active"])
    await world.edit(one, "Quorvia is very good")
    await world.delivered([one])
    assert (await judged(world, tool), await states()) == ({one: "positive"}, ["outdated"])
    await world.is_counted(tool)
    await world.edit(one, "Quorvia is good")
    await world.delivered([one])
    assert (await judged(world, tool), await states()) == ({one: "neutral"}, ["active"])
    await world.is_counted(tool)


async def test_who_changes_their_mind_replaces_the_verdict_and_the_earlier_one_stays_in_the_history(
    world: World, tool: Tool
) -> None:
    one = await article(world)
    await world.worker.correct(tool, one, "not_this_tool", "Ada")
    await world.worker.correct(tool, one, "negative", "Grace")
    await world.worker.undo(tool, one, "Ada")
    last = await world.worker.correct(tool, one, "neutral", "Ada")
    assert [(each.verdict, each.author, each.undone_by) for each in last.history] == [
        ("not_this_tool", "Ada", None),
        ("negative", "Grace", "Ada"),
    ]
    assert (last.verdict, last.undone_at) == ("neutral", None)
    assert await judged(world, tool) == {one: "neutral"}
    assert await world.worker.correct(tool, one, "neutral", "Ada") == last, "the same again says nothing new"
    await world.is_counted(tool)


async def test_a_merge_carries_corrections_over_and_the_targets_own_verdict_wins(world: World, tool: Tool) -> None:
    target = await world.tool("Tarnwick")
    both = [await article(world, "Quorvia and Tarnwick are good", number) for number in (1, 2)]
    alone = [await article(world, "Quorvia is good", number) for number in (3, 4)]
    await world.worker.correct(tool, both[0], "negative", "Ada")
    await world.worker.correct(target, both[0], "neutral", "Grace")
    await world.worker.correct(tool, both[1], "negative", "Ada")
    await world.worker.correct(tool, alone[0], "not_this_tool", "Ada")
    await world.is_counted(tool)
    await world.worker.undo(tool, (await world.worker.correct(tool, alone[1], "negative", "Ada")).correction_id)
    run = await world.run(await world.worker.changes.merge(tool.tool_id, target.tool_id))
    assert (run.status, run.metrics["corrections"]) == ("SUCCEEDED", 4)
    assert await judged(world, target) == {both[0]: "neutral", both[1]: "negative", alone[1]: "positive"}
    assert await world.mentions(tool) == {}
    for each in (tool, target):
        await world.is_counted(each)
    own = await world.worker.corrections.get(target.tool_id, both[0])
    assert [(each.verdict, each.author, each.tool_id) for each in own.history] == [("negative", "Ada", tool.tool_id)]
    assert (await world.worker.corrections.of_merged(tool.tool_id)) == []
    assert (await reviewed(world, target))["reviewed"] == 3
    assert await world.worker.undo(target, alone[0])
    assert (await judged(world, target))[alone[0]] == "positive"


async def test_what_cannot_be_corrected_is_refused_with_a_reason(world: World, tool: Tool) -> None:
    one, two = await article(world), await article(world, "Nothing", 2)
    with pytest.raises(NotFound, match="no mention of the tool"):
        await world.worker.correct(tool, two, "right")
    with pytest.raises(NotFound, match="there is none with the id"):
        await world.worker.correct(tool, f"dedup:{7:032x}", "right")
    await world.edit(one, "Quorvia is bad")
    with pytest.raises(ChangedMeanwhile, match="was edited"):
        await world.worker.correct(tool, one, "positive")
    await world.edit(one, "Quorvia is cursed")
    await world.given_up([one])
    with pytest.raises(Conflict, match="could not be analysed"):
        await world.worker.correct(tool, one, "positive")
    await world.edit(one, "Quorvia is bad")
    await world.delivered([one])
    await world.worker.correct(tool, one, "positive")
    await world.store.delete(ARTICLES.name, one, "article")
    with pytest.raises(NotFound):
        await world.worker.correct(tool, one, "neutral")
    undone = await world.worker.undo(tool, one)
    assert not undone.is_active, "it labels nothing any more"
    await world.worker.catalog.change(tool.tool_id, tool_change({"status": "DEPRECATED"}))
    with pytest.raises(Conflict, match="ACTIVE"):
        await world.worker.correct(tool, one, "neutral")


async def test_a_correction_that_cannot_be_read_fails_its_article_alone(world: World, tool: Tool) -> None:
    one, two = await article(world), await article(world, number=2)
    correction = await world.worker.correct(tool, one, "negative")
    document = await existing(world.store, CATALOG.name, tool.tool_id, correction.id)
    await world.store.upsert(CATALOG.name, {**document, "verdict": "?"})
    report = await world.worker.writer.write([one, two])
    assert (set(report.failed), report.done) == ({one}, {two})
    page = await world.worker.corrections.page(tool, None, 10, None)
    assert (page.items, page.unreadable) == ([], (correction.id,))
    assert len((await world.store.query(MENTIONS.name, Query(partition=tool.tool_id))).items) == 2
