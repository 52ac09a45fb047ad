"""The ids of stories, and the documents of models/story.py."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from models.story import day_of, event_id, first_article

NOW = datetime(2026, 2, 21, 23, 30, tzinfo=UTC)
FIRST = "dedup:" + "ab" * 16
EVENT = f"story:20260221:{'ab' * 16}"


def test_the_id_of_a_story_tells_its_first_article_and_its_partition() -> None:
    assert event_id(FIRST, NOW) == EVENT
    assert event_id(FIRST, NOW.astimezone(timezone(timedelta(hours=5)))) == EVENT
    assert (day_of(EVENT), first_article(EVENT)) == ("2026-02-21", FIRST)


@pytest.mark.parametrize(
    "text", ["", "x", f"tale:20260221:{'ab' * 16}", f"story:2026:{'ab' * 16}", "story:20260221:ab"]
)
def test_other_texts_are_no_ids_of_stories(text: str) -> None:
    with pytest.raises(ValueError, match="must be the id of a story"):
        day_of(text)
