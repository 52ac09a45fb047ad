"""The windows at each minute of an hour are those of the mentions, whatever their number and times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.cache import PERIODS
from models.timeline import WindowTables
from models.values import format_time, hour_key
from services.figures.counting import Count, CountedMention
from services.figures.windows import Windows, analyzers_of, edges_of
from services.ports import Document
from tests.functional.figures.world import count_of
from tests.unit.figures.mentions import a_mention, counted

NOW = datetime(2026, 2, 21, 20, 17, tzinfo=UTC)
MADE = NOW - timedelta(days=40)


def windows_of(mentions: list[Document]) -> Windows:
    return Windows.summed(edges_of(NOW), counted(*mentions).days(), MADE, 3, MADE)


def within(mentions: list[Document], since: datetime, until: datetime) -> Count:
    return count_of(each for each in mentions if format_time(since) <= each["published_at"] < format_time(until))


EDGE_AGES = st.builds(
    lambda span, minutes: span + timedelta(minutes=minutes),
    st.sampled_from(list(PERIODS.values())),
    st.integers(-70, 70),
)
AGES = EDGE_AGES | st.builds(lambda minutes: timedelta(minutes=minutes), st.integers(-40, 32 * 24 * 60))
MENTIONS = st.lists(
    st.builds(
        lambda age, polarity, event, publisher, source, version: a_mention(
            NOW - age, polarity, event_id=event, publisher_id=publisher, source=source, analyzer_version=version
        ),
        AGES,
        st.sampled_from([0.5, -0.25, 0.0, None]),
        st.sampled_from([None, "one", "two"]),
        st.sampled_from([None, "a.example", "b.example"]),
        st.sampled_from(["feed-a", "feed-b"]),
        st.sampled_from(["1", "2"]),
    ),
    max_size=25,
)


@given(MENTIONS, st.integers(0, 59))
def test_every_window_counts_the_mentions_in_it(mentions: list[Document], minute: int) -> None:
    windows, end = windows_of(mentions), NOW.replace(minute=minute)
    for period, found in windows.at(end).items():
        assert found == within(mentions, end - PERIODS[period], end).figures()
    of_hour = [
        each["published_at"] for each in mentions if format_time(end - PERIODS["HOUR_1"]) <= each["published_at"]
    ]
    first = min((each for each in of_hour if each < format_time(end)), default=None)
    oldest = windows.oldest_of_hour(end)
    assert first == (None if oldest is None else format_time(datetime.fromtimestamp(oldest, UTC)))


@given(MENTIONS)
def test_stored_windows_are_those_that_were_summed(mentions: list[Document]) -> None:
    windows = windows_of(mentions)
    document = windows.to_document("tool-1", NOW)
    assert Windows.stored(document, edges_of(NOW)) == windows
    assert WindowTables.from_document(document).to_document() == document
    assert analyzers_of(document) == sorted(
        {
            CountedMention.of(each).analyzer
            for each in mentions
            if hour_key(NOW) >= _hour(each) >= windows.edges.hours[0]
        }
    )


def _hour(mention: Document) -> str:
    return hour_key(datetime.fromisoformat(mention["published_at"]))


def test_windows_of_another_hour_or_without_a_period_are_summed_again() -> None:
    document = windows_of([]).to_document("tool-1", NOW)
    assert Windows.stored(None, edges_of(NOW)) is None
    assert Windows.stored(document, edges_of(NOW + timedelta(hours=1))) is None
    del document["whole"]["DAY_7"]
    assert Windows.stored(document, edges_of(NOW)) is None


def test_a_tool_without_windows_has_no_analyzers() -> None:
    assert analyzers_of(None) == []


def test_windows_end_in_one_hour_and_begin_in_others() -> None:
    edges = edges_of(NOW)
    assert (edges.last, edges.first["HOUR_1"], edges.first["DAY_30"]) == ("2026022120", "2026022119", "2026012220")
    assert edges.hours == sorted({edges.last, *edges.first.values()})


@pytest.mark.parametrize("made_at", [None, MADE])
def test_a_tool_that_is_gone_has_no_time_at_which_it_was_made(made_at: datetime | None) -> None:
    windows = Windows.summed(edges_of(NOW), {}, made_at, 0)
    stored = Windows.stored(windows.to_document("tool-1", NOW), edges_of(NOW))
    assert stored is not None
    assert stored.made_at == made_at
