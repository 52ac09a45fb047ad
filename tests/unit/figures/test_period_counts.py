"""The figures of a period are those of its mentions, whether they are counted at once or added up from days."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pytest

from models.history import MOST_STORIES_KEPT
from models.tally import Tally
from services.figures.breadth import breadth_of_mentions, story_key
from services.figures.period_counts import CountedMention, PeriodCount

NOW = datetime(2026, 3, 2, 20, 17, 31, tzinfo=UTC)


def _mention(number: int = 0, sentiment: str | None = "positive", **fields: Any) -> dict[str, Any]:
    judged: dict[str, Any] = {
        "sentiment": sentiment,
        "polarity": {"positive": 0.5, "negative": -0.25}.get(sentiment or "", 0),
    }
    if sentiment is None:
        judged = {"unscored_reason": "LANGUAGE"}
    named = {
        "id": f"m{number}",
        "published_at": "2026-03-01T10:00:00Z",
        "analyzer": "embedded",
        "analyzer_version": "1",
    }
    return {**named, **judged, **fields}


def _count(*mentions: dict[str, Any]) -> PeriodCount:
    count = PeriodCount()
    for mention in mentions:
        count.add(CountedMention.of(mention))
    return count


def test_a_period_without_mentions_is_zero() -> None:
    figures = PeriodCount().figures()
    assert (figures["total_mentions"], figures["stories"], figures["publishers"], figures["analyzers"]) == (0, 0, 0, [])
    assert figures["confidence_interval"] is None


def test_the_figures_of_a_period() -> None:
    count = _count(
        _mention(1, event_id="one", publisher_id="a.example"),
        _mention(2, "negative", event_id="one", publisher_id="b.example", analyzer_version="2"),
        _mention(3, "neutral", publisher_id="a.example"),
        _mention(4, None, event_id="two", publisher_id="c.example"),
    )
    figures = count.figures()
    assert {name: figures[name] for name in ("total_mentions", "unscored_mentions", "average_sentiment")} == {
        "total_mentions": 3,
        "unscored_mentions": 1,
        "average_sentiment": 0.0833,
    }
    assert (figures["stories"], figures["publishers"], figures["ungrouped_mentions"]) == (2, 2, 1)
    assert figures["effective_sample_size"] == round(9 / 5, 2)
    assert figures["verdict"] == "TOO_FEW"
    assert figures["analyzers"] == ["embedded/1", "embedded/2"]
    assert count.mentions == 4


def test_days_that_were_frozen_add_up_to_what_their_mentions_give() -> None:
    chance = random.Random(7)
    mentions = [
        _mention(
            number,
            chance.choice(["positive", "negative", "neutral", None]),
            event_id=chance.choice([None, "one", "two", "three"]),
            publisher_id=chance.choice([None, "a.example", "b.example"]),
            source=chance.choice(["a", "b"]),
        )
        for number in range(200)
    ]
    whole, summed = _count(*mentions), PeriodCount()
    for first in range(0, 200, 40):
        day = _count(*mentions[first : first + 40])
        frozen = day.to_frozen(day.figures(), NOW)
        assert PeriodCount.frozen(frozen).figures() == day.figures() == dict(frozen.figures)
        summed.merge(PeriodCount.frozen(frozen))
    assert summed.figures() == whole.figures()
    expected = breadth_of_mentions(mentions)._asdict()
    interval = expected.pop("confidence_interval")
    assert {name: whole.figures()[name] for name in expected} == expected
    assert whole.figures()["confidence_interval"] == list(interval)


def test_a_day_with_very_many_stories_keeps_their_number_only() -> None:
    assert MOST_STORIES_KEPT == 1000
    count = _count(*(_mention(number, event_id=f"story {number}") for number in range(1000)))
    assert PeriodCount.frozen(count.to_frozen({}, NOW)).figures()["stories"] == 1000
    count.add(CountedMention.of(_mention(event_id="one more")))
    frozen = count.to_frozen(count.figures(), NOW)
    assert (frozen.figures["stories"], frozen.stories, frozen.publishers, frozen.sources) == (1001, None, None, None)
    assert PeriodCount.frozen(frozen).figures()["stories"] is None
    assert PeriodCount.frozen(frozen).figures()["total_mentions"] == 1001


def test_nothing_is_known_of_a_period_with_an_unknown_part() -> None:
    count = _count(_mention())
    count.merge(PeriodCount.unknown())
    assert set(count.figures().values()) == {None}
    assert count.figures().keys() == PeriodCount().figures().keys()


def test_a_sum_without_its_mentions_knows_no_stories() -> None:
    count = PeriodCount.of_tally(Tally(1, 0, 0, 500_000, 2), {"embedded/1"})
    assert (count.figures()["total_mentions"], count.figures()["stories"], count.figures()["verdict"]) == (
        1,
        None,
        None,
    )
    assert PeriodCount.of_tally(Tally(), set()).figures()["stories"] == 0
    count.merge(_count(_mention()))
    assert (count.figures()["total_mentions"], count.figures()["stories"]) == (2, None)


@pytest.mark.parametrize("gone", ["analyzer", "sentiment", "polarity", "published_at"])
def test_a_document_that_is_no_mention_is_refused_and_counts_nothing(gone: str) -> None:
    count, mention = PeriodCount(), _mention()
    del mention[gone]
    with pytest.raises(ValueError, match="mention 'm0' cannot be counted"):
        count.add(CountedMention.of(mention))
    assert count.figures() == PeriodCount().figures()


def test_a_story_has_a_short_key() -> None:
    assert story_key("story:20260221:" + "a" * 32) == story_key("story:20260221:" + "a" * 32)
    assert len(story_key("one")) == 16
    assert story_key("one") != story_key("two")
