"""What a story suggests for a tool, and which signals are made, updated, and withdrawn."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from models.story import NOBODY, Side, Signal
from models.tally import Tally
from services.signals.rules import TOLD_WITHIN, ToolStory, decide, findings, is_about
from tests.documents import NOW, TOOL_ID
from tests.unit.signals.stories import EVENT, told

H = 60


def found(story: ToolStory, kind: str) -> Signal | None:
    matching = [each for each in findings(story) if each["kind"] == kind]
    assert len(matching) <= 1
    of_story: dict[str, Any] = {"tool_id": TOOL_ID, "event_id": EVENT, "story_published_at": story.began_at}
    return Signal(created_at=NOW, updated_at=NOW, **of_story, **matching[0]) if matching else None


def test_nothing_follows_from_articles_of_one_publisher() -> None:
    assert findings(told()) == []
    assert findings(told((0, "a", 0.9), (1, "a", -0.9), (700, "a"), (701, "a"), (702, "a"))) == []


def test_a_story_is_new_when_its_second_publisher_mentions_the_tool() -> None:
    new = found(told((0, "a", 0.5), (10, "a"), (20, "b", -0.1), (30, "c")), "NEW")
    assert new is not None
    assert new.timestamp == NOW + timedelta(minutes=20)
    assert (new.before, new.after) == (NOBODY, Side(articles=4, publishers=3, average_sentiment=0.2))
    assert new.reason == "A new story: 4 articles by 3 publishers since 2026-02-21T20:00:00Z."
    assert (new.publishers, len(new.articles), new.compared_with, new.topic) == (("a", "b", "c"), 4, None, None)


def test_the_evidence_of_a_new_story_ends_after_a_day() -> None:
    new = found(told((0, "a"), (20, "b"), (20 + 24 * H, "c"), (21 + 24 * H, "d")), "NEW")
    assert new is not None
    assert (new.after.articles, new.after.average_sentiment) == (3, None)


def test_a_story_grows_if_three_articles_and_twice_the_publishers_are_there_six_hours_later() -> None:
    story = told((0, "a"), (1, "b"), (7 * H, "c"), (7 * H + 1, "d"), (7 * H + 2, "a"))
    growing = found(story, "GROWING")
    assert growing is not None
    assert growing.timestamp == NOW + timedelta(minutes=7 * H + 2)
    assert growing.before == Side(articles=2, publishers=2)
    assert growing.after == Side(articles=5, publishers=4)
    assert growing.reason == (
        "The story grew within 6 hours: from 2 articles by 2 publishers to 5 articles by 4 publishers."
    )
    assert growing.publishers == ("c", "d", "a")


@pytest.mark.parametrize(
    ("reports", "grows"),
    [
        ([(0, "a"), (1, "b"), (7 * H, "c"), (7 * H + 1, "d")], False),
        ([(0, "a"), (7 * H, "c"), (7 * H + 1, "d"), (7 * H + 2, "e")], False),
        ([(0, "a"), (1, "b"), (7 * H, "c"), (7 * H + 1, "a"), (7 * H + 2, "b")], False),
        ([(0, "a"), (1, "b"), (6 * H, "c"), (6 * H, "d"), (6 * H + 1, "e")], True),
        ([(0, "a"), (1, "b"), (6 * H, "c"), (6 * H, "d"), (6 * H, "e")], False),
        ([(0, "a"), (1, "b"), (7 * H, "c"), (10 * H, "d"), (13 * H, "e")], False),
        ([(0, "a"), (1, "b"), (2, "c"), (3, "d"), (4, "e")], False),
        ([(0, "a"), (1, "b"), (7 * H, "c"), (7 * H + 1, "c"), (7 * H + 2, "c")], False),
        ([(0, "a"), (1, "b"), (7 * H, "c"), (7 * H + 1, "c"), (7 * H + 2, "d")], True),
    ],
)
def test_less_is_no_growth(reports: list[tuple[float, str]], grows: bool) -> None:
    assert (found(told(*reports), "GROWING") is not None) == grows


def test_the_sentiment_of_a_story_turns_where_both_sides_differ_most() -> None:
    story = told(*((n, "ab"[n % 2], 0.5) for n in range(4)), *((10 + n, "ab"[n % 2], -0.4) for n in range(3)))
    turned = found(story, "REVERSED")
    assert turned is not None
    assert (turned.compared_with, turned.timestamp) == ("STORY", NOW + timedelta(minutes=10))
    assert turned.before == Side(articles=4, publishers=2, average_sentiment=0.5)
    assert turned.after == Side(articles=3, publishers=2, average_sentiment=-0.4)
    assert turned.reason == "Sentiment in the story turned from +0.50 to -0.40."


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([("a", 0.5), ("b", 0.5)], [("a", -0.5), ("b", -0.5), ("c", -0.5)]),
        ([("a", 0.5), ("b", 0.5), ("c", 0.5)], [("a", -0.5), ("b", -0.5)]),
        ([("a", 0.5), ("b", 0.5), ("c", 0.5)], [("a", -0.5), ("b", -0.5), ("c", None)]),
        ([("a", 0.5), ("a", 0.5), ("a", 0.5)], [("a", -0.5), ("b", -0.5), ("c", -0.5)]),
        ([("a", 0.5), ("b", 0.5), ("c", 0.5)], [("a", -0.5), ("a", -0.5), ("a", -0.5)]),
        ([("a", 0.19), ("b", 0.19), ("c", 0.19)], [("a", -0.5), ("b", -0.5), ("c", -0.5)]),
        ([("a", 0.5), ("b", 0.5), ("c", 0.5)], [("a", -0.19), ("b", -0.19), ("c", -0.19)]),
        ([("a", 0.2), ("b", 0.2), ("c", 0.2)], [("a", 0.9), ("b", 0.9), ("c", 0.9)]),
    ],
)
def test_too_few_or_unclear_articles_are_no_turn(
    before: list[tuple[str, float | None]], after: list[tuple[str, float | None]]
) -> None:
    story = told(*((n, *each) for n, each in enumerate((*before, *after))))
    assert found(story, "REVERSED") is None


def turned_after(*polarities: float) -> int | None:
    """How many articles are before the turn."""
    reports = [(float(n), "ab"[n % 2], each) for n, each in enumerate(polarities)]
    turned = found(told(*reports), "REVERSED")
    return None if turned is None else turned.before.articles


def test_of_several_turns_the_one_with_the_greatest_difference_counts_and_then_the_earliest() -> None:
    assert turned_after(0.9, 0.9, 0.9, 0.3, -0.9, -0.9, -0.9) == 4
    assert turned_after(0.5, 0.5, 0.5, 0.0, -0.5, -0.5, -0.5) == 3


def test_a_turn_of_exactly_the_least_size_counts() -> None:
    reports = [(0.0, "a", -0.2), (1.0, "b", -0.2), (2.0, "b", -0.2)]
    assert found(told(*reports, week=Tally(positive=5, polarity_millionths=1_000_000)), "REVERSED") is not None
    turned_up = [(minute, publisher, -polarity) for minute, publisher, polarity in reports]
    assert found(told(*turned_up, week=Tally(negative=5, polarity_millionths=-1_000_000)), "REVERSED") is not None
    story = told(*((n, "ab"[n % 2], 0.2) for n in range(3)), *((10 + n, "ab"[n % 2], -0.2) for n in range(3)))
    assert found(story, "REVERSED") is not None


def test_a_story_is_also_compared_with_the_week_before_it() -> None:
    reports = [(0, "a", -0.5), (5, "b", None), (9, "b", -0.4), (12, "a", -0.6)]
    turned = found(told(*reports, week=Tally(positive=4, neutral=1, polarity_millionths=1_500_000)), "REVERSED")
    assert turned is not None
    assert (turned.compared_with, turned.timestamp) == ("WEEK", NOW + timedelta(minutes=12))
    assert turned.before == Side(articles=5, publishers=None, average_sentiment=0.3)
    assert turned.after == Side(articles=3, publishers=2, average_sentiment=-0.5)
    assert turned.reason == "Sentiment in the story is -0.50; in the seven days before it was +0.30."
    for week in (
        Tally(positive=4, polarity_millionths=1_500_000),
        Tally(positive=4, neutral=1, polarity_millionths=900_000),
        Tally(negative=5, polarity_millionths=-2_000_000),
        Tally(unscored=9),
        Tally(),
    ):
        assert found(told(*reports, week=week), "REVERSED") is None
    enough = Tally(positive=5, polarity_millionths=2_000_000)
    assert found(told(*reports[:3], week=enough), "REVERSED") is None
    assert found(told((0, "a", -0.5), (1, "a", -0.5), (2, "a", -0.5), week=enough), "REVERSED") is None


def test_a_turn_in_the_story_comes_before_one_from_the_week() -> None:
    story = told(
        *((n, "ab"[n % 2], 0.9) for n in range(3)),
        *((10 + n, "ab"[n % 2], -0.9) for n in range(9)),
        week=Tally(positive=5, polarity_millionths=4_000_000),
    )
    turned = found(story, "REVERSED")
    assert turned is not None
    assert turned.compared_with == "STORY"


def test_the_first_story_about_a_topic_says_in_how_many_days() -> None:
    reports = [(0, "a", -0.5), (9, "b", -0.4)]
    first = found(told(*reports, topics=("OUTAGE",), days_known=45), "FIRST_OF_ITS_KIND")
    assert first is not None
    assert (first.topic, first.days, first.timestamp) == ("OUTAGE", 30, NOW + timedelta(minutes=9))
    assert first.reason == "The first story about an outage in 30 days: 2 articles by 2 publishers."
    new = found(told(*reports, topics=("OUTAGE",), days_known=1), "FIRST_OF_ITS_KIND")
    assert new is not None
    assert new.reason == "The first story about an outage in 1 day: 2 articles by 2 publishers."


def test_nobody_knows_what_is_first_of_a_tool_that_was_not_known_before() -> None:
    reports = [(0, "a", -0.5), (9, "b", -0.4)]
    for fields in (
        {"days_known": 0, "topics": ("OUTAGE",)},
        {"days_known": 9},
        {"topics": ("OUTAGE",)},
        {"days_known": 9, "topics": ("OUTAGE",), "earlier_topics": frozenset({"OUTAGE"})},
        {"days_known": 9, "topics": ("OUTAGE",), "articles": 5},
    ):
        assert found(told(*reports, **fields), "FIRST_OF_ITS_KIND") is None
    assert found(told(*reports, days_known=9, topics=("OUTAGE",), articles=4), "FIRST_OF_ITS_KIND") is not None
    assert not is_about(told(*reports, articles=5))
    topics = told(*reports, days_known=9, topics=("OUTAGE", "PRICING", "SECURITY", "ACQUISITION"))
    first = [each for each in findings(topics) if "topic" in each]
    assert [each["topic"] for each in first] == ["OUTAGE", "PRICING", "SECURITY", "ACQUISITION"]
    named = [each["reason"].split(" in ")[0] for each in first]
    assert named[1:] == [
        "The first story about prices",
        "The first story about a security flaw",
        "The first story about an acquisition",
    ]


def test_what_rules_found_stays_when_later_articles_come_but_for_the_evidence_of_a_day() -> None:
    reports = [(float(n), f"p{n}", 0.5) for n in range(4)]
    before = found(told(*reports), "NEW")
    assert before == found(told(*reports, *((30.0 * H + n, f"q{n}", -0.1) for n in range(3))), "NEW")


def test_long_stories_name_twenty_articles_and_publishers() -> None:
    new = found(told(*((float(n), f"p{n}") for n in range(60))), "NEW")
    assert new is not None
    assert (len(new.articles), len(new.publishers), new.after.articles) == (20, 20, 60)


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
