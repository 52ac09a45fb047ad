"""URLs of one page are equal once normalized, URLs of different pages are not; links of feeds are resolved."""

from __future__ import annotations

import pytest

from services.parse.urls import element_link, normalize_url, resolved, without_session

BASE = "https://feeds.example/news/feed.xml"


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("http://example.com/A/b", "https://EXAMPLE.com:443/A/b/"),
        ("https://example.com", "https://example.com./#top"),
        ("https://example.com/%7euser/%c3%a9", "https://example.com/~user/é"),
        ("https://bücher.example/a", "https://xn--bcher-kva.example/a"),
        ("https://user:secret@example.com/", "https://example.com/"),
        ("https://example.com/a;jsessionid=0A1B2C?b=1", "https://example.com/a?b=1"),
        ("https://example.com/a/;JSESSIONID=0A.node1/", "https://example.com/a"),
        ("https://example.com/(S(lit3py55t21z5v55vlm25s55))/a.aspx", "https://example.com/a.aspx"),
        ("https://example.com/a/(S(lit3py55t21z5v55vlm25s55))", "https://example.com/a"),
        ("https://example.com/a?PHPSESSID=abc&JSessionID=1&id=1", "https://example.com/a?id=1"),
        ("https://example.com/a?ASPSESSIONIDQQCDABCD=X&CFID=1&CFTOKEN=2", "https://example.com/a"),
        ("https://example.com/a?sid=0123456789abcdef0123456789ABCDEF", "https://example.com/a"),
        ("https://example.com/a?_=1700000000000&rnd=0.123456&cb=123456", "https://example.com/a"),
        ("https://example.com/a?id=1;sessionid=2", "https://example.com/a?id=1"),
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
        ("https://example.com/a?sid=123", "https://example.com/a"),
        ("https://example.com/a?sid=24/01/02", "https://example.com/a?sid=24/01/03"),
        ("https://example.com/a?s=0123456789abcdef0123456789abcde", "https://example.com/a"),
        ("https://example.com/a?_=12345", "https://example.com/a"),
        ("https://example.com/a?cb=abcdef", "https://example.com/a"),
        ("https://example.com/a;v=1", "https://example.com/a;v=2"),
        ("https://example.com/(S(short))/a", "https://example.com/a"),
        ("https://example.com/x(S(lit3py55t21z5v55vlm25s55))/a", "https://example.com/xa"),
    ],
)
def test_other_pages_stay_others(url: str, other: str) -> None:
    assert normalize_url(url) != normalize_url(other)


@pytest.mark.parametrize(
    ("identity", "plain"),
    [
        ("https://example.com/a;jsessionid=0A!1?b=1#c", "https://example.com/a?b=1#c"),
        ("https://example.com/a?PHPSESSID=1", "https://example.com/a"),
        ("https://example.com/a?b=1&sid=0123456789abcdef0123456789abcdef&c=2", "https://example.com/a?b=1&c=2"),
        ("https://Example.com/a/?utm_source=x&b=1", "https://Example.com/a/?utm_source=x&b=1"),
        ("tag:example.com,2026:a;jsessionid=1", "tag:example.com,2026:a;jsessionid=1"),
        ("https://example.com/a?sid=12", "https://example.com/a?sid=12"),
    ],
)
def test_an_id_loses_the_id_of_a_session_and_nothing_else(identity: str, plain: str) -> None:
    assert without_session(identity) == plain


@pytest.mark.parametrize(
    "url", ["", "no url", "https://", "https:///path", "http://[::1", "https://x:99999/", "https://a b/"]
)
def test_what_has_no_host_is_no_identity(url: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        normalize_url(url)


@pytest.mark.parametrize(
    ("url", "normalized"),
    [
        ("http://example.com/a/", "https://example.com/a"),
        ("https://example.com:8080/a", "https://example.com:8080/a"),
        ("https://[2001:DB8::1]:443/", "https://[2001:db8::1]/"),
        ("https://example.com/%41%2f%e9%zz", "https://example.com/A%2F%E9%25zz"),
        ("https://example.com/a b\u00fc", "https://example.com/a%20b%C3%BC"),
        ("https://example.com/a/./b/../../c/..", "https://example.com/"),
        ("https://example.com/?b=2&a=1&a=0&&", "https://example.com/?a=1&a=0&b=2"),
        ("https://example.com/?q=a+b&x=%2B", "https://example.com/?q=a+b&x=%2B"),
        ("https://example.com/?REF=RSS&ref=home&via=feed&utm=1", "https://example.com/?ref=home&utm=1"),
        ("https://example.com/#!/a b", "https://example.com/#!/a%20b"),
        ("https://ex_ample.example/", "https://ex_ample.example/"),
        ("https://example.com/a%2db%2ec%5fd%7ee", "https://example.com/a-b.c_d~e"),
        ("https://example.com/aX/?b=1", "https://example.com/aX?b=1"),
        ("https://example.com/\ud800%20\ud800", "https://example.com/%3F%20%3F"),
    ],
)
def test_a_normalized_url_has_one_spelling(url: str, normalized: str) -> None:
    assert normalize_url(url) == normalized
    assert normalize_url(normalized) == normalized


TRACKING = """
utm_source UTM_ID at_medium at_campaign at_link_x at_format at_ptr_x at_bbc_team at_custom1 mc_cid mc_eid pk_x
mtm_x matomo_x piwik_x hsa_x _hsenc _hsmi __hssc __hstc __hsfp hsctatracking vero_id vero_conv oly_enc_id
oly_anon_id fbclid fb_x gclid gclsrc dclid gbraid wbraid msclkid yclid ymclid twclid ttclid li_fat_id igsh igshid
scid s_cid ncid ocid cmpid icid mkt_tok mkwid ftag xtor smid smtyp wt_mc wt.mc_id wt.rss_x _ga _gl guce_x
guccounter spm _openstat trk trkcampaign recip_id mbid cndid sr_share"""


def test_parameters_for_tracking_are_removed() -> None:
    url = "https://example.com/?a=1"
    assert [name for name in TRACKING.split() if normalize_url(f"{url}&{name}=x") != url] == []


@pytest.mark.parametrize(
    "name", ["ref", "source", "src", "from", "via", "partner", "mod", "feed", "output", "format", "rss"]
)
@pytest.mark.parametrize("value", ["rss", "rss20", "rss2", "feed", "rssfeed", "atom", "rss_feed"])
def test_parameters_that_only_say_that_a_feed_was_followed_are_removed(name: str, value: str) -> None:
    assert normalize_url(f"https://example.com/?{name}={value}") == "https://example.com/"


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("/a", "https://feeds.example/a"),
        ("a.html", "https://feeds.example/news/a.html"),
        ("//cdn.example/x", "https://cdn.example/x"),
        ("https://x.example/a?b=1", "https://x.example/a?b=1"),
        ("https:////x.example/a", "https://x.example/a"),
        ("https://x.example/a/../b", "https://x.example/a/../b"),
        ("tag:x.example,2026:1", "tag:x.example,2026:1"),
        ("http://[", ""),
        ("", BASE),
    ],
)
def test_a_link_is_resolved_against_the_base(link: str, url: str) -> None:
    assert resolved(BASE, link) == url


@pytest.mark.parametrize(
    ("text", "link"),
    [
        (None, ""),
        (" /a ", "https://feeds.example/a"),
        ("https://x.example/?a=1&b;=2", "https://x.example/?a=1&b=2"),
        ("https://x.example/?a=1&amp;b=2", "https://x.example/?a=1&b=2"),
        ("https://x.example/?a=1&b=2", "https://x.example/?a=1&b=2"),
        ("https://x.example/;a", "https://x.example/;a"),
        ("https://x.example/caf\u00c3\u00a9", "https://x.example/caf\u00e9"),
    ],
)
def test_the_link_in_an_elements_text_is_repaired(text: str | None, link: str) -> None:
    assert element_link(BASE, text) == link
