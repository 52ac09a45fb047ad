"""Headlines, publishers' names and URLs: what is the same, and what must not become the same."""

from __future__ import annotations

import pytest

from services.parse.text import PUBLISHERS, headline_text, html_to_text, strip_publisher
from services.parse.urls import normalize_url


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("plain", "plain"),
        ("<p>One</p><p>Two</p>", "One Two"),
        ("in<b>line</b>d", "inlined"),
        ("a<br/>b<li>c", "a b c"),
        ("<script>alert('<p>')</script>shown<style>p{}</style>", "shown"),
        ("kept<script>never ends", "kept"),
        ("1 < 2 &amp; 3 &lt; 4", "1 < 2 & 3 < 4"),
        ('<img alt="a > b" src="x">after', "after"),
        ("<!-- not <b>this</b> -->that", "that"),
        ("&copy;2026&nbsp;&#8211;&#x201c;x&#146;&#55296;", "©2026 \u2013\u201cx\u2019\ufffd"),
        ("?a=1&copy=2&notit;", "?a=1&copy=2&notit;"),
        ("\x00control\x1fs\tand\u00a0spaces\u2028", "controls and spaces"),
        ("half a \ud83d pair", "half a pair"),
        ("<unfinished", ""),
    ],
)
def test_html_becomes_the_words_that_a_reader_sees(source: str, text: str) -> None:
    assert html_to_text(source) == text


def test_plain_text_is_taken_at_its_word_unless_it_reads_like_html() -> None:
    assert headline_text("List<T> in C++ & C#", is_html=False) == "List<T> in C++ & C#"
    assert headline_text("The <blink> tag", is_html=False) == "The <blink> tag"
    assert headline_text("The <b>old</b> tag", is_html=False) == "The old tag"
    assert headline_text("AT&amp;T's <T> &unknown;", is_html=False) == "AT&T's <T> &unknown;"


@pytest.mark.parametrize(
    ("headline", "names", "left"),
    [
        ("Apple Reports Q4 Earnings Beat - Reuters", [], "Apple Reports Q4 Earnings Beat"),
        ("Markets fall | CNBC", [], "Markets fall"),
        ("A new phone \u2014 The Verge", [], "A new phone"),
        ("Council meets - Oslo Courier", ["Oslo Courier"], "Council meets"),
        ("Council meets - Oslo Courier", ["www.oslo-courier.com"], "Council meets"),
        ("Council meets - Oslo Courier", [None, ""], "Council meets - Oslo Courier"),
        ("Profit up - and costs too", [], "Profit up - and costs too"),
        ("Rates rise - Reuters | CNBC", [], "Rates rise"),
        ("Reuters", [], "Reuters"),
        ("- Reuters", [], "- Reuters"),
        ("!? - Reuters", [], "!? - Reuters"),
        ("Spider-Man-Reuters", [], "Spider-Man-Reuters"),
        ("Reuters - who they are", [], "Reuters - who they are"),
        ("", [], ""),
    ],
)
def test_only_a_known_publisher_is_removed_and_never_all(headline: str, names: list[str | None], left: str) -> None:
    assert strip_publisher(headline, names) == left


def test_the_shipped_names_are_names() -> None:
    names = [name.strip() for name in PUBLISHERS.replace("\n", "").split("|")]
    assert all(1 < len(name) < 40 for name in names)
    assert all(strip_publisher(f"Some headline - {name}") == "Some headline" for name in names)


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("http://example.com/A/b", "https://EXAMPLE.com:443/A/b/"),
        ("https://example.com", "https://example.com./#top"),
        ("https://example.com/a?b=1&c=2", "https://example.com/a?c=2&utm_source=x&b=1&fbclid=y"),
        ("https://example.com/%7euser/%c3%a9", "https://example.com/~user/é"),
        ("https://bücher.example/a", "https://xn--bcher-kva.example/a"),
        ("https://example.com/a/../b/./c", "https://example.com/b/c"),
        ("https://user:secret@example.com/", "https://example.com/"),
        ("https://example.com/a?ref=rss", "https://example.com/a?"),
    ],
)
def test_spellings_of_one_page_are_one(url: str, same: str) -> None:
    assert normalize_url(url) == normalize_url(same)


@pytest.mark.parametrize(
    ("url", "other"),
    [
        ("https://example.com/A", "https://example.com/a"),
        ("https://example.com/?p=1", "https://example.com/?p=2"),
        ("https://example.com/?a=1&a=2", "https://example.com/?a=2&a=1"),
        ("https://example.com:8080/", "https://example.com/"),
        ("https://example.com/a%2Fb", "https://example.com/a/b"),
        ("https://example.com/#!/a", "https://example.com/#!/b"),
        ("https://example.com/?ref=home", "https://example.com/"),
        ("https://www.example.com/", "https://example.com/"),
    ],
)
def test_other_pages_stay_others(url: str, other: str) -> None:
    assert normalize_url(url) != normalize_url(other)


@pytest.mark.parametrize(
    "url", ["", "no url", "https://", "https:///path", "http://[::1", "https://x:99999/", "https://a b/"]
)
def test_what_has_no_host_is_no_identity(url: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        normalize_url(url)
