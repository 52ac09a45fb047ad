"""Another analyzer is compared with the stored scores of a tool, and nothing changes."""

from __future__ import annotations

from typing import Any

import pytest

from models.errors import InvalidInput
from models.resources.runs import ComparisonReport
from models.run import COMPARE
from services.mentions.analyzers.port import Judgement, NotJudged
from services.store.containers import ARTICLES, CATALOG, MENTIONS
from services.workflows.comparing import PAGE
from tests.functional.mentions.world import Words, World
from tests.functional.workflows.carried_out import break_mention, status, until_done


class Grumpy(Words):
    """Judges every text as negative."""

    name = "grumpy"

    def judged(self, text: str) -> Judgement | NotJudged:
        return NotJudged("odd") if "odd" in text else Judgement("negative", 0.9, -0.9)


@pytest.fixture
def grumpy(world: World) -> Grumpy:
    analyzer = Grumpy("7")
    world.other_analyzers["grumpy"] = lambda: analyzer
    world.worker = world.new_worker()
    return analyzer


async def everything(world: World) -> list[Any]:
    return [
        sorted(each.items(), key=str)
        for container in (ARTICLES, MENTIONS, CATALOG)
        for each in (await world.store.query(container.name, world.everything)).items
    ]


async def reported(world: World, analyzer: str) -> dict[str, Any]:
    run = await world.run(await world.worker.changes.compare("Quorvia", analyzer))
    assert (run.workflow_name, run.status) == (COMPARE, "SUCCEEDED")
    assert run.report is not None
    return ComparisonReport.of(run.report).shown()


async def test_the_report_says_what_another_analyzer_would_change(world: World, grumpy: Grumpy) -> None:
    await world.tool("Quorvia")
    good = await world.article(1, "Quorvia is good")
    bad = await world.article(2, "Quorvia is bad")
    german = await world.article(3, "Quorvia ist da", language="de")
    await world.delivered([good, bad, german])
    before = await everything(world)
    report = await reported(world, "grumpy")
    assert await everything(world) == before
    assert (report["analyzer"], report["analyzer_version"]) == ("grumpy", "7")
    assert (report["compared"], report["changed"], report["share_changed"]) == (3, 1, 0.3333)
    changed = {key: {to: n for to, n in row.items() if n} for key, row in report["labels"].items() if any(row.values())}
    assert changed == {"positive": {"negative": 1}, "negative": {"negative": 1}, "unscored": {"unscored": 1}}
    assert report["before"]["average_sentiment"] == 0.0
    assert report["after"]["average_sentiment"] < -0.8
    assert [each["headline"] for each in report["samples"]] == ["Quorvia is good"]
    assert report["scored_by"] == {"words/1": 3}


async def test_what_cannot_be_compared_is_counted_by_reason(world: World, grumpy: Grumpy) -> None:
    tool = await world.tool("Quorvia")
    titles = ["is good", "expires", "is deleted", "is broken", "has no mention", "is not named", "is odd"]
    articles = [await world.article(number, f"Quorvia {title}") for number, title in enumerate(titles, 1)]
    await world.delivered(articles)
    _, expired, deleted, broken, removed, renamed, _ = articles
    await world.store.delete(ARTICLES.name, expired, "article")
    await world.worker.articles.delete(deleted)
    await break_mention(world, tool, broken)
    await world.edit(removed, "Nothing")
    await world.delivered([removed])
    await world.edit(renamed, "Nothing")
    report = await reported(world, "grumpy")
    assert report["compared"] == 1
    assert report["not_compared"] == {"EXPIRED": 2, "UNREADABLE": 1, "NOT_NAMED": 1, "NOT_JUDGED": 1}


@pytest.mark.parametrize("writes", [0, 1, 2, 3, 99])
async def test_a_comparison_that_dies_anywhere_counts_every_mention_once(
    world: World, grumpy: Grumpy, writes: int
) -> None:
    await world.tool("Quorvia")
    await world.delivered([await world.article(number, "Quorvia is good") for number in range(1, PAGE + 3)])
    run = await world.worker.changes.compare("Quorvia", "grumpy")
    await until_done(world, run, writes)
    assert await status(world, run) == "SUCCEEDED"
    ended = await world.run(run)
    assert ended.report is not None
    assert (ended.report.compared, ended.report.changed, ended.progress) == (PAGE + 2,) * 3
    assert ended.metrics == {"compared": PAGE + 2, "changed": PAGE + 2, "not_compared": 0, "failed": 0}


async def test_an_analyzer_that_the_app_lacks_is_refused(world: World) -> None:
    await world.tool("Quorvia")
    with pytest.raises(InvalidInput, match="must be one of words"):
        await world.worker.changes.compare("Quorvia", "gloomy")


async def test_a_run_whose_analyzer_changed_its_version_fails(world: World, grumpy: Grumpy) -> None:
    await world.tool("Quorvia")
    run = await world.worker.changes.compare("Quorvia", "grumpy")
    grumpy.version = "8"
    ended = await world.run(run)
    assert ended.status == "FAILED"
    assert ended.errors == ("analyzer: grumpy is of version 8, the run began with 7",)
    world.other_analyzers.clear()
    world.worker = world.new_worker()
    run = await world.worker.workflows.engine.accept(COMPARE, ended.subject, analyzer="grumpy", analyzer_version="8")
    assert (await world.run(run)).errors == ("analyzer: must be one of words",)
