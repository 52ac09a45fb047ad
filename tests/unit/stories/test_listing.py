"""The filters of a list of stories, and when a story is open."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from models.errors import InvalidInput
from models.resources.stories import StoryResource, StoryState
from services.ports import Where
from services.stories.listing import (
    STATES,
    story_filter,
)
from tests.documents import NOW, story


def test_a_story_is_open_until_72_hours_after_its_last_article() -> None:
    found = story(timestamp=NOW)
    assert StoryResource.of(found, NOW).closes_at == NOW + timedelta(hours=72)
    for after, state in ((0, "open"), (72 * 3600, "open"), (72 * 3600 + 1, "closed")):
        now = NOW + timedelta(seconds=after, microseconds=5)
        assert StoryResource.of(found, now).state == state
        assert [each for each in STATES if _meets(each, now)] == [state]


def _meets(state: StoryState, now: datetime) -> bool:
    """Whether the story is listed with this state."""
    (where,) = story_filter({}, state, 2, now)
    return where.is_met_by(story(timestamp=NOW).to_document())


def test_filters_are_conditions_on_the_fields_of_stories() -> None:
    given = {
        "tool": "t",
        "publisher": "p",
        "source": "s",
        "language": "en",
        "since": "2026-02-20T00:00:00Z",
        "until": "2026-02-21T01:00:00+01:00",
        "text": "Outage hits",
    }
    assert set(story_filter(given, None, 3, NOW)) == {
        Where("tool_ids", "contains", "t"),
        Where("publisher_ids", "contains", "p"),
        Where("sources", "contains", "s"),
        Where("language", "eq", "en"),
        Where("timestamp", "ge", "2026-02-20T00:00:00Z"),
        Where("timestamp", "lt", "2026-02-21T00:00:00Z"),
        Where("words", "contains", "outage"),
        Where("words", "contains", "hits"),
        Where("article_count", "ge", 3),
    }
    assert story_filter({}, None, 2, NOW) == ()


def test_a_phrase_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        story_filter({"text": '"down again"'}, None, 2, NOW)
    assert refused.value.field == "text"
