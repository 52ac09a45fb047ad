"""Runs carried out by workers that die, what became of them, what they work on, and mentions that cannot be read."""

from __future__ import annotations

import contextlib
from datetime import timedelta

from models.run import JobRun
from models.tool import Tool
from services.store.containers import MENTIONS, RUNS
from services.work.driver import ChangedTools
from tests.builders import existing
from tests.failing_stores import Crash, mortal
from tests.functional.mentions.world import World


async def until_done(world: World, run: JobRun, writes: int) -> ChangedTools:
    """By one worker after the other, each of which dies after so many writes; then by one that lives."""
    for _ in range(6):
        with contextlib.suppress(Crash):
            return await world.new_worker(mortal(world.store, writes)).workflows.advance(run.run_id)
    return await world.worker.workflows.advance(run.run_id)


async def articles_of_30_days(world: World) -> dict[str, str]:
    """Analysed articles by their age, of which one names Quorvia, one Quo and the others Qrvdb."""
    names = {"new": "Qrvdb", "known": "Quorvia", "old": "Qrvdb", "too old": "Qrvdb", "lost": "Quo"}
    articles = {}
    for number, (age, days) in enumerate(zip(names, (0, 1, 29, 31, 0), strict=True), 1):
        at = world.watch.now - timedelta(days=days)
        articles[age] = await world.article(number, f"{names[age]} is good", timestamp=at)
    await world.delivered(list(articles.values()))
    return articles


async def status(world: World, run: JobRun) -> str:
    document = await existing(world.store, RUNS.name, run.run_id, JobRun.ID)
    return str(document["status"])


async def break_mention(world: World, tool: Tool, source_id: str) -> None:
    document = await existing(world.store, MENTIONS.name, tool.tool_id, source_id)
    await world.store.upsert(MENTIONS.name, {**document, "matches": "many"})


async def heal_mention(world: World, tool: Tool, source_id: str) -> None:
    document = await existing(world.store, MENTIONS.name, tool.tool_id, source_id)
    await world.store.upsert(MENTIONS.name, {**document, "matches": []})
