"""Which stories a list has. Apart from what reads them, since the endpoints are declared with it at a cold start."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import get_args

from models.errors import InvalidInput
from models.resources.stories import StoryState
from models.story import SILENCE
from models.values import format_time
from services.articles.reading import article_filter
from services.ports import Where

STATES: tuple[StoryState, ...] = get_args(StoryState)
FEWEST_ARTICLES = 2
"""A story of fewer has no document, so no list has it."""
MAX_ARTICLES = 1_000_000

_FIELDS = {"detected_tool_ids": "tool_ids", "publisher_id": "publisher_ids"}


def story_filter(given: Mapping[str, str], state: StoryState | None, fewest: int, now: datetime) -> tuple[Where, ...]:
    """The conditions of the given filters, which articles have too; of the state; and of the number of articles. A tool
    is given by its id. Raises InvalidInput with the field and the allowed values."""
    found = article_filter(given)
    if found.search.phrases:
        raise InvalidInput("text", "words without quotation marks: stories are found by single words of headlines")
    where = [_of_story(each) for each in found.where]
    if fewest > FEWEST_ARTICLES:
        where.append(Where("article_count", "ge", fewest))
    if state is not None:
        where.append(Where("timestamp", "ge" if state == "open" else "lt", format_time(now - SILENCE)))
    return tuple(where)


def _of_story(where: Where) -> Where:
    field = _FIELDS.get(where.field, where.field)
    return Where(field, "contains" if field == "publisher_ids" else where.op, where.value)
