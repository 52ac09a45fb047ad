"""The fields of a feed that people post."""

import hashlib
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InvalidInput
from models.feed import Feed
from services.feeds.form import DISABLED_BY_HAND, changed_feed, feed_change, new_feed
from services.parse.news_apis import NEWS_APIS
from tests.documents import NOW, feed

URL = "https://example.com/rss.xml"
LATER = NOW + timedelta(hours=1)


def posted(**fields: Any) -> dict[str, Any]:
    return {"url": URL, "source_name": "Example"} | fields


def test_an_id_that_is_not_given_follows_from_the_url() -> None:
    assert new_feed(posted(), NOW).feed_id == hashlib.md5(URL.encode()).hexdigest()[:16]
    assert new_feed(posted(feed_id="example-news"), NOW).feed_id == "example-news"


def test_an_id_may_be_given_as_id_as_the_specification_has_it() -> None:
    assert new_feed(posted(id="example-news"), NOW).feed_id == "example-news"
    assert new_feed(posted(id="example-news", feed_id="example-news"), NOW).feed_id == "example-news"
    with pytest.raises(InvalidInput, match="feed_id: must be the same as id: 'one' is not 'two'"):
        new_feed(posted(feed_id="one", id="two"), NOW)
    with pytest.raises(InvalidInput, match="must not be one of"):
        new_feed(posted(id="export"), NOW)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/feed",
        "http://example.com:8080/feed?format=rss&x=1#top",
        "https://bücher.example/neu",
        "https://例え.テスト/フィード",
        "http://127.0.0.1:9000/rss",
        "http://[2001:db8::1]/rss",
        "  https://example.com/feed\n",
        "HTTPS://EXAMPLE.com/feed",
        "https://example.com/a|b",
    ],
)
def test_web_urls_of_every_kind_are_accepted_as_they_are(url: str) -> None:
    new = new_feed(posted(url=url), NOW)
    assert new.feed_url == url.strip()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("url", ""),
        ("url", 7),
        ("url", "example.com/feed"),
        ("url", "ftp://example.com/feed"),
        ("url", "feed:ftp://example.com/feed"),
        ("url", "feed://user:pass@example.com/feed"),
        ("url", "https://"),
        ("url", "https://example.com/a b"),
        ("url", "https://example.com/\x00"),
        ("url", "https://example.com/\ud800"),
        ("url", "https://example.com:99999/feed"),
        ("url", "http://[::1/feed"),
        ("url", "https://\u200b/feed"),
        ("url", "https://user:secret@example.com/feed"),
        ("url", "https://example.com:0/feed"),
        ("source_name", "  "),
        ("source_name", "two\nlines"),
        ("source_name", "\ud800"),
        ("feed_id", "a/b"),
        *(("feed_id", api.name) for api in NEWS_APIS),
        ("feed_id", "Export"),
        ("feed_id", "import"),
        ("feed_id", "apply"),
        ("priority", "1.0"),
        ("priority", True),
        ("priority", float("nan")),
        ("priority", 10**400),
        ("source_priority", 1.5),
        ("enabled", "yes"),
        ("credential", "COSMOS_KEY"),
        ("credential", "FEED_CREDENTIAL_"),
        *(("tags", each) for each in ("a", {"a": 1}, [7], [None], [""], [" / "], ["a,b"], ["a\nb\x00"], ["t" * 101])),
        ("tags", [str(number) for number in range(21)]),
    ],
)
def test_a_value_that_breaks_a_rule_is_refused_by_the_name_of_its_field(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        new_feed(posted(**{field: value}), NOW)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("field", "value", "too_much"),
    [
        ("url", "https://example.com/" + "a" * 1980, "https://example.com/" + "a" * 1981),
        ("source_name", "x" * 200, "x" * 201),
        ("source_name", "X", ""),
        ("feed_id", "a" * 64, "a" * 65),
        ("feed_id", "a", ""),
        ("feed_id", "A.b_c-9", ".b"),
        ("priority", 1000, 1000.001),
        ("priority", 0.001, 0),
        ("source_priority", 1, 0),
        ("source_priority", 999, 1000),
        ("credential", "FEED_CREDENTIAL_A", "FEED_CREDENTIAL_a"),
    ],
)
def test_a_value_is_accepted_up_to_its_limit(field: str, value: Any, too_much: Any) -> None:
    stored = {"url": "feed_url", "priority": "priority_score"}.get(field, field)
    assert getattr(new_feed(posted(**{field: value}), NOW), stored) == value
    assert feed_change({field: value}) == {field: value} if field != "feed_id" else True
    with pytest.raises(InvalidInput, match=f"^{field}: must be"):
        new_feed(posted(**{field: too_much}), NOW)


@pytest.mark.parametrize("name", ["url", "source_name"])
def test_a_feed_needs_a_url_and_a_name(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{name}: is needed"):
        new_feed({each: value for each, value in posted().items() if each != name}, NOW)


def test_an_unknown_field_is_refused_with_those_that_there_are() -> None:
    known = "url, source_name, priority, source_priority, enabled, credential, daily_limit, full_text, tags"
    with pytest.raises(InvalidInput, match=f"^colour: no such field; there are {known}, feed_id, id, preset, values$"):
        new_feed(posted(colour="blue"), NOW)
    with pytest.raises(InvalidInput, match=f"^colour: no such field; there are {known}$"):
        feed_change({"colour": "blue"})


def test_every_field_of_a_change_is_stored() -> None:
    posted = {"url": "https://new.example/", "source_name": " New ", "priority": 3, "source_priority": 7}
    change = feed_change({**posted, "enabled": False, "credential": "FEED_CREDENTIAL_A"})
    after = changed_feed(feed(), change, LATER)
    assert (after.feed_url, after.source_name, after.priority_score) == ("https://new.example/", "New", 3.0)
    assert (after.source_priority, after.enabled, after.credential) == (7, False, "FEED_CREDENTIAL_A")
    assert after.updated_at == LATER


def test_a_secret_in_a_url_is_refused_and_not_repeated_in_the_error() -> None:
    with pytest.raises(InvalidInput, match="FEED_CREDENTIAL_") as caught:
        new_feed(posted(url="https://me:hunter2@example.com/feed"), NOW)
    assert "hunter2" not in str(caught.value)


@given(st.text())
def test_any_text_after_the_scheme_is_a_url_that_can_be_stored_or_is_refused(rest: str) -> None:
    try:
        new = new_feed(posted(url=f"https://{rest}"), NOW)
    except InvalidInput:
        return
    assert Feed.from_document(new.to_document()) == new


def test_a_new_feed_is_due_at_once_and_a_disabled_one_has_the_reason() -> None:
    assert new_feed(posted(), NOW).next_fetch_time == NOW
    disabled = new_feed(posted(enabled=False), NOW)
    assert (disabled.enabled, disabled.disabled_reason, disabled.disabled_at) == (False, DISABLED_BY_HAND, NOW)


@pytest.mark.parametrize("name", ["url", "source_name", "priority", "source_priority", "enabled"])
def test_null_is_refused_in_a_change_except_for_a_credential(name: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        feed_change({name: None})
    assert feed_change({"credential": None}) == {"credential": None}


def test_enabling_a_disabled_feed_clears_its_errors_and_makes_it_due() -> None:
    before = feed(**FAILED, **DISABLED, next_fetch_time=NOW + timedelta(days=1), etag='"1"')
    after = changed_feed(before, {"enabled": True}, LATER)
    assert values_of(after, FAILED | DISABLED) == values_of(feed(), FAILED | DISABLED)
    assert (after.next_fetch_time, after.etag) == (LATER, '"1"')


LEARNED: dict[str, Any] = {
    "redirect_url": "https://b.example/",
    "title": "World",
    "etag": '"1"',
    "last_modified": "then",
    "body_hash": "a" * 64,
    "validators_trusted": False,
    "max_age_seconds": 60,
    "ttl_minutes": 30,
    "skip_hours": (3,),
    "skip_days": ("monday",),
}
FAILED: dict[str, Any] = {
    "consecutive_errors": 3,
    "last_error": "timeout",
    "last_error_fingerprint": "timeout",
    "retry_after_until": LATER,
}
DISABLED: dict[str, Any] = {"enabled": False, "disabled_reason": "410", "disabled_at": NOW}


def values_of(found: Feed, fields: dict[str, Any]) -> dict[str, Any]:
    return {name: getattr(found, name) for name in fields}


def test_another_url_clears_all_that_belongs_to_the_old_one() -> None:
    before = feed(**LEARNED, **FAILED, articles_per_hour=3.0)
    after = changed_feed(before, {"url": "https://new.example/feed"}, LATER)
    fresh = feed()
    assert values_of(after, LEARNED | FAILED) == values_of(fresh, LEARNED | FAILED)
    assert (after.next_fetch_time, after.articles_per_hour) == (LATER, 3.0)


def test_another_url_of_a_disabled_feed_keeps_it_disabled_with_its_errors() -> None:
    before = feed(**LEARNED, **FAILED, **DISABLED)
    after = changed_feed(before, {"url": "https://new.example/feed"}, LATER)
    assert values_of(after, LEARNED) == values_of(feed(), LEARNED)
    assert values_of(after, FAILED) == FAILED
    assert (after.enabled, after.disabled_reason, after.next_fetch_time) == (False, "410", before.next_fetch_time)


def test_the_url_of_a_feed_that_has_moved_makes_the_feed_due_with_no_known_body() -> None:
    before = feed(**LEARNED, **FAILED)
    after = changed_feed(before, {"url": before.feed_url}, LATER)
    assert values_of(after, FAILED) == values_of(feed(), FAILED)
    assert (after.body_hash, after.redirect_url, after.next_fetch_time) == (None, "https://b.example/", LATER)
    unmoved = feed(etag='"1"', **FAILED)
    assert changed_feed(unmoved, {"url": unmoved.feed_url}, LATER) is unmoved


def test_the_token_of_an_api_source_comes_from_the_settings() -> None:
    tiingo = feed(feed_id="tiingo", kind="tiingo")
    with pytest.raises(InvalidInput, match="settings"):
        changed_feed(tiingo, {"credential": None}, LATER)


@pytest.mark.parametrize(
    ("tags", "stored"),
    [
        ([], ()),
        (["b", "a", "b"], ("a", "b")),
        (["  News  / World/ "], ("News/World",)),
        (["t" * 100], ("t" * 100,)),
        ([str(n) for n in range(10, 30)], tuple(str(n) for n in range(10, 30))),
    ],
)
def test_tags_are_stored_sorted_each_once_in_one_spelling(tags: list[str], stored: tuple[str, ...]) -> None:
    assert new_feed(posted(tags=tags), NOW).tags == stored
    assert feed_change({"tags": tags}) == {"tags": stored}


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("feed:https://example.com/rss", "https://example.com/rss"),
        ("feed:http://example.com/rss", "http://example.com/rss"),
        ("feed://example.com/rss?a=1", "http://example.com/rss?a=1"),
        (" FEED://https://example.com/rss", "https://example.com/rss"),
    ],
)
def test_a_feed_url_stands_for_a_web_url(given: str, stored: str) -> None:
    assert new_feed(posted(url=given), NOW).feed_url == stored
    assert feed_change({"url": given}) == {"url": stored}
