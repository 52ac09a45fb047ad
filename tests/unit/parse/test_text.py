"""HTML becomes text, titles become headlines, and known publishers are removed from the end of headlines."""

from __future__ import annotations

import pytest

from services.parse.text import (
    headline_text,
    html_to_text,
    looks_like_html,
    repaired,
    strip_publisher,
    words_of,
)


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
        ("Reuters", [], "Reuters"),
        ("!? - Reuters", [], "!? - Reuters"),
        ("Reuters - who they are", [], "Reuters - who they are"),
        ("", [], ""),
        ("Rates rise - Reuters | CNBC - BBC", [], "Rates rise - Reuters"),
        ("Rates rise :: Reuters", [], "Rates rise"),
        ("Rates rise \u00b7 The Reuters", [], "Rates rise"),
        ("Rates rise - reuters.com", [], "Rates rise"),
        ("Rates rise - www.reuters.co.uk", [], "Rates rise"),
        ("Rates - rise - Reuters", [], "Rates - rise"),
        ("Rates rise - " + "x" * 60, ["x" * 60], "Rates rise"),
        ("Rates rise - " + "x" * 61, ["x" * 61], "Rates rise - " + "x" * 61),
        ("Rates rise - !?", ["..."], "Rates rise - !?"),
    ],
)
def test_only_a_known_publisher_is_removed_and_never_all(headline: str, names: list[str | None], left: str) -> None:
    assert strip_publisher(headline, names) == left


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a<P CLASS='x'>b", "a b"),
        ("a<unknown>b</unknown>c", "abc"),
        ("<td>a</td><td>b</td>", "a b"),
        ("a<svg><p>x</p></svg>b", "a b"),
        ("a</p><unknown>b", "a b"),
        ("a<!-->b-->c", "ab-->c"),
        ('a<p title="x>y">b<unknown>', "a b"),
        ('<unknown><p a="1">say "hi" > there', 'say "hi" > there'),
        ('<unknown><p a="x>y<i>z">w', 'yz">w'),
        ("a<script/>b", "ab"),
        ("a<SCRIPT>x</SCRIPT >b", "a b"),
        ("a<script>x</scripts>y</script>b", "a b"),
        ("a<iframe src='x'>", "a"),
        ("a<!doctype html>b<?php x ?>c", "abc"),
        ("a<!-- never ends", "a"),
        ("a <3 b < c <- d", "a <3 b < c <- d"),
        ("a<p title='it>b<i>c", "a bc"),
        ("&#0;&#1114112;&#x110000;", "\ufffd" * 3),
        ("&#129;x", "x"),
        ("&#127;&#159;&#160;x", "\u0178 x"),
        ("<p>Run</p><pre><code>a;\n  b;</code></pre><p>now</p>", "Run ``` a; b; ``` now"),
        ("<PRE class='x'>a</PRE>", "``` a ```"),
        ('<p title="a<b">x</p><pre>a</pre>', "x ``` a ```"),
        ("a <code>b</code> c", "a b c"),
    ],
)
def test_blocks_separate_words_code_is_between_fences_and_invisible_elements_have_no_text(
    source: str, text: str
) -> None:
    assert html_to_text(source) == text


@pytest.mark.parametrize(
    ("title", "is_html", "headline"),
    [
        ("A &amp;amp;amp; B", False, "A & B"),
        ("A &amp;amp;amp;amp; B", False, "A &amp; B"),
        ("&lt;b&gt;A&lt;/b&gt;", True, "A"),
        ("&lt;b&gt;A", True, "<b>A"),
        ("<b>A", True, "A"),
        ("<b>A", False, "<b>A"),
        (" A \n B ", False, "A B"),
        ("5 &lt; 6 &copy", False, "5 < 6 &copy"),
    ],
)
def test_a_title_is_unescaped_as_often_as_it_was_escaped_but_three_times_at_most(
    title: str, is_html: bool, headline: str
) -> None:
    assert headline_text(title, is_html=is_html) == headline


@pytest.mark.parametrize(
    ("text", "is_html"),
    [
        ("plain", False),
        ("a <b>", False),
        ("a <b>c</b> <i>", True),
        ("a </B>", True),
        ("a </a>", True),
        ("a </t>", False),
        ("a &amp; b", True),
        ("a &amp; &unknown;", False),
        ("a &amp; <T>", False),
        ("a &#38; b", True),
        ("a &amp b", False),
    ],
)
def test_plain_text_looks_like_html_if_all_its_tags_and_entities_are_known(text: str, is_html: bool) -> None:
    assert looks_like_html(text) is is_html


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (None, ""),
        ("", ""),
        ("caf\u00c3\u00a9", "caf\u00e9"),
        ("it\u0092s", "it\u2019s"),
        ("\u00a9 2026", "\u00a9 2026"),
        ("\u0081 \u2019", "\u0081 \u2019"),
        ("\u0080 \u2019", "\u20ac \u2019"),
        ("\u009f", "\u0178"),
    ],
)
def test_characters_in_a_wrong_charset_are_set_right(text: str | None, right: str) -> None:
    assert repaired(text) == right


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Fed HOLDS rates", ["fed", "holds", "rates"]),
        ("Crédit Suisse\u2019s Zürich", ["credit", "suisse", "zurich"]),
        ("node.js 1.2 for 1,250 users", ["node", "js", "1.2", "for", "1250", "users"]),
        ("up 3 %", ["up", "3", "%"]),
        ("人工智能 in Berlin", ["人工", "工智", "智能", "in", "berlin"]),
        ("中", ["中"]),
        ("— … !", []),
    ],
)
def test_words_are_folded_and_scripts_without_spaces_give_pairs(text: str, words: list[str]) -> None:
    assert words_of(text) == words
