"""An entry becomes an item, or is skipped and counted; what is too long is cut and counted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from models.raw_item import RawItem
from services.parse.collected import (
    MAX_HEADLINE,
    MAX_HTML,
    MAX_ID,
    MAX_ITEMS,
    MAX_TAG,
    MAX_TAGS,
    MAX_URL,
    Collected,
    as_html,
)

NOON = datetime(2026, 2, 21, 12, tzinfo=UTC)
URL = "https://x.example/1"


def add(collected: Collected, **fields: Any) -> None:
    entry = {
        "title": "One",
        "title_is_html": False,
        "link": URL,
        "article_id": "id",
        "published": NOON,
        "dates": ["2026-02-21T12:00:00Z"],
    }
    collected.add(**{**entry, **fields})


def item(**fields: Any) -> tuple[RawItem, dict[str, int]]:
    collected = Collected()
    add(collected, **fields)
    (found,) = collected.items()
    return found, dict(collected.warnings)


def skipped(**fields: Any) -> dict[str, int]:
    collected = Collected()
    add(collected, **fields)
    assert collected.items() == ()
    return dict(collected.skipped)


def test_an_entry_without_faults_is_an_item_as_it_is() -> None:
    fields = {"summary": "s", "content": "c", "tags": ["a", "b"], "publisher": " Wire ", "tickers": ["aapl"]}
    found, warnings = item(**fields)
    assert found == RawItem(
        "id", URL, "One", NOON, None, "s", "c", ("a", "b"), ("AAPL",), "Wire", "2026-02-21T12:00:00Z", ()
    )
    assert warnings == {}


def test_an_entry_without_title_or_link_is_skipped() -> None:
    assert skipped(title=" \t") == {"no_title": 1}
    assert skipped(title="<b></b>", title_is_html=True) == {"no_title": 1}
    assert skipped(link="") == {"no_link": 1}
    assert skipped(link="ftp://x.example/1") == {"link_refused": 1}
    assert skipped(title="", link="") == {"no_title": 1}


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("https://x.example/a b", "https://x.example/a%20b"),
        (" https://x.example/a\n", "https://x.example/a"),
        ("https://user:secret@x.example/", "https://x.example/"),
        ("https://x.example:8443?q=ü", "https://x.example:8443?q=ü"),
        ("https://[2001:db8::1]/a", "https://[2001:db8::1]/a"),
        ("https://x.example/" + "a" * (MAX_URL - 18), "https://x.example/" + "a" * (MAX_URL - 18)),
        ("https://x.example/ü" + "a" * (MAX_URL - 19), "https://x.example/ü" + "a" * (MAX_URL - 19)),
    ],
)
def test_a_link_is_one_absolute_url_without_a_user(link: str, url: str) -> None:
    assert item(link=link)[0].url == url


@pytest.mark.parametrize(
    "link",
    [
        "https://x.example/" + "a" * (MAX_URL - 17),
        "https://x.example/ü" + "a" * (MAX_URL - 18),
        "/relative",
        "https:///path",
        "https://x.example\\@y.example/",
        "https://x.example:999999/",
        "mailto:a@b.example",
    ],
)
def test_other_links_are_refused(link: str) -> None:
    assert skipped(link=link) == {"link_refused": 1}


def test_what_is_too_long_is_cut_or_left_out_and_counted() -> None:
    found, warnings = item(title="x" * (MAX_HEADLINE - 1) + " y")
    assert (found.headline, found.repairs, warnings) == (
        "x" * (MAX_HEADLINE - 1),
        ("headline_cut",),
        {"headline_cut": 1},
    )
    assert item(title="x" * MAX_HEADLINE) == (found._replace(headline="x" * MAX_HEADLINE, repairs=()), {})
    assert item(article_id="x" * MAX_ID)[0].article_id == "x" * MAX_ID
    found, warnings = item(article_id="x" * (MAX_ID + 1))
    assert (found.article_id, found.repairs, warnings) == (None, ("id_ignored",), {"id_ignored": 1})
    for name in ("summary", "content"):
        assert item(**{name: "x" * MAX_HTML})[1] == {}
        found, warnings = item(**{name: "x" * (MAX_HTML + 1)})
        assert (len(found.summary_html + found.content_html), warnings) == (MAX_HTML, {"text_cut": 1})


def test_tags_are_kept_once_each_on_one_line_and_at_most_so_many() -> None:
    assert item(tags=["b", " a ", "", "b", "a", "c\nd", "x" * MAX_TAG])[0].tags == ("b", "a", "c d", "x" * MAX_TAG)
    assert item(tags=["", "x" * (MAX_TAG + 1)])[0].tags == ()
    assert item(tags=[f"{n}" for n in range(MAX_TAGS)])[1] == {}
    found, warnings = item(tags=[f"{n}" for n in range(MAX_TAGS + 1)])
    assert (found.tags[-1], len(found.tags), warnings) == ("99", MAX_TAGS, {"tags_cut": 1})


def test_a_date_that_is_missing_or_unreadable_is_flagged_and_counted() -> None:
    found, warnings = item(published=None, dates=["", "soon", "later"])
    assert (found.published_flag, found.date_text, warnings) == ("unparsable", "soon", {"date_unparsable": 1})
    found, warnings = item(published=None, dates=["", ""])
    assert (found.published_flag, found.date_text, warnings) == ("missing", "", {"date_missing": 1})


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://wire.example/feed.xml", "https://wire.example/feed.xml"),
        ("https://someone:secret@wire.example/", "https://wire.example/"),
        (URL, ""),
        ("javascript:alert(1)", ""),
        ("https://[", ""),
    ],
)
def test_the_address_of_a_publisher_is_kept_if_it_is_on_another_host(given: str, kept: str) -> None:
    assert item(publisher_url=given)[0].publisher_url == kept


def test_a_document_has_at_most_so_many_items() -> None:
    collected = Collected()
    for number in range(MAX_ITEMS + 2):
        add(collected, article_id=f"{number}")
    assert len(collected.items()) == MAX_ITEMS
    assert collected.skipped == {"too_many": 2}


def test_an_id_that_repeats_identifies_none_of_its_items() -> None:
    collected = Collected()
    for number, article_id in enumerate(["a", "b", "a", ""]):
        add(collected, article_id=article_id, link=f"{URL}{number}")
    assert [(each.article_id, each.repairs) for each in collected.items()] == [
        (None, ("id_repeated",)),
        ("b", ()),
        (None, ("id_repeated",)),
        (None, ()),
    ]
    assert collected.warnings == {"id_repeated": 2}


def test_a_url_shared_by_items_without_an_id_identifies_them_only_if_their_headlines_are_equal() -> None:
    collected = Collected()
    for title, article_id, link in [
        ("One", "", URL),
        ("Two", "", URL),
        ("Three", "own", URL),
        ("Same", "", f"{URL}/same"),
        ("Same", "", f"{URL}/same"),
    ]:
        add(collected, title=title, article_id=article_id, link=link)
    assert [(each.url_shared, each.repairs) for each in collected.items()] == [
        (True, ("url_repeated",)),
        (True, ("url_repeated",)),
        (False, ()),
        (False, ()),
        (False, ()),
    ]
    assert collected.warnings == {"url_repeated": 2}


@pytest.mark.parametrize(
    ("text", "is_html", "markup"),
    [
        ("plain", False, "plain"),
        ("1 < 2", False, "1 &lt; 2"),
        ("a & b", False, "a &amp; b"),
        ("<b>bold</b>", False, "<b>bold</b>"),
        ("1 < 2", True, "1 < 2"),
    ],
)
def test_plain_text_is_escaped_unless_it_looks_like_html(text: str, is_html: bool, markup: str) -> None:
    assert as_html(text, is_html=is_html) == markup
