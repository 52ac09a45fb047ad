"""What the rules look at, from stored documents."""

from __future__ import annotations

from datetime import timedelta

from models.story import Side
from models.tally import Tally, TimelineHours
from services.signals.rules import side_of
from services.signals.writing import days_known, reports_by_tool, week_before
from tests.documents import NOW, OTHER_TOOL_ID, TOOL_ID, by_day, mention, story_member
from tests.unit.signals.stories import report


def test_reports_are_the_mentions_that_count_by_the_time_of_the_member() -> None:
    members = [
        story_member(source_id="dedup:b", published_at=NOW),
        story_member(source_id="dedup:a", published_at=NOW + timedelta(minutes=5)),
    ]
    mentions = [
        mention(source_id="dedup:a", publisher_id="a.example"),
        mention(source_id="dedup:b", publisher_id=None, source="feed-1"),
        mention(source_id="dedup:b", tool_id=OTHER_TOOL_ID, removed_at=NOW),
        mention(source_id="dedup:elsewhere"),
    ]
    found = reports_by_tool(members, [(each, each.to_document()) for each in mentions])
    assert found.keys() == {TOOL_ID}
    first, second = found[TOOL_ID]
    assert (first.source_id, first.publisher, first.published_at) == ("dedup:b", "source:feed-1", NOW)
    assert (second.publisher, second.polarity) == ("a.example", mentions[0].polarity)


def test_a_side_has_no_average_without_scored_articles() -> None:
    assert side_of([]) == Side(articles=0, publishers=0, average_sentiment=None)
    assert side_of([report(0, "a"), report(1, "a")]) == Side(articles=2, publishers=1)
    scored = [report(0, "a", 0.25), report(1, "b"), report(2, "c", -1.0)]
    assert side_of(scored) == Side(articles=3, publishers=3, average_sentiment=-0.375)
    thirds = [report(0, "a", 1.0), report(1, "b", 0.0), report(2, "c", 0.0)]
    assert side_of(thirds).average_sentiment == 0.3333


def test_the_week_before_a_story_ends_with_the_hour_before_it() -> None:
    hours = {
        "2026022120": Tally(positive=8),
        "2026022119": Tally(positive=1),
        "2026021420": Tally(negative=1),
        "2026021419": Tally(negative=8),
    }
    assert week_before(TimelineHours(by_day(hours)), NOW + timedelta(minutes=59)) == Tally(positive=1, negative=1)
    assert week_before(TimelineHours({}), NOW) == Tally()


def test_a_tool_is_known_since_the_day_of_its_first_article() -> None:
    assert [days_known(each, NOW) for each in (None, "2026-02-22", "2026-02-21", "2026-02-20", "2026-01-01")] == [
        *(0, 0, 0, 1, 51)
    ]
