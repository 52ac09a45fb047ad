"""Which signals are made, updated, and withdrawn."""

from __future__ import annotations

from datetime import datetime, timedelta

from models.story import Signal
from services.signals.rules import TOLD_WITHIN, ToolStory, decide
from tests.documents import NOW, TOOL_ID
from tests.unit.signals.stories import EVENT, told

STORY = told((0, "a", 0.5), (20, "b", 0.1))
LATER = NOW + timedelta(hours=1)


def stored(signals: list[Signal]) -> list[Signal]:
    return [Signal.from_document({**each.to_document(), "_etag": "1"}) for each in signals]


def decided(*stories: ToolStory, known: list[Signal] | None = None, now: datetime = LATER) -> list[Signal]:
    return decide(stories, known or [], now)


def test_a_finding_becomes_a_signal_whose_id_follows_from_kind_and_story() -> None:
    (made,) = decided(STORY)
    assert (made.id, made.partition, made.kind) == (f"NEW:{EVENT}", TOOL_ID, "NEW")
    assert (made.created_at, made.timestamp, made.story_published_at) == (LATER, NOW + timedelta(minutes=20), NOW)
    assert (made.withdrawn_at, made.stored_etag) == (None, None)
    first = decided(told((0, "a"), (9, "b"), topics=("OUTAGE",), days_known=3))[1]
    assert first.id == f"FIRST_OF_ITS_KIND:OUTAGE:{EVENT}"


def test_deciding_again_writes_nothing() -> None:
    known = stored(decided(STORY))
    assert decided(STORY, known=known, now=LATER + timedelta(days=3)) == []


def test_a_signal_is_updated_in_place() -> None:
    known = stored(decided(STORY))
    (after,) = decided(told((0, "a", 0.5), (20, "b", 0.1), (30, "c")), known=known, now=LATER + timedelta(days=3))
    assert (after.id, after.stored_etag, after.after.articles, after.created_at) == (known[0].id, "1", 3, LATER)
    assert after.updated_at == LATER + timedelta(days=3)


def test_a_signal_that_does_not_hold_any_more_is_withdrawn_once_and_comes_back() -> None:
    known = stored(decided(STORY))
    (gone,) = decided(told((0, "a", 0.5)), known=known)
    assert (gone.id, gone.withdrawn_at, gone.stored_etag) == (known[0].id, LATER, "1")
    assert decided(told((0, "a", 0.5)), known=stored([gone])) == []
    assert decided(known=stored([gone])) == []
    (back,) = decided(STORY, known=stored([gone]), now=LATER + timedelta(days=3))
    assert (back.withdrawn_at, back.after) == (None, known[0].after)


def test_no_signal_is_made_of_what_is_a_day_old() -> None:
    noticed = NOW + timedelta(minutes=20)
    assert timedelta(hours=24) == TOLD_WITHIN
    assert len(decided(STORY, now=noticed + TOLD_WITHIN)) == 1
    assert decided(STORY, now=noticed + TOLD_WITHIN + timedelta(seconds=1)) == []
