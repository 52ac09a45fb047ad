"""The figures of some mentions are the same, whether they are counted one by one, from rows, or added up from days."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from models.errors import UnreadableDocument
from models.tally import Tally
from models.timeline import MAX_ROWS_OF_DAY, MAX_ROWS_OF_HOUR, DayCounts, HourRows
from models.values import format_time
from services.figures.breadth import NOTHING, UNKNOWN, story_key
from services.figures.counting import Count, CountedMention, DayCount, number_of, of_tool
from services.ports import Document
from tests import documents
from tests.documents import by_hour
from tests.functional.figures.world import count_of
from tests.unit.figures.mentions import a_mention, counted

NOW = datetime(2026, 3, 2, 20, 17, 31, tzinfo=UTC)
HOUR = "2026030220"


def _some(number: int) -> list[Document]:
    chance = random.Random(7)
    return [
        a_mention(
            NOW,
            chance.choice([0.5, -0.25, 0.0, None]),
            event_id=chance.choice([None, "one", "two", "three"]),
            publisher_id=chance.choice([None, "a.example", "b.example"]),
            source=chance.choice(["a", "b"]),
            analyzer_version=chance.choice(["1", "2"]),
        )
        for _ in range(number)
    ]


def _in_minutes(mentions: list[Document]) -> HourRows:
    start = NOW.replace(minute=0)
    at = [format_time(start + timedelta(minutes=number % 60)) for number in range(len(mentions))]
    return counted(*({**each, "published_at": time} for each, time in zip(mentions, at, strict=True))).rows(HOUR)


def test_without_mentions_all_is_zero() -> None:
    figures = Count().figures()
    assert (figures["total_mentions"], figures["stories"], figures["publishers"], figures["analyzers"]) == (0, 0, 0, [])
    assert figures["confidence_interval"] is None
    assert Count().breadth() == NOTHING


def test_the_figures_of_some_mentions() -> None:
    count = count_of(
        [
            a_mention(event_id="one", publisher_id="a.example"),
            a_mention(polarity=-0.25, event_id="one", publisher_id="b.example", analyzer_version="2"),
            a_mention(polarity=0.0, publisher_id="a.example"),
            a_mention(polarity=None, event_id="two", publisher_id="c.example"),
        ]
    )
    figures = count.figures()
    assert count.tally == Tally(1, 1, 1, 250_000, 1)
    assert figures["average_sentiment"] == 0.0833
    assert (figures["stories"], figures["publishers"], figures["ungrouped_mentions"]) == (2, 2, 1)
    assert (figures["effective_sample_size"], figures["verdict"]) == (round(9 / 5, 2), "TOO_FEW")
    assert figures["analyzers"] == ["embedded/1", "embedded/2"]
    assert count.mentions == 4


def test_without_a_publisher_the_source_stands_for_it() -> None:
    assert count_of([a_mention()]).publishers == {"source:feed-a": 1}
    assert count_of([a_mention(source=None)]).publishers == {"source:unknown": 1}


def test_rows_of_minutes_add_up_to_what_their_mentions_give() -> None:
    mentions = _some(200)
    rows, whole = _in_minutes(mentions), count_of(mentions)
    summed, some, rest = Count(), Count(), Count()
    summed.add_rows(rows)
    some.add_rows(rows, 0, 17)
    rest.add_rows(rows, 17, 60)
    some.merge(rest)
    assert summed == some == whole
    of_17 = Count()
    of_17.add_rows(rows, 17, 18)
    assert of_17 == count_of(mentions[17::60])


def test_a_day_is_stored_as_its_model_stores_it_and_read_as_it_was() -> None:
    hours = {f"20260302{hour:02}": _in_minutes(_some(30 + hour)) for hour in (3, 20)}
    day = DayCount.of(hours)
    own = {"id": "COUNTS:20260302", "day": "20260302", "whole": day.whole.to_document(), "hours": day.text}
    document = of_tool(DayCounts, "tool-1", NOW, own)
    assert DayCounts.from_document(document).to_document() == document
    stored = DayCount.stored(document)
    assert (stored.whole, stored.hours, stored.text) == (day.whole, hours, day.text)
    assert by_hour({"20260302": day.timeline_text}) == {hour: tally_of(rows) for hour, rows in hours.items()}


def tally_of(rows: HourRows) -> Tally:
    count = Count()
    count.add_rows(rows)
    return count.tally


def _rows_of(number: int) -> HourRows:
    """As many rows, each of another story."""
    return _in_minutes([a_mention(event_id=f"story {each}") for each in range(number)])


def test_a_crowded_hour_keeps_its_numbers_by_minute_only() -> None:
    full, crowded = _rows_of(MAX_ROWS_OF_HOUR), _rows_of(MAX_ROWS_OF_HOUR + 1)
    assert (number_of(full), number_of(crowded)) == (MAX_ROWS_OF_HOUR, 60)
    count = Count()
    count.add_rows(crowded)
    assert (count.tally.total, list(count.analyzers), count.breadth()) == (
        MAX_ROWS_OF_HOUR + 1,
        ["embedded/1"],
        UNKNOWN,
    )
    assert (count.publishers, count.sources) == ({}, {})


def test_the_largest_hour_of_a_day_with_too_many_rows_is_crowded() -> None:
    sizes = (2500, 2400, 2400, 2400, 301)
    assert sum(sizes) == MAX_ROWS_OF_DAY + 1
    day = DayCount.of({f"20260302{hour:02}": _rows_of(size) for hour, size in enumerate(sizes)})
    assert [number_of(rows) for rows in day.hours.values()] == [60, *sizes[1:]]
    assert (day.whole.tally.total, day.whole.is_broad) == (sum(sizes), False)


def test_days_add_up_to_what_their_mentions_give_and_can_be_taken_away_again() -> None:
    mentions, summed = _some(200), Count()
    days = [count_of(mentions[first : first + 40]) for first in range(0, 200, 40)]
    for day in days:
        summed.merge(Count.stored(day.to_document()))
    assert summed == count_of(mentions)
    for day in days[1:]:
        summed.merge(day, -1)
    assert summed == days[0]


def test_nothing_is_known_of_a_time_with_an_unknown_part() -> None:
    count = count_of([a_mention()])
    count.merge(Count(is_known=False))
    assert set(count.figures().values()) == {None}
    assert count.figures().keys() == Count().figures().keys()


@pytest.mark.parametrize("gone", ["analyzer", "analyzer_version", "sentiment", "polarity"])
def test_a_document_that_is_no_mention_is_named(gone: str) -> None:
    mention = documents.mention().to_document()
    del mention[gone]
    with pytest.raises(UnreadableDocument, match=str(mention["id"])):
        CountedMention.of(mention)


def test_a_story_has_a_short_key() -> None:
    assert story_key("story:20260221:" + "a" * 32) == story_key("story:20260221:" + "a" * 32)
    assert len(story_key("one")) == 16
    assert story_key("one") != story_key("two")
