"""When a great story is counted again. Pure.

A story is counted from all of its members, so that its figures are right whatever happened before. That of a great
story costs as much for one new article as for a thousand: so it waits, the longer the more articles the story has, but
not longer than LONGEST_WAIT. Up to there, counting costs no more per minute than the members of a story of GREAT
articles. Until it is counted, an article of the story stays due to be grouped: this is what remembers it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from models.values import is_over, parse_time

GREAT = 500
"""A story of fewer articles is counted at once."""
WAIT = timedelta(minutes=1)
"""For each GREAT articles of the story."""
LONGEST_WAIT = timedelta(hours=1)


def can_wait(story: Mapping[str, Any] | None, now: datetime, great: int = GREAT) -> bool:
    """Whether this stored story was counted so recently that it is not counted again now. A story that cannot be read
    is counted."""
    try:
        if story is None or story["article_count"] < great:
            return False
        wait = min(WAIT * (story["article_count"] // great), LONGEST_WAIT)
        return not is_over(parse_time(story["updated_at"]) + wait, now, wait)
    except (KeyError, TypeError, ValueError, AttributeError):
        return False
