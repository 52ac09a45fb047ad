"""What is found under the keys of stored articles."""

from __future__ import annotations

from datetime import timedelta

from services.stories.index import day_of_minute
from services.stories.keys import minute_of
from tests.documents import NOW


def test_a_minute_tells_the_day_of_the_member() -> None:
    assert day_of_minute(minute_of(NOW)) == NOW.date().isoformat()
    assert day_of_minute(minute_of(NOW - timedelta(days=40))) == (NOW - timedelta(days=40)).date().isoformat()
