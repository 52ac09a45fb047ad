"""When a great story is counted again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.values import format_time
from services.stories.great_stories import can_wait

NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)


def story(articles: Any, ago: timedelta) -> dict[str, Any]:
    return {"article_count": articles, "updated_at": format_time(NOW - ago)}


@pytest.mark.parametrize(
    ("articles", "seconds", "waits"),
    [
        (499, 0, False),
        (500, 0, True),
        (500, 59, True),
        (500, 60, False),
        (999, 60, False),
        (1000, 60, True),
        (1000, 120, False),
        (10_000, 20 * 60 - 1, True),
        (10_000, 20 * 60, False),
        (1_000_000, 60 * 60 - 1, True),
        (1_000_000, 60 * 60, False),
    ],
)
def test_the_more_articles_a_story_has_the_longer_its_count_waits(articles: int, seconds: int, waits: bool) -> None:
    assert can_wait(story(articles, timedelta(seconds=seconds)), NOW) is waits


def test_a_story_that_is_new_or_cannot_be_read_is_counted() -> None:
    assert not can_wait(None, NOW)
    assert not can_wait({"article_count": 1000}, NOW)
    assert not can_wait({**story(1000, timedelta()), "updated_at": 5}, NOW)
    assert not can_wait(story("many", timedelta()), NOW)


def test_a_clock_that_was_ahead_makes_no_story_wait() -> None:
    assert not can_wait(story(1000, -timedelta(hours=5)), NOW)
