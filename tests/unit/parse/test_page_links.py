"""The feeds that a web page links to."""

from __future__ import annotations

import pytest

from services.parse.collected import Unreadable
from services.parse.feed import FeedLink, discover, parse
from tests.unit.parse.feedparser_reading import FEEDS

PAGE = "https://news.example/start/"
RSS = "application/rss+xml"


def urls(html: str) -> list[str]:
    return [link.url for link in discover(html.encode(), PAGE)]


def test_a_web_page_names_its_feeds() -> None:
    body = (FEEDS / "web_page.html").read_bytes()
    assert discover(body, PAGE) == [
        FeedLink("https://news.example/feed.xml", "News & views", RSS),
        FeedLink("https://news.example/atom.xml", "", "application/atom+xml"),
        FeedLink("https://news.example/start/feed.json", "", "application/feed+json"),
    ]
    with pytest.raises(Unreadable):
        parse(body, PAGE)


@pytest.mark.parametrize(
    "media_type",
    [
        RSS,
        "application/atom+xml",
        "application/feed+json",
        "application/rdf+xml",
        "application/json",
        "Application/RSS+XML; x=1",
    ],
)
def test_an_alternate_of_a_feeds_type_is_a_feed(media_type: str) -> None:
    (link,) = discover(f'<LINK REL="Alternate home" TYPE="{media_type}" HREF=/f>'.encode(), PAGE)
    assert (link.url, link.media_type) == ("https://news.example/f", media_type.lower().partition(";")[0])


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<link rel=feed href=f>", ["https://news.example/start/f"]),
        ("<link rel=feed href='ftp://x.example/f'>", []),
        ("<base rel=feed href='/b/'>", []),
        ("<link href=f>", []),
        ("<link rel=feed href=''>", []),
        (f"<link rel=stylesheet type={RSS} href=f>", []),
        ("<link rel=alternate type=text/html href=f>", []),
        (f"<a rel=alternate type={RSS} href=f>", []),
        (f"<link rel=alternate type={RSS} href='javascript:x'>", []),
        (f"<link rel=alternate type={RSS} href='http://['>", []),
        (f"<base href='/b/'><link rel=alternate type={RSS} href=f>", ["https://news.example/b/f"]),
        (f"<base href='mailto:x'><link rel=alternate type={RSS} href=f>", ["https://news.example/start/f"]),
        (f"<link rel=alternate type={RSS} href='f?a=1&amp;b=2'>", ["https://news.example/start/f?a=1&b=2"]),
        (f"<link rel=alternate type={RSS} href=f><link rel=feed href=f title=T>", ["https://news.example/start/f"]),
    ],
)
def test_other_links_are_not_and_relative_ones_go_by_the_base(html: str, found: list[str]) -> None:
    assert urls(html) == found


def test_only_so_many_links_of_so_much_of_a_page_are_read() -> None:
    assert len(urls("".join(f"<link rel=feed href=f{n}>" for n in range(51)))) == 50
    link = "<link rel=feed href=f>"
    assert urls("x" * (1_000_000 - len(link)) + link) == ["https://news.example/start/f"]
    assert urls("x" * (1_000_001 - len(link)) + link) == []
