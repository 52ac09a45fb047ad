"""Which addresses and URLs are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from models.values import is_web_url
from services.fetch.addresses import (
    LONGEST_URL,
    checked_url,
    is_loopback,
    is_odd_address,
    refused_address,
    same_origin,
    without_query,
)
from services.setting import AddressRange

SETTING = "the setting ALLOW_PRIVATE_ADDRESSES would allow it"
INSIDE = [
    *("0.0.0.0", "0.1.2.3", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.1"),
    *("169.254.1.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1"),
    *("192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.2.3"),
    *("240.0.0.1", "255.255.255.255", "168.63.129.16", "100.100.100.200"),
    *("::", "::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::127.0.0.1", "::8.8.8.8", "64:ff9b::a00:1"),
    *("64:ff9b:1::1", "100::1", "fc00::1", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1"),
    *("2001:db8::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:10::1", "2002:7f00:1::"),
    *("2002:808:808::", "2600::5efe:808:808", "2600::200:5efe:7f00:1", "3fff::1", "5f00::1", "4000::1"),
    *("", "localhost", "1.2.3", "not an address"),
]


@pytest.mark.parametrize("address", INSIDE)
def test_addresses_of_no_public_host_are_refused(address: str) -> None:
    assert refused_address(address, False, 80)


@pytest.mark.parametrize(
    "address",
    [
        *("8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "192.0.1.1"),
        *("223.255.255.254", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e", "::ffff:8.8.8.8", "64:ff9b::808:808"),
        *("2600::1:5efe:808:808", "2600::5eff:808:808"),
    ],
)
def test_public_addresses_are_not(address: str) -> None:
    assert refused_address(address, False, 80) is None


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "::1", "fd00::1", "::ffff:192.168.0.1"])
def test_private_addresses_are_connected_to_where_that_is_allowed(address: str) -> None:
    assert refused_address(address, True, 80) is None


@pytest.mark.parametrize(
    "address",
    [
        *("169.254.169.254", "169.254.170.2", "169.254.0.1", "169.254.255.255", "fe80::1", "fe80::1%eth0", "febf::1"),
        *("168.63.129.16", "100.100.100.200", "192.0.0.192", "224.0.0.1", "255.255.255.255", "ff02::1"),
        *("fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:42::42"),
        *("::ffff:169.254.170.2", "::ffff:a9fe:a9fe", "::169.254.170.2", "::ffff:0:169.254.169.254"),
        *("64:ff9b::169.254.170.2", "2002:a9fe:aa02::", "2001:0:4136:e378:8000:63bf:5601:55fd", "fd00::5efe:a9fe:aa02"),
        *(
            "64:ff9b:1::169.254.170.2",
            "64:ff9b:1:a9fe:a9:fe00::",
            "64:ff9b:1:a9:fe:a9fe::",
            "64:ff9b:1:0:a9:fea9:fe00:0",
        ),
        *("::ffff:100.100.100.200", "::ffff:168.63.129.16"),
    ],
)
def test_link_local_metadata_and_multicast_are_refused_always(address: str) -> None:
    for allow_private in (False, True):
        reason = refused_address(address, allow_private, 80)
        assert reason == "link-local, metadata, broadcast or multicast address", "and no setting is named"


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("localhost", "not an address"),
        ("169.254.169.254", "link-local, metadata, broadcast or multicast address"),
        ("10.0.0.1", f"private, loopback or reserved address; {SETTING}"),
        ("fd00::1%eth0", f"private, loopback or reserved address; {SETTING}"),
        ("::ffff:10.0.0.1", f"private address within another; {SETTING}"),
        ("2002:808:808::", f"private address within another; {SETTING}"),
    ],
)
def test_a_refused_address_has_a_reason(address: str, reason: str) -> None:
    assert refused_address(address, False, 80) == reason


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("http://[::1", "not a URL"),
        ("http://x.example:port/", "not a URL"),
        ("https://x.example/" + "a" * (LONGEST_URL - 17), "longer than 4096 characters"),
        ("https://x.example/a\tb", "contains spaces or control characters"),
        ("https://x.example/a b", "contains spaces or control characters"),
        ("ftp://x.example/", "must begin with http:// or https://"),
        ("x.example", "must begin with http:// or https://"),
        ("https:///path", "has no host"),
        ("http://[fe80::1%25eth0]/", "has an impossible host"),
        ("https://user@x.example/", "must not contain a user name or password"),
        ("https://:secret@x.example/", "must not contain a user name or password"),
        ("https://x.example:0/", "port must be 1 or more"),
    ],
)
def test_a_url_that_cannot_be_fetched_has_a_reason(text: str, fault: str) -> None:
    assert checked_url(text) == fault


@pytest.mark.parametrize(
    ("text", "url"),
    [
        (" https://x.example/a#b ", "https://x.example/a"),
        ("http://x.example:1/", "http://x.example:1/"),
        ("https://x.example/" + "a" * (LONGEST_URL - 18), "https://x.example/" + "a" * (LONGEST_URL - 18)),
    ],
)
def test_a_url_is_fetched_without_its_fragment(text: str, url: str) -> None:
    assert str(checked_url(text)) == url


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.8.9.10", True),
        ("::1", True),
        ("127.example", False),
        ("x.127.", False),
        ("10.0.0.1", False),
        ("2606::1", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_a_loopback_host_is_localhost_or_a_loopback_address(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_an_origin_is_scheme_host_and_port() -> None:
    url = URL("https://x.example/a?b")
    assert same_origin(url, URL("https://x.example/c"))
    assert same_origin(url, URL("https://x.example:443/"))
    assert same_origin(URL("http://x.example:80/"), URL("http://x.example/"))
    for other in ("http://x.example/a", "https://y.example/a", "https://x.example:444/a", "http://x.example:443/a"):
        assert same_origin(url, URL(other)) is False


@given(st.ip_addresses(v=4).map(str))
def test_an_address_is_judged_the_same_when_it_is_wrapped_in_ipv6(address: str) -> None:
    plain = refused_address(address, False, 80)
    for wrapped in (f"::ffff:{address}", f"64:ff9b::{address}"):
        assert (refused_address(wrapped, False, 80) is None) == (plain is None)


@pytest.mark.parametrize(
    "host", ["127.1", "2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "0", "1.2"]
)
def test_odd_notations_of_addresses_are_distinguished_from_names(host: str) -> None:
    assert is_odd_address(host)
    assert not is_odd_address("news.example")
    assert not is_odd_address("127.0.0.1")


def test_a_url_in_a_message_has_no_secret() -> None:
    assert (
        without_query("https://user:secret@example.com:8443/feed?token=secret#secret")
        == "https://example.com:8443/feed"
    )
    assert without_query("http://[::1") == "(not a URL)"
    assert without_query("https://x.example/" + "a" * 300) == "https://x.example/" + "a" * 182


@pytest.mark.parametrize("text", ["http://][@/", "http://[fe80::1%25eth0]/", "http://a\xa0b/"])
def test_a_host_that_cannot_be_is_a_reason(text: str) -> None:
    assert isinstance(checked_url(text), str)


# Brackets in the wrong places are what parsers of URLs stumble over.
ODD = st.text(st.sampled_from("[]@:/%.?#1a\xa0\u200b") | st.characters(), max_size=20)


@given((ODD | st.text(max_size=60)).map(lambda rest: f"http://{rest}") | st.text(max_size=60))
def test_any_text_is_a_url_or_a_reason(text: str) -> None:
    url = checked_url(text)
    without_query(text)
    if not isinstance(url, str):
        assert url.scheme in ("http", "https")
        assert url.raw_host
        assert is_web_url(str(url))
        is_odd_address(url.raw_host or "")


@pytest.mark.parametrize(
    ("allowed", "address", "port", "expected"),
    [
        (True, "10.0.0.1", 80, True),
        (False, "10.0.0.1", 80, False),
        ((), "127.0.0.1", 7072, False),
        (("127.0.0.1:7072",), "127.0.0.1", 7072, True),
        (("127.0.0.1:7072",), "127.0.0.1", 7073, False),
        (("127.0.0.1:7072",), "127.0.0.2", 7072, False),
        (("127.0.0.1:7072",), "::ffff:127.0.0.1", 7072, False),
        (("127.0.0.1:7072", "10.0.0.0/8"), "10.255.0.1", 1, True),
        (("10.0.0.0/8",), "172.16.0.1", 80, False),
        (("127.0.0.1",), "127.0.0.1", 9, True),
        (("[::1]:80", "fd00::/8"), "::1", 80, True),
        (("[::1]:80", "fd00::/8"), "::1", 81, False),
        (("[::1]:80", "fd00::/8"), "fd12::1", 443, True),
        (("10.0.0.0/8",), "localhost", 80, False),
    ],
)
def test_private_addresses_may_be_limited_to_some_and_to_a_port(
    allowed: bool | tuple[str, ...], address: str, port: int, expected: bool
) -> None:
    private = allowed if isinstance(allowed, bool) else tuple(map(AddressRange.of, allowed))
    assert (refused_address(address, private, port) is None) is expected
