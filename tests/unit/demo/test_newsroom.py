"""The demo's news: a believable month, the same after any start, and readable as feeds."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from scripts.demo.cast import OUTLETS, PUBLISHING, Outlet, outlet_of
from scripts.demo.formats import FORMATS
from scripts.demo.newsroom import SHOWN_FOR, Newsroom, is_failing
from services.parse.feed import parse

OPENED = datetime(2026, 2, 20, 20, 0, 7, tzinfo=UTC)
NEWSROOM = Newsroom(OPENED)
BASE = "http://127.0.0.1:7072"


def document(newsroom: Newsroom, outlet: Outlet, now: datetime = OPENED) -> bytes:
    return FORMATS[outlet.form][1](outlet, newsroom.entries(outlet, now), BASE).encode()


def test_there_are_a_dozen_outlets_with_every_format_and_every_fault() -> None:
    assert len(OUTLETS) >= 12
    assert {each.form for each in OUTLETS} == set(FORMATS)
    kinds = {"well", "no_validators", "slow", "failing", "gone", "moved", "not_a_feed", "page"}
    assert {each.behaviour for each in OUTLETS} == kinds


@pytest.mark.parametrize("outlet", PUBLISHING, ids=lambda outlet: outlet.id)
def test_every_outlet_is_read_whole_and_without_a_warning(outlet: Outlet) -> None:
    shown = NEWSROOM.entries(outlet, OPENED)
    read = parse(document(NEWSROOM, outlet), f"{BASE}/{outlet.id}/feed", FORMATS[outlet.form][0])
    assert read.title == outlet.name
    assert [item.headline for item in read.items] == [each.headline for each in shown]
    assert {item.published for item in read.items} == {each.published for each in shown}
    assert len({item.article_id for item in read.items}) == len(read.items) == len(shown) > 10
    assert (read.warnings, read.skipped) == ({}, {})
    assert all(item.tags and item.url.startswith(BASE) for item in read.items)


def test_a_feed_has_the_same_bytes_for_the_same_moment_after_any_start() -> None:
    later = OPENED + timedelta(days=3)
    for outlet in PUBLISHING:
        for now in (OPENED, later):
            assert document(Newsroom(OPENED), outlet, now) == document(NEWSROOM, outlet, now)


def test_the_first_feed_documents_hold_a_month_of_at_most_fifteen_hundred_entries() -> None:
    entries = [each for outlet in PUBLISHING for each in NEWSROOM.entries(outlet, OPENED)]
    assert 1_000 < len(entries) < 1_500
    days = Counter(each.published.date() for each in entries)
    assert len(days) >= 30
    assert max(days.values()) < 150
    assert all(OPENED - SHOWN_FOR < each.published <= OPENED for each in entries)


def test_an_entry_is_found_by_its_slug_once_it_is_published() -> None:
    outlet = outlet_of("demo-dev-wire")
    assert outlet is not None
    newest = NEWSROOM.entries(outlet, OPENED)[0]
    assert NEWSROOM.entry_of(outlet, newest.story.slug, OPENED) == newest
    assert NEWSROOM.entry_of(outlet, newest.story.slug, newest.published - timedelta(seconds=1)) is None


def test_the_failing_outlet_fails_now_and_then_but_not_at_first() -> None:
    failing = [is_failing(OPENED, OPENED + timedelta(minutes=minute)) for minute in range(6)]
    assert failing == [False, False, True, True, False, False]
