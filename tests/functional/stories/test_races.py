"""Whatever happens between two store calls of a grouping, all documents agree once what is due was worked off."""

from __future__ import annotations

import contextlib
import functools
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

from models.errors import Unavailable
from models.run import CORRECT_GROUPING
from services.ports import Query, Store
from services.store.containers import ARTICLES
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import NOW
from tests.failing_stores import Crash, Interrupted
from tests.functional.stories.test_grouping import some
from tests.functional.stories.world import ANY, LEAD, OTHER, OUTAGE, OUTAGE_LATER, RELEASE, World

pytestmark = pytest.mark.soak

MAX_CALLS = 60
Act = Callable[[World, list[str]], Awaitable[Any]]


async def edited(world: World, articles: list[str]) -> None:
    """Analysed, too: the article is due again."""
    for which, headline in ((5, OTHER), (1, RELEASE)):
        await world.edit(articles[which], headline)
        await world.delivered([articles[which]])


async def deleted(world: World, articles: list[str]) -> None:
    for which in (0, 5):
        await world.worker.articles.delete(articles[which])
        await world.delivered([articles[which]])


async def arrived(world: World, articles: list[str]) -> None:
    """An article that was published before the others."""
    await world.analysed(95, OUTAGE_LATER, LEAD)


async def corrected(world: World, articles: list[str]) -> None:
    for kind, one, other in (("NOT_ONE_STORY", 0, 5), ("ONE_STORY", 2, 4)):
        said = {"kind": kind, "articles": [articles[one]], "others": [articles[other]], "author": "Ada"}
        workflows = world.worker.workflows
        await workflows.advance((await workflows.engine.accept(CORRECT_GROUPING, None, correction=said)).run_id)


async def grouped_by_another(world: World, articles: list[str]) -> None:
    """The worker pauses for longer than its lease, and another one groups meanwhile."""
    await edited(world, articles)
    world.watch.advance(minutes=3)
    await world.group()


async def edited_back_by_another(world: World, articles: list[str]) -> None:
    """What the first worker has not written yet is right already."""
    await world.edit(articles[0], OUTAGE)
    await world.delivered([articles[0]])
    world.watch.advance(minutes=3)
    await world.group()


async def work_off(world: World) -> None:
    page = await world.store.query(ARTICLES.name, Query(order="by_analysis_due", limit=1000))
    await world.delivered([each["source_id"] for each in page.items])
    world.watch.advance(minutes=3)
    await world.group()


async def grouped_before(path: Path) -> list[str]:
    """Stores grouped articles, of which the first was edited since."""
    world = World(SqliteStore(path, watch := Watch(NOW)), watch)
    articles = await some(world)
    await world.group()
    await world.edit(articles[0], RELEASE)
    await world.delivered([articles[0]])
    await world.store.close()
    return articles


ACTS = (edited, deleted, arrived, corrected, grouped_by_another, edited_back_by_another)


@pytest.mark.parametrize(("act", "dies"), [(edited, 1), *((act, None) for act in ACTS)])
async def test_the_grouping_is_right_whatever_happens_at_one_of_its_calls(
    tmp_path: Path, act: Act, dies: int | None
) -> None:
    """`dies`: after so many writes more."""
    articles = await grouped_before(path := tmp_path / "before.db")
    for number in range(0, MAX_CALLS, 2):
        store = SqliteStore(Path(shutil.copy(path, tmp_path / f"{number}.db")), watch := Watch(NOW))
        world = World(store, watch)
        acted = functools.partial(act, world, articles)
        interrupted = Interrupted(store, number, acted, dies)
        with contextlib.suppress(Crash, Unavailable):
            await world.new_worker(cast("Store", interrupted)).grouper.handle(ANY)
        await work_off(world)
        await world.is_right()
        await store.close()
        if not interrupted.has_acted:
            assert number > 12
            return
    raise AssertionError("the grouping makes too many calls")
