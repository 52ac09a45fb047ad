"""The publisher of an entry: by what its source names, by its link, or unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.parse import publisher_id as module
from services.parse.publisher_id import id_of_name, lacks_account, names_account, publisher_id, shown_name

GOOGLE = "https://news.google.com/rss/articles/CBMiR2h0"
WELL_KNOWN = Path(module.__file__).with_name("publishers.txt").read_text("utf-8").splitlines()
SHARED_NAMES = {"Abnormal Returns", "Medium", "Mint", "Mirror", "The Telegraph", "The Times"}
"""Names of several outlets, or of a platform: they name no publisher."""


@pytest.mark.parametrize(
    ("url", "publisher"),
    [
        ("https://www.reuters.com/technology/a", "reuters.com"),
        ("https://in.reuters.com/a", "reuters.com"),
        ("https://REUTERS.com./a", "reuters.com"),
        ("https://www.pcmag.com/a", "ziffdavis.com"),
        ("https://finance.yahoo.com/news/a", "yahoo.com"),
        ("https://www.msn.com/en-us/a", "microsoft.com"),
        ("https://www.news.example.co.uk/a", "example.co.uk"),
        ("https://zanterpost.example/a", "zanterpost.example"),
        ("https://économie.example.fr/", "example.fr"),
        ("http://127.0.0.1:8080/a", None),
        ("http://10.1.2.3/a", None),
        ("http://[::1]:8080/a", None),
        ("http://localhost/a", None),
        ("http://8.8.8.8/a", "8.8.8.8"),
        ("https://github.io/a", "github.io"),
    ],
)
def test_the_site_of_the_link_is_the_publisher_and_its_owner_stands_for_it(url: str, publisher: str | None) -> None:
    assert publisher_id(url) == publisher


@pytest.mark.parametrize(
    ("url", "publisher"),
    [
        ("https://someone.substack.com/p/a", "someone.substack.com"),
        ("https://medium.com/@Someone/a", "medium.com/@someone"),
        ("https://medium.com/feed/some-team", "medium.com/some-team"),
        ("https://github.com/Someone/tool/releases", "github.com/someone"),
        ("https://someone.github.io/a", "someone.github.io"),
        ("https://someone.blogspot.com/a", "someone.blogspot.com"),
        ("https://someone.blogspot.co.uk/a", "someone.blogspot.com"),
        ("https://www.youtube.com/@someone", "youtube.com/@someone"),
        ("https://www.youtube.com/watch?v=1", None),
        ("https://www.youtube.com/feeds/videos.xml?channel_id=1", None),
        ("https://m.facebook.com/someone/posts/1", "facebook.com/someone"),
        ("https://dev.to/", None),
        ("https://www.reddit.com/r/Programming/comments/1a/some_post/", "reddit.com/programming"),
        ("https://www.reddit.com/comments/1a", None),
        ("https://open.substack.com/pub/someone/p/a", "open.substack.com/someone"),
        ("https://groups.google.com/g/some-group/c/abc", "groups.google.com/some-group"),
        ("https://vimeo.com/123456789", None),
        ("https://vimeo.com/channels/some-channel/123456789", "vimeo.com/some-channel"),
        ("https://m.substack.com/@someone", "substack.com/@someone"),
        ("https://mastodon.social/@Someone/112233445566778899", "mastodon.social/@someone"),
        ("https://social.example.org/@Someone/112233445566778899", "social.example.org/@someone"),
        ("https://social.example.org/@someone/some-text", "example.org"),
        ("https://www.theverge.com/@someone/112233445566778899", "voxmedia.com"),
    ],
)
def test_on_a_platform_the_account_is_the_publisher(url: str, publisher: str | None) -> None:
    assert publisher_id(url) == publisher


@pytest.mark.parametrize(
    "url",
    [
        GOOGLE,
        "https://feeds.feedburner.com/~r/x/~3/y",
        "https://finnhub.io/api/news?id=1",
        "https://bit.ly/abc",
        "https://d1.cloudfront.net/a",
        "https://www.bing.com/news/apiclick.aspx?tid=1",
        "not a url",
        "https://",
        "mailto:someone@example.org",
    ],
)
def test_an_aggregator_or_a_shortener_is_no_publisher(url: str) -> None:
    assert publisher_id(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://www.google.com/url?rct=j&sa=t&url=https://www.theverge.com/a&ct=ga",
        "https://www.bing.com/news/apiclick.aspx?ref=rss&url=https%3A%2F%2Fwww.theverge.com%2Fa",
        "https://l.facebook.com/l.php?u=https%3A%2F%2Fwww.theverge.com%2Fa",
        "https://web.archive.org/web/2026/https://www.theverge.com/a",
        "https://www.google.com/amp/s/www.theverge.com/a",
        "https://www-theverge-com.cdn.ampproject.org/c/s/www.theverge.com/a",
        "https://www.google.com/url?url=https://www.google.com/amp/s/www.theverge.com/a",
    ],
)
def test_a_link_that_holds_the_address_leads_to_its_site(url: str) -> None:
    assert publisher_id(url) == "voxmedia.com"


def test_links_that_lead_to_each_other_end() -> None:
    url = "https://t.co/a"
    for _ in range(10):
        url = f"https://t.co/?url={url}"
    assert publisher_id(url) is None
    assert publisher_id("https://t.co/?" + "x=1&" * 5000 + "url=https://a.example/") is None


class TestNamed:
    def test_the_address_that_the_source_gives_comes_first(self) -> None:
        assert publisher_id(GOOGLE, "Zanter Post", "https://www.zanterpost.example") == "zanterpost.example"
        assert publisher_id("https://finance.yahoo.com/a", "Fool", "https://www.fool.com/") == "fool.com"

    def test_an_address_at_an_aggregator_says_nothing(self) -> None:
        assert (
            publisher_id("https://techcrunch.com/a", None, "http://feeds.feedburner.com/TechCrunch") == "regentlp.com"
        )

    @pytest.mark.parametrize(
        ("name", "publisher"),
        [
            ("Reuters", "reuters.com"),
            ("The Wall Street Journal", "newscorp.com"),
            ("wsj", "newscorp.com"),
            ("Wall Street Journal (blog)", "newscorp.com"),
            ("SeekingAlpha", "seekingalpha.com"),
            ("CNBC.com", "versantmedia.com"),
            ("news.example.co.uk", "example.co.uk"),
            ("Yahoo Finance UK", "yahoo.com"),
        ],
    )
    def test_by_a_well_known_name_or_a_domain(self, name: str, publisher: str) -> None:
        assert publisher_id(GOOGLE, name) == publisher
        assert publisher_id("https://local.example/a", name) == publisher

    @pytest.mark.parametrize("name", ["Zanter Post", "The Times", "Node.js", "news.google.com", "", " ", "Version 2.0"])
    def test_a_name_that_says_nothing_leaves_it_to_the_link(self, name: str) -> None:
        assert publisher_id("https://local.example/a", name) == "local.example"
        assert publisher_id(GOOGLE, name) is None

    def test_every_well_known_name_has_a_publisher_but_for_those_that_several_share(self) -> None:
        assert {name for name in {*WELL_KNOWN} | SHARED_NAMES if not id_of_name(name)} == SHARED_NAMES


class TestAggregated:
    @pytest.mark.parametrize("separator", ["-", "|", "\u2013", "\u2014", "::", "\u00b7"])
    def test_the_end_of_the_headline_names_the_publisher(self, separator: str) -> None:
        headline = f"Quorvia 2.0 - faster than ever {separator} The New York Times"
        assert publisher_id(GOOGLE, headline=headline) == "nytco.com"

    def test_other_ends_do_not(self) -> None:
        assert publisher_id(GOOGLE, headline="Quorvia grows - Zanter Post") is None
        assert publisher_id(GOOGLE, headline="Reuters") is None

    def test_the_text_of_hacker_news_has_the_address(self) -> None:
        text = "Article URL: https://www.theverge.com/a Comments URL: https://news.ycombinator.com/item?id=1"
        assert publisher_id("https://news.ycombinator.com/item?id=1", text=text) == "voxmedia.com"
        assert publisher_id("https://other.example/item?id=1", text=text) == "other.example"

    def test_a_portal_is_the_publisher_of_what_names_no_other(self) -> None:
        assert publisher_id("https://finance.yahoo.com/a", headline="Quorvia grows") == "yahoo.com"
        assert publisher_id("https://finance.yahoo.com/a", headline="Quorvia grows - Reuters") == "reuters.com"
        assert publisher_id("https://www.msn.com/a", "Reuters") == "reuters.com"
        post = "https://www.reddit.com/r/programming/comments/1a/some_post/"
        assert publisher_id(post, headline="Quorvia grows - Reuters") == "reuters.com"


CHANNEL = "https://www.youtube.com/channel/UCqY"


@pytest.mark.parametrize(
    ("url", "named", "lacking"),
    [
        (CHANNEL, True, False),
        ("https://www.youtube.com/watch?v=1", False, True),
        ("https://m.youtube.com/shorts/1", False, True),
        ("https://vimeo.com/123456789", False, False),
        ("https://someone.example/", False, False),
        ("https://someone.substack.com/", False, False),
    ],
)
def test_the_page_of_a_channel_names_the_account_that_its_videos_lack(url: str, named: bool, lacking: bool) -> None:
    assert names_account(url) is named
    assert lacks_account(url, CHANNEL) is lacking
    assert publisher_id("https://www.youtube.com/watch?v=1", None, CHANNEL) == "youtube.com/ucqy"


def test_a_publisher_is_shown_by_its_name() -> None:
    assert shown_name("ziffdavis.com") == "Ziff Davis"
    assert shown_name("reuters.com") == "Reuters"
    assert shown_name("zanterpost.example") == "zanterpost.example"


class TestTheTable:
    LINES = Path(module.__file__).with_name("publisher_owners.txt").read_text("utf-8").splitlines()

    def test_no_domain_and_no_name_belongs_to_two(self) -> None:
        owner = ""
        domains: dict[str, str] = {}
        names: dict[str, str] = {}
        for line in self.LINES:
            if not line or line[0] in "#@":
                continue
            before, colon, after = line.partition(":")
            assert colon, line
            owner = owner if line.startswith(" ") else before.split()[0]
            for each in before.split():
                assert domains.setdefault(each, owner) == owner, each
            for each in filter(None, map(str.strip, after.split(", "))):
                assert names.setdefault(module._name_key(each), owner) == owner, each

    def test_a_site_is_of_one_kind(self) -> None:
        known = module._known()
        assert set(known.sites) == {"portals", "aggregators", "account in host", "account in path"}
        assert not known.sites["aggregators"] & known.by_domain.keys()
        assert not known.sites["aggregators"] & (known.sites["account in host"] | known.sites["account in path"])
        assert known.sites["portals"] <= known.by_domain.keys() | known.sites["account in path"]
