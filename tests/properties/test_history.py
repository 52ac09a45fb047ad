"""Whatever is said of a tool and when, and wherever a process dies: every point is what the mentions say, or said."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from models.mention import SentimentScore
from models.timeline import DailyClose
from services.figures.counting import Count
from services.figures.coverage import Coverage
from services.figures.daily_close import DailyCloses
from services.figures.history import History
from services.figures.points import Span, day_start
from services.figures.recount import Recount
from services.mentions.due import mark_dirty
from services.ports import Store
from services.store.containers import CATALOG, MENTIONS
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.functional.articles.dying import Died, DyingStore
from tests.functional.figures.world import a_mention, a_tool, count_of, everything

START = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
DAY = timedelta(days=1)
TOOL = a_tool(0, START)
DEATHS = st.none() | st.tuples(st.integers(1, 12), st.sampled_from(["before", "halfway", "after"]))
STEPS = st.one_of(
    st.tuples(
        st.just("say"),
        st.integers(0, 9),
        st.integers(0, 33 * 24),
        st.sampled_from(["positive", "negative", "neutral", "unscored"]),
        st.sampled_from([None, "one", "two"]),
        st.sampled_from([None, "a.example", "b.example"]),
    ),
    st.tuples(st.just("unsay"), st.integers(0, 9)),
    st.tuples(st.just("close"), DEATHS),
    st.tuples(st.just("wait"), st.sampled_from([1, 6, 24, 24 * 9, 24 * 31])),
)


async def _play(steps: list[tuple[Any, ...]]) -> None:
    clock = Watch(START)
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "store.db", clock)
        await store.create(CATALOG.name, TOOL.to_document())
        closes: dict[str, DailyClose] = {}
        frozen: dict[str, dict[str, Any]] = {}
        for step in (*steps, ("close", None)):
            await _step(store, clock, step)
            for document in await everything(store, CATALOG.name, TOOL.tool_id):
                if document["id"].startswith("CLOSE:"):
                    close = DailyClose.from_document(document)
                    assert close == closes.setdefault(close.day, close)
            await _check(store, clock, frozen)
        await store.close()


def _closes(store: Store, clock: Watch) -> DailyCloses:
    return DailyCloses(store, Recount(store), Coverage(store), clock)


async def _step(store: SqliteStore, clock: Watch, step: tuple[Any, ...]) -> None:
    what, *given_values = step
    if what == "wait":
        clock.advance(hours=given_values[0])
    elif what == "close":
        death = given_values[0]
        with contextlib.suppress(Died):
            await _closes(store if death is None else DyingStore(store, *death), clock).work()
    elif what == "say":
        number, age, sentiment, event, publisher = given_values
        named = {"event_id": event, "publisher_id": publisher, "created_at": clock.now, "updated_at": clock.now}
        at = clock.now - timedelta(hours=age)
        known = await store.read(MENTIONS.name, TOOL.tool_id, f"{number}")
        if known is not None:
            at = SentimentScore.from_document(known).published_at
        await store.upsert(MENTIONS.name, a_mention(TOOL.tool_id, f"{number}", at, sentiment, **named).to_document())
        await mark_dirty(store, {TOOL.tool_id: [at]}, clock.now)
    else:
        known = await store.read(MENTIONS.name, TOOL.tool_id, f"{given_values[0]}")
        if known is not None:
            await store.delete(MENTIONS.name, TOOL.tool_id, known["id"])
            await mark_dirty(store, {TOOL.tool_id: [SentimentScore.from_document(known).published_at]}, clock.now)


async def _check(store: SqliteStore, clock: Watch, frozen: dict[str, dict[str, Any]]) -> None:
    """Live days are what their mentions say, frozen ones what they showed before, each for itself and together."""
    today = day_start(clock.now.date())
    span = Span("day", today - 45 * DAY, today + DAY, clock.now)
    history = await History(store, Recount(store), Coverage(store)).canonical(TOOL.tool_id, span)
    mentions = await everything(store, MENTIONS.name, TOOL.tool_id)
    whole = Count()
    for point in history.points:
        count = Count(is_known=point.state != "unknown")
        if point.state == "live":
            count = count_of(each for each in mentions if each["published_at"][:10] == point.name)
            assert point.figures == {**count.figures(), "coverage": None}
        elif point.state == "frozen":
            shown = frozen.setdefault(point.name, dict(point.figures))
            assert point.figures == shown
            document = await store.read(CATALOG.name, TOOL.tool_id, f"COUNTS:{point.name.replace('-', '')}")
            count = Count.stored(document["whole"]) if document else count
            assert count.figures().items() <= point.figures.items()
        whole.merge(count)
    assert history.total == {**whole.figures(), "coverage": None}


@settings(max_examples=60)
@given(st.lists(STEPS, min_size=1, max_size=14))
def test_every_point_is_what_the_mentions_say_or_said_when_the_day_was_frozen(steps: list[tuple[Any, ...]]) -> None:
    asyncio.run(_play(steps))
