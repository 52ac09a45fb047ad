"""Sums over stories, publishers and sources, carried on from hour to hour, are what a count of all rows gives."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from models.cache import PERIODS, window_end
from models.timeline import BreadthDocument, HourRows, StoryHours
from models.values import hour_key, hour_start
from services.figures.breadth import Breadth, Row, breadth_of
from services.figures.edges import Edges, edges_of
from services.figures.window_breadth import (
    RowChanges,
    breadths_at,
    carried_on,
    empty_breadth,
    moved_hours,
    stories_needed,
    stories_of,
    whole_in,
    with_changes,
)

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
HOUR = timedelta(hours=1)


def rows(*some: tuple[int, str, str, str, int]) -> HourRows:
    """Each is a minute, a story, a publisher, a source and a polarity in ten-thousandths: one mention."""
    found: HourRows = {}
    for minute, story, publisher, source, polarity in some:
        of_source = found.setdefault(publisher, {}).setdefault(source, [])
        of_source.append([minute, story, 1, polarity, polarity**2])
    return found


def brute_force(hours: dict[str, HourRows | None], start: datetime, end: datetime) -> Breadth | None:
    counted: list[Row] = []
    for hour, of_hour in hours.items():
        if of_hour is None:
            if hour_start(hour) < end and hour_start(hour) + HOUR > start:
                return None
            continue
        for publisher, by_source in of_hour.items():
            for source, of_source in by_source.items():
                for minute, story, mentions, polarity, squares in of_source:
                    if start <= hour_start(hour) + timedelta(minutes=minute) < end:
                        counted.append(Row(minute, story, publisher, source, mentions, polarity, squares))
    return breadth_of(counted)


class Carried:
    """A breadth that is carried on, and the rows of all hours."""

    def __init__(self, now: datetime) -> None:
        self.hours: dict[str, HourRows | None] = {}
        self.edges = edges_of(now)
        self.stored: BreadthDocument = empty_breadth()
        self.stories: StoryHours = {}

    def carry_on(self, now: datetime, recounted: dict[str, HourRows | None]) -> None:
        edges, before, changes = edges_of(window_end(now)), dict(self.hours), RowChanges()
        self.hours |= recounted
        for hour in {*recounted, *moved_hours(self.edges, edges)}:
            changes.before[hour] = before.get(hour, {})
            changes.after[hour] = self.hours.get(hour, {}) if hour in recounted else changes.before[hour]
        edge_rows = {hour: self.hours.get(hour) or {} for hour in edges.hours}
        needed = stories_needed(self.edges, edges, changes, edge_rows)
        known = {story: hours for story, hours in self.stories.items() if story in needed}
        after = with_changes(known, changes)
        self.stored = carried_on(self.stored, (self.edges, edges), changes, edge_rows, (known, after))
        self.stories |= after
        self.edges = edges

    def check(self, end: datetime) -> None:
        right = {period: brute_force(self.hours, end - span, end) for period, span in PERIODS.items()}
        assert breadths_at(self.stored, self.edges, end) == right


def some_rows(chance: random.Random) -> HourRows | None:
    if chance.random() < 0.02:
        return None
    return rows(
        *(
            (
                chance.randrange(60),
                chance.choice(["", "s1", "s2", f"s{chance.randrange(40)}"]),
                chance.choice(["reuters.com", "heise.de", "golem.de"]),
                chance.choice(["a", "b"]),
                chance.randrange(-10_000, 10_001),
            )
            for _ in range(chance.randrange(4))
        )
    )


@pytest.mark.parametrize("seed", range(12))
def test_what_is_carried_on_over_hours_recounts_and_standstills_is_what_all_rows_give(seed: int) -> None:
    chance, now = random.Random(seed), NOW
    carried = Carried(now)
    carried.carry_on(now, {hour_key(now - each * HOUR): some_rows(chance) for each in range(-2, 750, 7)})
    for _ in range(40):
        now += chance.choice([timedelta(0), timedelta(minutes=7), HOUR, HOUR, 3 * HOUR, 23 * HOUR])
        ages = [chance.choice([0, 0, 1, 2, 24, 25, 168, 719, 720, 721, chance.randrange(740)]) for _ in range(3)]
        carried.carry_on(now, {hour_key(now - age * HOUR): some_rows(chance) for age in ages[: chance.randrange(4)]})
        carried.check(window_end(now))
        carried.check(window_end(now).replace(minute=chance.randrange(60)))


def test_a_story_in_the_edges_and_in_the_whole_hours_counts_once() -> None:
    carried = Carried(NOW)
    old, new = hour_key(NOW - 5 * HOUR), hour_key(NOW)
    carried.carry_on(NOW, {old: rows((3, "s", "a.com", "a", 4000)), new: rows((4, "s", "b.com", "b", -2000))})
    day = breadths_at(carried.stored, carried.edges, window_end(NOW))["HOUR_24"]
    assert day is not None
    assert (day.stories, day.publishers, day.ungrouped_mentions, day.average_sentiment_by_story) == (1, 2, 0, 0.1)
    hour = breadths_at(carried.stored, carried.edges, window_end(NOW))["HOUR_1"]
    assert hour is not None
    assert (hour.stories, hour.largest_publisher, hour.largest_source) == (1, "b.com", "b")


def test_a_crowded_hour_makes_the_windows_that_may_count_it_unknown() -> None:
    carried = Carried(NOW)
    carried.carry_on(NOW, {hour_key(NOW - 30 * HOUR): None})
    found = breadths_at(carried.stored, carried.edges, window_end(NOW))
    assert {period: breadth is None for period, breadth in found.items()} == {
        **dict.fromkeys(("HOUR_1", "HOUR_24"), False),
        **dict.fromkeys(("DAY_7", "DAY_30"), True),
    }
    carried.carry_on(NOW, {hour_key(NOW - 30 * HOUR): {}})
    assert carried.stored == empty_breadth()


def test_the_hours_that_move_are_those_at_both_ends_of_each_window() -> None:
    before, after = edges_of(NOW), edges_of(NOW + HOUR)
    assert moved_hours(before, before) == frozenset()
    assert moved_hours(before, after) == {
        *("2026022120", "2026022121", "2026022020", "2026022021"),
        *("2026021420", "2026021421", "2026012220", "2026012221"),
    }


def test_an_hour_is_whole_strictly_between_the_ends_of_a_window() -> None:
    edges: Edges = edges_of(NOW)
    assert [whole_in(edges, hour) for hour in ("2026022120", "2026022119", "2026022020", "2026022019")] == [
        (),
        (0, 1, 2),
        (1, 2),
        (1, 2),
    ]
    assert [whole_in(edges, hour) for hour in ("2026021420", "2026012220", "2026012221")] == [(2,), (), (2,)]


def test_the_stories_of_rows_are_added_up_over_publishers_and_minutes() -> None:
    some = rows((1, "s", "a.com", "a", 100), (2, "s", "b.com", "a", -300), (2, "", "b.com", "a", 5))
    assert stories_of(some) == {"s": [2, -200]}
    assert stories_of(None) == {}
