"""Tools of lists are searched for wherever a worker dies, and merges in a circle end with one tool. On every store."""

import asyncio
import itertools
import random
from contextlib import suppress

import pytest

from models.errors import Conflict, Unavailable
from models.run import JobRun
from services.ports import Store
from services.tools.catalog import owns
from services.work.driver import WORKFLOWS_STAGE
from tests.builders import overdue_keys
from tests.contract.conftest import SettableClock
from tests.functional.articles.turns import Turns, TurnStore
from tests.functional.mentions.world import World


async def test_every_tool_of_a_list_is_searched_for_wherever_its_worker_dies(
    store: Store, clock: SettableClock
) -> None:
    world, survived = World(store, clock), False
    for writes in itertools.count():
        names = [f"Quorvia{writes}{letter}x" for letter in "ab"]
        articles = [await world.article(2 * writes + number, f"{name} is good") for number, name in enumerate(names)]
        await world.delivered(articles)
        listed = "tools:\n" + "".join(f"- name: {name}\n" for name in names)
        survived = await world.dying(writes, lambda worker, given=listed: worker.changes.apply_tools(given.encode()))
        clock.forward(120)
        again, _ = await world.worker.changes.apply_tools(listed.encode())
        assert len(again.known) + len(again.added) == 2
        clock.forward(120)
        for run_id in await overdue_keys(store, WORKFLOWS_STAGE, clock):
            await world.worker.workflows.advance(run_id)
        for name, article in zip(names, articles, strict=True):
            assert set(await world.mentions(await world.worker.catalog.get(name))) == {article}, writes
        if survived:
            break
    assert writes > 8
    assert (await world.worker.changes.apply_tools(listed.encode()))[1] == []
    assert await overdue_keys(store, WORKFLOWS_STAGE, clock) == []


@pytest.mark.parametrize("seed", range(6))
async def test_of_merges_in_a_circle_at_once_one_wins_and_the_others_say_why_not(
    store: Store, clock: SettableClock, seed: int
) -> None:
    world, turns = World(store, clock), Turns(random.Random(seed))
    tools = {letter: await world.tool(f"Quorvia {letter}") for letter in "ABC"}
    ends: dict[str, JobRun] = {}

    async def merged(number: int, pair: str) -> None:
        worker = world.new_worker(TurnStore(store, turns, number))
        source, into = (tools[each].tool_id for each in pair)
        with suppress(Conflict):
            run = await worker.changes.merge(source, into)
            while not (after := await worker.services.runs.get(run.run_id)).is_finished:
                with suppress(Unavailable):
                    await worker.workflows.advance(run.run_id)
            ends[pair] = after

    work = [merged(number, pair) for number, pair in enumerate(("AB", "BC", "CA", "BA"))]
    await turns.give_until_done(*map(asyncio.ensure_future, work))
    assert "SUCCEEDED" in {each.status for each in ends.values()}
    assert all(bool(each.errors) == (each.status != "SUCCEEDED") for each in ends.values())
    for each in tools.values():
        stored, found = await world.worker.catalog.by_id(each.tool_id), await world.worker.catalog.get(each.tool_id)
        assert stored is not None
        assert (found.status, found.merging_into, stored.merging_into) == ("ACTIVE", None, None)
        assert owns(await world.worker.catalog.get(each.primary_name), each.primary_name)
        assert (await world.worker.catalog.get(each.primary_name)).tool_id == found.tool_id
