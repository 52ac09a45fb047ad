"""A deletion is finished without being asked for again, wherever its worker dies."""

from __future__ import annotations

import contextlib
import itertools

import pytest

from services.articles.merge import REDACTED
from services.mentions.gathering import AnalysisFailed
from services.ports import Query, Where
from services.store.containers import ARTICLES, RUNS
from services.work.driver import WORKFLOWS_STAGE
from services.work.runs import LEASE
from tests.builders import existing, overdue_keys
from tests.documents import observation
from tests.functional.articles.dying import Died, DyingStore, When
from tests.functional.mentions.world import World
from tests.functional.workflows.carried_out import break_mention, heal_mention

DELETIONS = (Where("workflow_name", "eq", "delete_article"),)


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
        world.watch.advance(seconds=LEASE.total_seconds() + 60)
        overdue = await overdue_keys(world.store, WORKFLOWS_STAGE, world.watch)
        for run_id in overdue:
            assert await world.worker.workflows.advance(run_id) is not None
        if await world.store.count(RUNS.name, DELETIONS) == 0:
            assert dying.operations <= 2, "it died before it had promised anything"
            continue
        assert (await world.read(article)).deleted_at is not None
        left = await existing(world.store, ARTICLES.name, article, observation().id)
        assert (left["headline"], "text" in left, "deleted_at" in left) == (REDACTED, False, True)
        assert article not in await world.mentions(tool)
        await world.is_counted(tool)
        (run,) = (await world.store.query(RUNS.name, Query(DELETIONS))).items
        assert run["status"] == "SUCCEEDED"
        for document in (await world.store.query(RUNS.name, Query())).items:
            await world.store.delete(RUNS.name, document["run_id"], document["id"])
        if not dying.is_dead:
            assert k > 15
            return


async def test_a_deletion_that_cannot_remove_a_mention_is_tried_again(world: World) -> None:
    tool = await world.tool("Quorvia")
    article = await world.article(1, "Quorvia is good")
    await world.delivered([article])
    await break_mention(world, tool, article)
    with pytest.raises(AnalysisFailed):
        await world.worker.delete(article)
    await heal_mention(world, tool, article)
    world.watch.advance(seconds=LEASE.total_seconds() + 60)
    (run_id,) = await overdue_keys(world.store, WORKFLOWS_STAGE, world.watch)
    await world.worker.workflows.advance(run_id)
    assert await world.mentions(tool) == {}
