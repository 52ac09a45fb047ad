"""The four windows of a tool: their edges, sums and analyzers, and their document."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.cache import PERIODS
from models.tally import Tally, TimelineHours, by_day
from models.timeline import Judged, WindowsDocument, WindowTables
from services.figures.edges import edges_of
from services.figures.windows import Windows

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
MADE = NOW - timedelta(days=40)
ONE = [1, 0, 0, 0]


def _windows(hours: dict[str, list[int]], minutes: dict[str, dict[str, list[int]]]) -> Windows:
    return Windows.summed(edges_of(NOW), TimelineHours(by_day(hours)), minutes, {}, MADE, 0)


def _counted(windows: Windows, now: datetime) -> dict[str, int]:
    return {period: tally.total for period, tally in windows.tallies(now).items()}


def test_the_edges_are_the_hour_that_windows_end_in_and_the_hours_that_they_begin_in() -> None:
    edges = edges_of(NOW)
    assert edges.last == "2026022120"
    assert edges.first == {
        "HOUR_1": "2026022119",
        "HOUR_24": "2026022020",
        "DAY_7": "2026021420",
        "DAY_30": "2026012220",
    }
    assert edges.hours == ["2026012220", "2026021420", "2026022020", "2026022119", "2026022120"]


def test_the_edges_are_the_same_for_a_whole_clock_hour() -> None:
    first, last = NOW.replace(minute=0, second=0), NOW.replace(minute=59, second=59)
    assert edges_of(first) == edges_of(NOW) == edges_of(last)
    assert edges_of(last + timedelta(seconds=1)) != edges_of(NOW)
    assert edges_of(first - timedelta(seconds=1)) != edges_of(NOW)


def test_on_the_full_hour_only_whole_hours_count() -> None:
    hours = {"2026022118": [9, 0, 0, 0], "2026022119": ONE, "2026022120": [5, 0, 0, 0]}
    windows = _windows(hours, {"2026022119": {"00": ONE}, "2026022120": {"00": [5, 0, 0, 0]}})
    now = NOW.replace(minute=0)
    assert _counted(windows, now) == {"HOUR_1": 1, "HOUR_24": 10, "DAY_7": 10, "DAY_30": 10}


def test_within_the_hour_minutes_decide_at_both_edges() -> None:
    """At 20:17 the windows are from :17 of their first hour up to, but without, 20:17."""
    hours = {"2026022119": [3, 0, 0, 0], "2026022120": [3, 0, 0, 0], "2026022020": [2, 0, 0, 0]}
    minutes = {
        "2026022119": {"16": ONE, "17": ONE, "59": ONE},
        "2026022120": {"00": ONE, "16": ONE, "17": ONE},
        "2026022020": {"16": ONE, "18": ONE},
    }
    assert _counted(_windows(hours, minutes), NOW) == {"HOUR_1": 4, "HOUR_24": 6, "DAY_7": 7, "DAY_30": 7}


@pytest.mark.parametrize(
    ("ended", "at_start", "at_end"), [(16, True, False), (17, True, False), (18, False, True), (59, False, True)]
)
def test_a_window_has_its_first_minute_and_not_its_last(ended: int, at_start: bool, at_end: bool) -> None:
    now = NOW.replace(minute=ended)
    beginning = _windows({"2026022119": ONE}, {"2026022119": {"17": ONE}})
    ending = _windows({"2026022120": ONE}, {"2026022120": {"17": ONE}})
    assert _counted(beginning, now)["HOUR_1"] == at_start
    assert _counted(ending, now)["HOUR_1"] == at_end


@given(st.dictionaries(st.integers(0, 31 * 24 * 60), st.integers(1, 3), max_size=30), st.integers(0, 59))
def test_windows_are_the_sums_of_the_minutes_within_them(by_age: dict[int, int], ended: int) -> None:
    """By age in minutes, to the end of the hour of NOW."""
    last_minute = NOW.replace(minute=59, second=0)
    hours: dict[str, list[int]] = {}
    minutes: dict[str, dict[str, list[int]]] = {}
    moments = {last_minute - timedelta(minutes=age): number for age, number in by_age.items()}
    for moment, number in moments.items():
        hour = f"{moment:%Y%m%d%H}"
        hours.setdefault(hour, [0, 0, 0, 0])[0] += number
        minutes.setdefault(hour, {})[f"{moment:%M}"] = [number, 0, 0, 0]
    edges = {hour: minutes[hour] for hour in edges_of(NOW).hours if hour in minutes}
    end = NOW.replace(minute=ended, second=0)
    assert _counted(_windows(hours, edges), end) == {
        period: sum(number for moment, number in moments.items() if end - span <= moment < end)
        for period, span in PERIODS.items()
    }


def test_the_oldest_minute_of_the_last_hour_is_within_its_window() -> None:
    minutes = {"2026022119": {"16": ONE, "17": ONE, "59": ONE}, "2026022120": {"03": ONE, "17": ONE}}

    def oldest(end: datetime) -> datetime | None:
        found = _windows({}, minutes).oldest_of_hour(end)
        return None if found is None else datetime.fromtimestamp(found, UTC)

    hour = NOW.replace(minute=0, second=0)
    assert oldest(hour + timedelta(minutes=17)) == hour - timedelta(minutes=43)
    assert oldest(hour + timedelta(minutes=18)) == hour - timedelta(minutes=1)
    assert oldest(hour) == hour - timedelta(minutes=44)
    assert _windows({}, {"2026022120": {"03": ONE}}).oldest_of_hour(hour + timedelta(minutes=4)) is not None
    assert _windows({}, {"2026022120": {"03": ONE}}).oldest_of_hour(hour + timedelta(minutes=3)) is None


def test_all_four_numbers_are_summed() -> None:
    hours = {"2026022110": [1, 2, 3, 4], "2026022119": [1, 1, 1, 10], "2026022120": [2, 2, 2, 20]}
    minutes = {"2026022119": {"30": [1, 1, 1, 10]}, "2026022120": {"05": [2, 2, 2, 20]}}
    assert _windows(hours, minutes).tallies(NOW)["HOUR_24"] == Tally(4, 5, 6, 34)


def test_stored_windows_are_read_back_within_their_hour_and_not_in_another() -> None:
    windows = Windows.summed(
        edges_of(NOW),
        TimelineHours(by_day({"2026022110": ONE})),
        {"2026022119": {"30": ONE}, "2026022120": {}},
        {"2026022119": {"embedded/1": [30, 30]}},
        MADE,
        7,
    )
    document = windows.to_document("vscode", NOW)
    assert Windows.stored(document, edges_of(NOW)) == windows
    assert Windows.stored(document, edges_of(NOW + timedelta(hours=1))) is None
    assert Windows.stored(None, edges_of(NOW)) is None
    stored = WindowTables.from_document(document)
    assert (stored.hour, stored.made_at, stored.recounts) == ("2026022120", MADE, 7)
    assert stored.minutes == {"2026022119": {"30": Tally(1)}}
    assert stored.analyzers == {"embedded/1": Judged(minutes={"2026022119": (30, 30)})}
    assert stored.hours == {"HOUR_1": Tally(), "HOUR_24": Tally(1), "DAY_7": Tally(1), "DAY_30": Tally(1)}


def test_windows_of_a_tool_that_is_gone_have_no_creation_time() -> None:
    windows = Windows.summed(edges_of(NOW), TimelineHours({}), {}, {}, None, 0)
    document = windows.to_document("vscode", NOW)
    assert "made_at" not in document
    assert Windows.stored(document, edges_of(NOW)) == windows


@pytest.mark.parametrize(
    "wrong",
    [
        {"hours": {"DAY_7": ONE}},
        {"minutes": []},
        {"minutes": {"2026022120": 7}},
        {"made_at": "soon"},
        {"analyzers": []},
        {"analyzers": {"embedded/1": 7}},
        {"analyzers": {"embedded/1": {"hours": []}}},
    ],
)
def test_windows_that_cannot_be_read_are_none(wrong: dict[str, Any]) -> None:
    document = Windows.summed(edges_of(NOW), TimelineHours({}), {}, {}, MADE, 0).to_document("vscode", NOW)
    assert Windows.stored(cast("WindowsDocument", {**document, **wrong}), edges_of(NOW)) is None


def test_windows_name_the_analyzers_of_their_whole_hours_and_of_their_minutes() -> None:
    hours = TimelineHours(by_day({"2026022110": ONE, "2026021510": ONE, "2026022020": ONE}))
    for hour, names in (("2026022110", ["b"]), ("2026021510", ["a"]), ("2026022020", ["d"])):
        hours.put(hour, ONE, names)
    analyzers = {"2026022119": {"c": [10, 30], "b": [0, 5]}, "2026022120": {"e": [12, 50]}, "2026022020": {"d": [7, 7]}}
    windows = Windows.summed(edges_of(NOW), hours, {}, analyzers, MADE, 0)

    def at(minute: int) -> list[str]:
        return ["".join(names) for names in windows.analyzers_at(NOW.replace(minute=minute)).values()]

    assert at(0) == ["bc", "bd", "abd", "abd"]
    assert at(6) == ["c", "bd", "abd", "abd"]
    assert at(8) == ["c", "b", "abd", "abd"]
    assert at(12) == ["c", "b", "abd", "abd"]
    assert at(13) == ["ce", "be", "abde", "abde"]
    assert at(30) == ["ce", "be", "abde", "abde"]
    assert at(31) == ["e", "be", "abde", "abde"]
    assert windows.analyzers_of_edge("2026022119") == {"b": [0, 5], "c": [10, 30]}
    assert windows.analyzers_of_edge("2026022121") == {}


def test_windows_of_an_earlier_version_are_none() -> None:
    document = _windows({}, {}).to_document("vscode", NOW)
    del document["analyzers"]
    assert Windows.stored(document, edges_of(NOW)) is None
