"""Articles become mentions exactly once; an article that fails does so alone."""

from __future__ import annotations

import contextlib
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from models.run import WORKER_DIED
from models.tool import Tool
from models.values import parse_time
from services.mentions.due import ANALYSIS_STAGE, redrive_errors
from services.mentions.writing import Analysis
from services.store.containers import ARTICLES, CATALOG
from services.topology import LAST_DELIVERY
from services.work.backlog import Backlog, BacklogReader
from services.work.driver import TIME_PER_MESSAGE
from services.work.stage import MAX_TRIES
from tests.builders import existing
from tests.failing_stores import Crash
from tests.functional.mentions.world import World

ROOT = Path(__file__).resolve().parents[3]


def test_the_last_delivery_is_the_one_after_which_the_queue_gives_up() -> None:
    queues = json.loads((ROOT / "host.json").read_text())["extensions"]["queues"]
    assert queues["maxDequeueCount"] == LAST_DELIVERY


def test_a_page_of_a_run_may_take_as_long_as_its_turn_before_the_function_times_out() -> None:
    hours, minutes, seconds = json.loads((ROOT / "host.json").read_text())["functionTimeout"].split(":")
    assert timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds)) >= 2 * TIME_PER_MESSAGE


async def test_an_article_is_analysed_and_mentions_each_tool_that_it_names(world: World) -> None:
    quorvia = await world.tool("Quorvia", "QV", tickers=["QRVA"])
    tarnwick = await world.tool("Tarnwick DB")
    one = await world.article(1, "Quorvia is good", "Tarnwick DB is bad. QV stays good. $QRVA rises.")
    other = await world.article(2, "Nothing of note")
    handled = await world.worker.analysis.handle([one, other, "dedup:" + "f" * 32])
    assert (handled.done, handled.failed) == (2, {})

    analysed = await world.read(one)
    assert (analysed.status, analysed.analyzer, analysed.analyzer_version) == ("analyzed", "words", "1")
    assert analysed.detected_tool_ids == tuple(sorted((quorvia.tool_id, tarnwick.tool_id)))
    assert (analysed.matched_tickers, analysed.detected_tickers) == (("QRVA",), ("QRVA",))
    assert (analysed.analyzed_revision, analysed.analysis_due_since) == (analysed.canonical.revision, None)
    assert (await world.read(other)).status == "analyzed"

    ours, theirs = (await world.mentions(quorvia))[one], (await world.mentions(tarnwick))[one]
    assert (ours.sentiment, theirs.sentiment) == ("positive", "negative")
    assert [(each.name, each.kind, each.where) for each in ours.matches] == [
        ("Quorvia", "NAME", "HEADLINE"),
        ("QV", "ALIAS", "TEXT"),
        ("$QRVA", "TICKER", "TEXT"),
    ]
    assert ours.published_at == analysed.timestamp
    await world.is_counted(quorvia)
    await world.is_counted(tarnwick)


async def test_it_is_told_once_since_when_each_analysis_was_due(world: World) -> None:
    told: list[Any] = []
    analysis = Analysis(world.worker.writer, world.watch, told.extend)
    new = await world.article(1, "Quorvia is good", analysis_due_since=world.watch.now - timedelta(seconds=9))
    not_due = await world.article(2, "Nothing of note", analysis_due_since=None)
    for _ in range(2):
        await analysis.work([new, not_due], alone=False)
    assert told == [world.watch.now - timedelta(seconds=9)]
    await world.edit(new, "Quorvia is bad")
    world.watch.advance(seconds=3)
    await analysis.work([new], alone=False)
    assert told[1:] == [world.watch.now - timedelta(seconds=3)]


async def test_an_edit_moves_mentions_and_a_deletion_removes_them(world: World) -> None:
    quorvia, tarnwick = await world.tool("Quorvia"), await world.tool("Tarnwick")
    one = await world.article(1, "Quorvia is good")
    await world.delivered([one])
    before = (await world.mentions(quorvia))[one]
    world.watch.advance(hours=2)
    await world.edit(one, "Tarnwick is bad")
    await world.delivered([one])
    assert await world.mentions(quorvia) == {}
    assert (await world.mentions(tarnwick))[one].sentiment == "negative"
    await world.edit(one, "Quorvia is bad")
    await world.delivered([one])
    after = (await world.mentions(quorvia))[one]
    assert (after.sentiment, after.published_at) == ("negative", before.published_at)
    await world.worker.delete(one)
    for tool in (quorvia, tarnwick):
        assert await world.mentions(tool) == {}
        await world.is_counted(tool)
    assert (await world.read(one)).detected_tool_ids == ()


async def tried_again_after(world: World, source_id: str) -> int:
    """The seconds after which an article that has failed fails again."""
    document = await existing(world.store, ARTICLES.name, source_id, "article")
    wait = parse_time(document["analysis_due_since"]) - world.watch.now
    world.watch.advance(seconds=wait.total_seconds() - 1)
    assert (await world.worker.analysis.handle([source_id])).failed == {}
    world.watch.advance(seconds=1)
    assert (await world.worker.analysis.handle([source_id])).failed.keys() == {source_id}
    return int(wait.total_seconds())


async def test_a_message_that_is_delivered_twice_writes_nothing_more(world: World) -> None:
    quorvia = await world.tool("Quorvia")
    one = await world.article(1, "Quorvia is good")
    await world.delivered([one])
    before = (await world.read(one)).stored_etag, (await world.mentions(quorvia))[one].stored_etag
    world.watch.advance(minutes=1)
    await world.delivered([one])
    assert ((await world.read(one)).stored_etag, (await world.mentions(quorvia))[one].stored_etag) == before


async def test_a_text_that_cannot_be_judged_fails_alone_and_is_analysed_once_it_was_edited(world: World) -> None:
    quorvia = await world.tool("Quorvia")
    cursed, well = await world.article(1, "cursed Quorvia"), await world.article(2, "Quorvia is good")
    handled = await world.worker.analysis.handle([cursed, well])
    assert (handled.done, set(handled.failed)) == (1, {cursed})
    assert (await world.read(cursed)).last_error_fingerprint == "cursed text"
    assert set(await world.mentions(quorvia)) == {well}
    await world.edit(cursed, "Quorvia is bad")
    await world.delivered([cursed])
    assert (await world.read(cursed)).status == "analyzed"


async def test_an_unreadable_article_fails_alone_and_becomes_an_error_at_its_fifth_try(world: World) -> None:
    quorvia = await world.tool("Quorvia")
    broken, well = await world.article(1, "Quorvia"), await world.article(2, "Quorvia is good")
    document = await existing(world.store, ARTICLES.name, broken, "article")
    await world.store.upsert(ARTICLES.name, {**document, "sources": ["nobody"]})
    assert (await world.worker.analysis.handle([broken, well])).failed.keys() == {broken}
    assert set(await world.mentions(quorvia)) == {well}
    assert (await world.worker.analysis.handle([broken])).failed == {}, "it is due again after a while"
    waits = [await tried_again_after(world, broken) for _ in range(MAX_TRIES - 1)]
    assert waits == [30, 60, 120, 240]
    failed = await existing(world.store, ARTICLES.name, broken, "article")
    assert (failed["status"], failed["analysis_attempts"]) == ("error", MAX_TRIES)
    assert "analysis_due_since" not in failed

    await world.store.upsert(ARTICLES.name, {**failed, "sources": document["sources"]})
    assert await redrive_errors(world.store, 9, world.watch.now) == [broken]
    assert await redrive_errors(world.store, 9, world.watch.now) == []
    await world.delivered([broken])
    assert (await world.read(broken)).status == "analyzed"


async def test_articles_in_error_can_be_redriven_and_are_tried_at_once(world: World) -> None:
    articles = [await world.article(number, "cursed Quorvia") for number in (1, 2)]
    await world.given_up(articles)
    assert {(await world.read(each)).status for each in articles} == {"error"}
    world.analyzer.curse = "nothing"
    redriven = await redrive_errors(world.store, 1, world.watch.now)
    redriven += await redrive_errors(world.store, 9, world.watch.now)
    assert sorted(redriven) == articles
    assert await redrive_errors(world.store, 9, world.watch.now) == []
    assert {(await world.read(each)).status for each in articles} == {"pending"}
    await world.delivered(articles)
    assert [(await world.read(each)).status for each in articles] == ["analyzed", "analyzed"]


async def test_an_article_that_kills_its_workers_becomes_an_error_and_the_others_are_analysed(world: World) -> None:
    deadly, well = await world.article(1, "deadly news"), await world.article(2, "News")
    deliveries = 0
    while (await world.read(deadly)).status == "pending":
        deliveries += 1
        with contextlib.suppress(Crash):
            await world.worker.analysis.handle([deadly, well], deliveries)
        world.watch.advance(minutes=10)
    assert deliveries > MAX_TRIES
    assert (await world.read(deadly)).last_error_fingerprint == WORKER_DIED
    assert (await world.read(well)).status == "analyzed"


async def test_an_edit_that_cannot_be_judged_is_an_error_and_keeps_the_figures_of_the_version_before(
    world: World,
) -> None:
    quorvia = await world.tool("Quorvia")
    one = await world.article(1, "Quorvia is good")
    await world.delivered([one])
    await world.edit(one, "cursed Quorvia")
    await world.given_up([one])
    article = await world.read(one)
    assert (article.status, article.sentiment, article.analysis_due_since) == ("error", "positive", None)
    assert (article.canonical.headline, article.scored_headline) == ("cursed Quorvia", "Quorvia is good")
    assert article.analyzed_revision != article.canonical.revision
    assert (await world.mentions(quorvia))[one].headline == "Quorvia is good"
    assert await BacklogReader(world.store, ANALYSIS_STAGE).read() == Backlog(0, 1)


async def test_a_deprecated_tool_is_not_detected_and_keeps_its_mentions(world: World) -> None:
    quorvia = await world.tool("Quorvia")
    old = await world.article(1, "Quorvia is good")
    await world.delivered([old])
    await world.worker.catalog.change("Quorvia", {"status": "DEPRECATED"})
    new = await world.article(2, "Quorvia is bad")
    await world.edit(old, "Quorvia is fine")
    await world.delivered([old, new])
    assert set(await world.mentions(quorvia)) == {old}
    assert (await world.read(old)).detected_tool_ids == (quorvia.tool_id,)


async def test_an_article_fails_alone_while_a_tool_of_its_own_cannot_be_read_and_loses_no_mention(world: World) -> None:
    one, other = await world.tool("Hexwharf"), await world.tool("Pebblegrid")
    of_both, of_other = await world.article(1, "Hexwharf and Pebblegrid"), await world.article(2, "Pebblegrid")
    deleted = await world.article(3, "Hexwharf")
    await world.delivered([of_both, of_other, deleted])
    stored = await existing(world.store, CATALOG.name, one.tool_id, Tool.ID)
    await world.store.upsert(CATALOG.name, {**stored, "aliases": "none"})
    await world.worker.catalog.announce()
    for each in (of_both, of_other):
        await world.edit(each, "Hexwharf and Pebblegrid are good")

    handled = await world.worker.analysis.handle([of_both, of_other])
    assert (handled.done, list(handled.failed)) == (1, [of_both])
    assert handled.failed[of_both].startswith("a tool that cannot be read")
    run = await world.run(await world.worker.changes.backfill([other.tool_id]))
    assert (run.status, run.metrics["failed"]) == ("SUCCEEDED", 0), "the other tool alone can be analysed"
    await world.worker.delete(deleted)
    assert set(await world.mentions(one)) == {of_both}
    assert {key: each.sentiment for key, each in (await world.mentions(other)).items()} == {
        of_both: "positive",
        of_other: "positive",
    }

    await world.store.upsert(CATALOG.name, {**stored, "updated_at": stored["updated_at"]})
    await world.worker.catalog.announce()
    world.watch.advance(seconds=30)
    await world.delivered([of_both])
    await world.run(await world.worker.changes.backfill([one.tool_id]))  # of_other was analysed without the tool
    for tool in (one, other):
        assert {key: each.sentiment for key, each in (await world.mentions(tool)).items()} == {
            of_both: "positive",
            of_other: "positive",
        }
        await world.is_counted(tool)
