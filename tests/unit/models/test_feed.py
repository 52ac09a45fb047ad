"""A feed's rules: its id, its address, what its fields may be together, and the entries that it is known to have."""

from __future__ import annotations

from typing import Any

import pytest

from models.feed import HASH_LENGTH, HOURS, Feed, FeedSeen
from tests.documents import NOW, feed


@pytest.mark.parametrize("length", [0, HOURS])
def test_an_hourly_distribution_is_empty_or_has_24_hours(length: int) -> None:
    assert feed(hourly_distribution=(0.0,) * length).hourly_distribution == (0.0,) * 24


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"hourly_distribution": (0.0,) * 23}, "hourly_distribution"),
        ({"hourly_distribution": (0.0,) * 25}, "hourly_distribution"),
        ({"priority_score": 0.0}, "priority_score"),
        ({"priority_score": "1"}, "priority_score"),
        ({"skip_hours": (24,)}, "skip_hours"),
        ({"skip_hours": (-1,)}, "skip_hours"),
        ({"skip_hours": ("1",)}, "skip_hours"),
        ({"enabled": False}, "disabled_reason"),
        ({"disabled_reason": "gone"}, "disabled_reason"),
        ({"kind": "tiingo"}, "kind"),
    ],
)
def test_a_feed_with_impossible_fields_is_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        feed(**changes)


def test_a_feed_may_be_disabled_or_a_news_api() -> None:
    assert not feed(enabled=False, disabled_reason="gone").enabled
    assert feed(kind="tiingo", feed_id="tiingo").is_of_news_api
    assert not feed().is_of_news_api
    assert feed(skip_hours=(0, 23)).skip_hours == (0, 23)
    assert feed(priority_score=0.1).priority_score == 0.1


def test_known_entries_are_stored_as_hashes_one_after_the_other() -> None:
    hashes = "1" * HASH_LENGTH + "2" * HASH_LENGTH
    seen = FeedSeen(created_at=NOW, feed_id="a", hashes=hashes)
    assert (seen.hashes, HASH_LENGTH) == (hashes, 16)
    assert (seen.CONTAINER, seen.PARTITION_FIELD, seen.partition, seen.id) == ("feeds", "feed_id", "a", "seen")
    assert FeedSeen(created_at=NOW, feed_id="a").hashes == ""
    for wrong in ("1" * 15, "1" * 17, "G" * 16):
        with pytest.raises(ValueError, match="hashes"):
            FeedSeen(created_at=NOW, feed_id="a", hashes=wrong)


def test_fields_that_most_feeds_have_alike_are_not_stored() -> None:
    usual = {"kind", "validators_trusted", "skip_hours", "skip_days"}
    usual |= {"parse_warnings", "entries_skipped"}
    assert usual.isdisjoint(feed().to_document())
    other = feed(validators_trusted=False, skip_hours=(3,), parse_warnings={"date_missing": 1})
    assert {"validators_trusted", "skip_hours", "parse_warnings"} <= other.to_document().keys()
    for each in (feed(), other):
        assert Feed.from_document(each.to_document()) == each
