"""The demo's news: believable, the same for everybody at the same time, and readable as feeds."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from scripts.demo.formats import FORMATS
from scripts.demo.newsroom import OUTLETS, SHOWN, STORY_EVERY, Outlet, entries, is_failing, story
from services.articles.identity import normalize_headline
from services.parse.feed import parse

NOW = datetime(2026, 2, 21, 20, 0, 7, tzinfo=UTC)
BASE = "http://127.0.0.1:7072"
PUBLISHING = [each for each in OUTLETS if each.behaviour != "not_a_feed"]


def document(outlet: Outlet, now: datetime) -> bytes:
    return FORMATS[outlet.form][1](outlet, entries(outlet, now), BASE).encode()


def test_there_are_a_dozen_outlets_with_every_format_and_every_fault() -> None:
    assert len(OUTLETS) >= 12
    assert {each.form for each in OUTLETS} == set(FORMATS)
    kinds = {"well", "no_validators", "slow", "failing", "gone", "not_a_feed", "page"}
    assert {each.behaviour for each in OUTLETS} == kinds


@pytest.mark.parametrize("outlet", PUBLISHING, ids=lambda outlet: outlet.id)
def test_every_outlet_is_read_whole_and_without_a_warning(outlet: Outlet) -> None:
    shown = entries(outlet, NOW)
    read = parse(document(outlet, NOW), f"{BASE}/{outlet.id}/feed", FORMATS[outlet.form][0])
    assert read.title == outlet.name
    assert [item.headline for item in read.items] == [each.headline for each in shown]
    assert {item.published for item in read.items} == {each.published for each in shown}
    assert len({item.article_id for item in read.items}) == len(read.items) == len(shown) > SHOWN / 2
    assert (read.warnings, read.skipped) == ({}, {})
    assert all(item.tags and item.url.startswith(BASE) for item in read.items)


def test_a_feed_has_the_same_bytes_for_the_same_moment_after_any_start() -> None:
    for outlet in PUBLISHING:
        before = document(outlet, NOW)
        story.cache_clear()
        assert document(outlet, NOW) == before


def test_new_entries_come_first_and_an_edited_entry_keeps_its_identity() -> None:
    outlet = OUTLETS[0]
    edits = 0
    for minute in range(60):
        before = {each.story.number: each for each in entries(outlet, NOW + timedelta(minutes=minute))}
        after = entries(outlet, NOW + timedelta(minutes=minute + 1))
        for each in after:
            earlier = before.get(each.story.number)
            if earlier is not None:
                assert (earlier.headline, earlier.published) == (each.headline, each.published)
                edits += earlier.summary != each.summary
            else:
                assert each.published > NOW + timedelta(minutes=minute - 6)
    assert edits


def test_something_new_is_published_somewhere_all_the_time() -> None:
    shown = Counter[str]()
    for step in range(60):
        now = NOW + step * timedelta(minutes=1)
        for outlet in PUBLISHING:
            newest = entries(outlet, now)[0].published
            shown[outlet.id] += now - newest < timedelta(minutes=1)
    assert sum(shown.values()) > 60
    assert all(shown[outlet.id] for outlet in PUBLISHING)


def test_outlets_carry_each_others_stories_every_other_one_with_another_ending_of_the_headline_only() -> None:
    stories = [story(number) for number in range(71_000_000, 71_000_500)]
    shared = [each for each in stories if len(each.reports) > 1]
    assert 0.5 < len(shared) / len(stories) < 0.95
    wire, ticker = OUTLETS[0], OUTLETS[1]
    by_story = {each.story.number: each for each in entries(wire, NOW)}
    both = [(by_story[each.story.number], each) for each in entries(ticker, NOW) if each.story.number in by_story]
    assert both
    alike = []
    for one, other in both:
        assert one.headline != other.headline
        assert one.story.headline in one.headline
        headlines = one.headline.removesuffix(wire.ending), other.headline.removesuffix(ticker.ending)
        is_same = normalize_headline(headlines[0]) == normalize_headline(headlines[1])
        assert is_same or one.story.number % 2
        alike.append(is_same)
    assert set(alike) == {True, False}


def test_stories_are_numbered_by_time_and_tell_good_news_and_bad() -> None:
    assert story(5).at - story(4).at == STORY_EVERY
    assert {"outage", "release", "earnings", "security"} <= {story(number).tag for number in range(300)}


def test_the_failing_outlet_fails_now_and_then_and_recovers() -> None:
    assert {is_failing(NOW + timedelta(minutes=minute)) for minute in range(6)} == {True, False}
