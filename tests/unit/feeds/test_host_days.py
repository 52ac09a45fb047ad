"""The counters of a feed by day, and what is collected of them."""

from __future__ import annotations

from datetime import timedelta

from models.resources.feeds import FeedResource
from services.feeds.fetch_days import FEEDS_AT_ONCE, FEW_FEEDS
from services.feeds.host_days import (
    MOST_NOTED,
    PARTS_OF_PAGES,
    at_least,
    by_part,
    merged,
    part_of,
    part_of_pages,
    with_traffic,
)
from tests.documents import NOW, feed, host_day

TODAY, YESTERDAY, BEFORE = "20260221", "20260220", "20260219"


def test_the_numbers_of_the_design() -> None:
    assert (PARTS_OF_PAGES, MOST_NOTED, FEW_FEEDS, FEEDS_AT_ONCE) == (4, 50, 250, 1000)
    assert {part_of_pages(f"{number}.example") for number in range(40)} == {f"pages-{part}" for part in range(4)}


def test_many_feeds_share_documents_by_the_order_in_which_they_are_collected() -> None:
    assert [part_of(each, in_one=False) for each in ("0f3a", "Reuters")] == ["feeds-0", "feeds-r"]
    assert part_of("0f3a", in_one=True) == "feeds"


def test_a_feed_in_two_documents_counts_once_and_pages_are_added_up() -> None:
    one = host_day(part="feeds", sources={"a:1": {"a.example": {"requests": 2}}})
    two = host_day(
        part="feeds-a", sources={"a:1": {"a.example": {"requests": 3}}, "a:2": {"a.example": {"requests": 1}}}
    )
    pages = [host_day(part=f"pages-{part}", sources={"pages": {"a.example": {"requests": 5}}}) for part in range(2)]
    counts = [
        hosts["a.example"]["requests"] for hosts in merged(each.to_document() for each in (one, two, *pages))[TODAY]
    ]
    assert sorted(counts) == [1, 3, 5, 5]


def test_an_attempt_adds_to_its_day_and_what_is_older_than_yesterday_goes() -> None:
    known = {day: {"a.example": {"requests": 9}} for day in (BEFORE, YESTERDAY, TODAY)}
    after = with_traffic(known, {"a.example": {"requests": 1, "failed": 1}, "b.example": {"requests": 2}}, NOW)
    assert after == {
        YESTERDAY: {"a.example": {"requests": 9}},
        TODAY: {"a.example": {"requests": 10, "failed": 1}, "b.example": {"requests": 2}},
    }
    assert known[TODAY] == {"a.example": {"requests": 9}}
    assert with_traffic({}, {"a.example": {}}, NOW) == {}


def test_of_two_states_of_a_feed_the_later_one_counts_whichever_comes_first() -> None:
    early, late = {"a": {"requests": 1}}, {"a": {"requests": 2, "failed": 1}, "b": {"requests": 1}}
    assert at_least(early, late) == at_least(late, early) == at_least(late, late) == late


def test_a_feed_that_is_added_again_is_another_source() -> None:
    of_feed = {TODAY: {"a.example": {"requests": 1}}}
    old, new = feed(traffic=of_feed), feed(traffic=of_feed, created_at=NOW - timedelta(days=1))
    found = by_part([old.to_document(), new.to_document()], in_one=True)
    ((day, part),) = found
    assert (day, part) == (TODAY, "feeds")
    assert len(found[day, part]) == 2


def test_a_day_is_kept_for_35_days() -> None:
    day = host_day()
    assert (day.partition, day.id) == ("HOST_DAYS", "20260221:feeds-0")
    assert day.ttl_timestamp == int((NOW + timedelta(days=35)).timestamp())


def test_a_feed_without_requests_stores_none_and_shows_none() -> None:
    assert "traffic" not in feed().to_document()
    busy = feed(traffic={TODAY: {"a.example": {"requests": 1}}})
    assert busy.to_document()["traffic"] == {TODAY: {"a.example": {"requests": 1}}}
    assert "traffic" not in FeedResource.of(busy).shown()
