"""The hub that a feed names: in Atom and RSS, in headers, and what is no hub."""

from __future__ import annotations

import json

import pytest

from models.raw_item import Hub
from services.parse.feed import parse
from services.parse.hubs import hub_in_document, hub_in_headers

BASE = "https://news.example/feed"
HUB = Hub("https://hub.example/", "https://news.example/feed.xml")
ATOM = """<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>T</title>
<link rel="hub" href="https://hub.example/"/><link href="https://news.example/feed.xml" rel='self'/>
<entry><title>One</title><link href="https://news.example/1"/></entry></feed>"""
RSS = """<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>T</title>
<atom:link rel="self" href="/feed.xml" type="application/rss+xml"/><atom:link href="https://hub.example/" rel="hub" />
<item><title>One</title><link>https://news.example/1</link></item></channel></rss>"""


@pytest.mark.parametrize("document", [ATOM, RSS, RSS.replace("<title>T</title>", "<title>T&bad;</title>")])
def test_a_feed_document_names_its_hub_and_itself(document: str) -> None:
    parsed = parse(document.encode(), BASE)
    assert parsed.hub == HUB
    assert len(parsed.items) == 1


JSON = {
    "version": "https://jsonfeed.org/version/1.1",
    "title": "T",
    "feed_url": "https://news.example/feed.xml",
    "hubs": [{"type": "rssCloud", "url": "https://cloud.example/"}, {"type": "WebSub", "url": "https://hub.example/"}],
    "items": [{"id": "1", "url": "https://news.example/1", "title": "One"}],
}


def test_a_json_feed_names_its_hub_of_websub_and_itself() -> None:
    parsed = parse(json.dumps(JSON).encode(), BASE)
    assert (parsed.hub, len(parsed.items)) == (HUB, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"hubs": None},
        {"hubs": ["https://hub.example/"]},
        {"hubs": [{"type": "rssCloud", "url": "https://hub.example/"}]},
        {"hubs": [{"type": "WebSub", "url": "ftp://hub.example/"}]},
        {"hubs": [{"type": "WebSub"}]},
        {"feed_url": None},
    ],
)
def test_a_json_feed_without_a_usable_hub_has_none(change: dict[str, object]) -> None:
    parsed = parse(json.dumps({**JSON, **change}).encode(), BASE)
    assert (parsed.hub, len(parsed.items)) == (None, 1)


@pytest.mark.parametrize(
    "head",
    [
        b"<link rel='hub' href='https://hub.example/'/>",
        b"<link rel='self' href='/feed.xml'/> hub",
        b"<link rel='hub' href='javascript:1'/><link rel='self' href='/feed.xml'/>",
        b"<link rel='hub' href=''/><link rel='self' href='/feed.xml'/>",
        b"<link rel='hub' href='https://hub.example/" + b"x" * 2000 + b"'/><link rel='self' href='/feed.xml'/>",
    ],
)
def test_without_a_usable_hub_and_a_link_to_itself_there_is_none(head: bytes) -> None:
    assert hub_in_document(head, BASE) is None


def test_links_within_entries_are_not_those_of_the_feed() -> None:
    inside = ATOM.replace('<link rel="hub" href="https://hub.example/"/>', "").replace(
        "<entry>", '<entry><link rel="hub" href="https://evil.example/"/>'
    )
    assert parse(inside.encode(), BASE).hub is None


def test_the_first_hub_counts_and_references_are_read() -> None:
    head = b"<link rel='hub self' href='https://a.example/?x=1&amp;y=2'/><link rel='hub' href='https://b.example/'/>"
    assert hub_in_document(head, BASE) == Hub("https://a.example/?x=1&y=2", "https://a.example/?x=1&y=2")


@pytest.mark.parametrize(
    "header",
    [
        '<https://hub.example/>; rel="hub", </feed.xml>; rel="self"',
        "<https://hub.example/>;rel=hub,<https://news.example/feed.xml>;type=x;rel=self",
        '</p2>; rel="next", </feed.xml>; title="a, b"; rel="self x", <https://hub.example/>; rel="HUB"',
    ],
)
def test_headers_name_them_too(header: str) -> None:
    assert hub_in_headers(header, BASE) == HUB


@pytest.mark.parametrize("header", [None, "", "hub", '<https://hub.example/>; rel="hub"', "<>; rel=hub, <>; rel=self"])
def test_other_headers_name_none(header: str | None) -> None:
    assert hub_in_headers(header, BASE) is None
