"""The demo's news: a believable month, the same after any start, and readable as feeds."""

import itertools
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from scripts.demo.cast import INCUMBENT, LAUNCHED, OUTLETS, PUBLISHING, RIVAL, STRUCK, Outlet, outlet_of
from scripts.demo.episodes import SCENES
from scripts.demo.formats import FORMATS
from scripts.demo.newsroom import SHOWN_FOR, SOON, SOON_EVERY, Newsroom, Story, is_failing
from services.articles.identity import normalize_headline
from services.parse.feed import parse

OPENED = datetime(2026, 2, 20, 20, 0, 7, tzinfo=UTC)
NEWSROOM = Newsroom(OPENED)
BASE = "http://127.0.0.1:7072"


def document(newsroom: Newsroom, outlet: Outlet, now: datetime = OPENED) -> bytes:
    return FORMATS[outlet.form][1](outlet, newsroom.entries(outlet, now), BASE).encode()


def month() -> list[Story]:
    return NEWSROOM.stories(OPENED - SHOWN_FOR, OPENED)


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


def test_the_pace_of_the_month_goes_on_after_it() -> None:
    week = timedelta(days=7)
    before = NEWSROOM.stories(OPENED - week, OPENED)
    after = NEWSROOM.stories(OPENED + week, OPENED + 2 * week)
    usual = [each for each in before if not each.key.startswith("scene")]
    assert 0.8 < len(after) / len(usual) < 1.25


def test_news_arrive_every_other_minute_in_the_first_half_hour() -> None:
    arrived = NEWSROOM.stories(OPENED, OPENED + SOON * SOON_EVERY)
    assert len(arrived) >= SOON
    gaps = [later.at - earlier.at for earlier, later in itertools.pairwise(arrived)]
    assert max(gaps) <= SOON_EVERY


def test_new_entries_come_first_and_an_edited_entry_keeps_its_identity() -> None:
    edits = 0
    for outlet in PUBLISHING:
        for minute in range(0, 40, 2):
            now = OPENED + timedelta(minutes=minute)
            before = {each.story.key: each for each in NEWSROOM.entries(outlet, now)}
            for each in NEWSROOM.entries(outlet, now + timedelta(minutes=2)):
                earlier = before.get(each.story.key)
                if earlier is not None:
                    assert (earlier.headline, earlier.published) == (each.headline, each.published)
                    edits += earlier.summary != each.summary
                else:
                    assert each.published > now - timedelta(seconds=1)
    assert edits


def test_outlets_carry_each_others_stories_every_other_one_with_another_ending_of_the_headline_only() -> None:
    shared = [each for each in month() if len(each.reports) > 1]
    assert 0.5 < len(shared) / len(month()) < 0.95
    wire, ticker = OUTLETS[0], OUTLETS[1]
    by_story = {each.story.key: each for each in NEWSROOM.entries(wire, OPENED)}
    both = [(by_story[e.story.key], e) for e in NEWSROOM.entries(ticker, OPENED) if e.story.key in by_story]
    assert both
    alike = []
    for one, other in both:
        assert one.headline != other.headline
        assert one.story.headline in one.headline
        headlines = one.headline.removesuffix(wire.ending), other.headline.removesuffix(ticker.ending)
        is_same = normalize_headline(headlines[0]) == normalize_headline(headlines[1])
        assert is_same or one.story.is_retold
        alike.append(is_same)
    assert set(alike) == {True, False}


def test_the_rival_overtakes_the_incumbent() -> None:
    def between(first: int, last: int, name: str) -> int:
        stories = NEWSROOM.stories(OPENED - timedelta(days=first), OPENED - timedelta(days=last))
        return sum(each.product.name == name for each in stories)

    assert between(30, 20, INCUMBENT.name) > 2 * between(30, 20, RIVAL.name)
    assert between(10, 0, RIVAL.name) > 1.5 * between(10, 0, INCUMBENT.name)


def test_the_month_has_an_outage_with_its_recovery_a_launch_and_news_of_the_last_hours() -> None:
    of_outage = [each for each in SCENES if each.product is STRUCK]
    assert of_outage[0].before - of_outage[-1].before > timedelta(days=7)
    assert any(each.product is LAUNCHED and each.reports >= 9 for each in SCENES)
    assert sum(each.before < timedelta(hours=6) for each in SCENES) >= 3
    assert {each.headline for each in SCENES} <= {each.headline for each in month()}


def test_one_text_is_in_ten_outlets_word_by_word() -> None:
    (story,) = (each for each in month() if len(each.reports) == 10)
    entries = [
        each for outlet in PUBLISHING for each in NEWSROOM.entries(outlet, OPENED) if each.story.key == story.key
    ]
    assert len(entries) == 10
    assert {each.summary for each in entries} == {story.summary}
    assert {each.headline.removesuffix(each.outlet.ending) for each in entries} == {story.headline}


def test_stories_tell_good_news_and_bad() -> None:
    assert {"outage", "release", "earnings", "security"} <= {each.tag for each in month()}


def test_an_entry_is_found_by_its_slug_once_it_is_published() -> None:
    outlet = outlet_of("demo-dev-wire")
    assert outlet is not None
    newest = NEWSROOM.entries(outlet, OPENED)[0]
    assert NEWSROOM.entry_of(outlet, newest.story.slug, OPENED) == newest
    assert NEWSROOM.entry_of(outlet, newest.story.slug, newest.published - timedelta(seconds=1)) is None


def test_the_failing_outlet_fails_now_and_then_but_not_at_first() -> None:
    failing = [is_failing(OPENED, OPENED + timedelta(minutes=minute)) for minute in range(6)]
    assert failing == [False, False, True, True, False, False]
