"""Which addresses and URLs are refused."""

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from models.values import is_web_url
from services.fetch.addresses import checked_url, odd_address, refused_address, without_query

INSIDE = [
    *("0.0.0.0", "0.1.2.3", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.1"),
    *("169.254.1.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1"),
    *("192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.2.3"),
    *("240.0.0.1", "255.255.255.255", "168.63.129.16", "100.100.100.200"),
    *("::", "::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::127.0.0.1", "::8.8.8.8", "64:ff9b::a00:1"),
    *("64:ff9b:1::1", "100::1", "fc00::1", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1"),
    *("2001:db8::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:10::1", "2002:7f00:1::"),
    *("2002:808:808::", "2600::5efe:a00:1", "2600::200:5efe:7f00:1", "3fff::1", "5f00::1", "4000::1"),
    *("", "localhost", "1.2.3", "not an address"),
]


@pytest.mark.parametrize("address", INSIDE)
def test_addresses_of_no_public_host_are_refused(address: str) -> None:
    assert refused_address(address, allow_private=False)


@pytest.mark.parametrize(
    "address",
    [
        *("8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "192.0.1.1"),
        *("223.255.255.254", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e", "::ffff:8.8.8.8", "64:ff9b::808:808"),
    ],
)
def test_public_addresses_are_not(address: str) -> None:
    assert refused_address(address, allow_private=False) is None


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "::1", "fd00::1", "fe80::1%eth0", "::ffff:192.168.0.1"])
def test_private_addresses_are_connected_to_where_that_is_allowed(address: str) -> None:
    assert refused_address(address, allow_private=True) is None


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "::ffff:169.254.169.254", "2002:a9fe:a9fe::", "168.63.129.16", "224.0.0.1", "ff02::1"],
)
def test_metadata_and_multicast_are_refused_always(address: str) -> None:
    assert refused_address(address, allow_private=True)


@given(st.ip_addresses(v=4).map(str))
def test_an_address_is_judged_the_same_when_it_is_wrapped_in_ipv6(address: str) -> None:
    plain = refused_address(address, allow_private=False)
    for wrapped in (f"::ffff:{address}", f"64:ff9b::{address}"):
        assert (refused_address(wrapped, allow_private=False) is None) == (plain is None)


@pytest.mark.parametrize(
    "host", ["127.1", "2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "0", "1.2"]
)
def test_odd_notations_of_addresses_are_told_from_names(host: str) -> None:
    url = checked_url(f"http://{host}/")
    assert not isinstance(url, str)
    assert odd_address(url)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "example.com", "3.example", "1e100.net", "a.b2", "[::1]", "example.com."]
)
def test_ordinary_hosts_are_not_odd(host: str) -> None:
    url = checked_url(f"http://{host}/")
    assert not isinstance(url, str)
    assert not odd_address(url)


def test_a_url_in_a_message_has_no_secret() -> None:
    assert (
        without_query("https://user:secret@example.com:8443/feed?token=secret#secret")
        == "https://example.com:8443/feed"
    )
    assert without_query("http://[::1") == "(not a URL)"


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
        odd_address(url)


HOSTS = [
    "example.com",
    "EXAMPLE.com.",
    "m\xfcnchen.de",
    "xn--.test",
    "a_b.test",
    "127.1",
    "[::1]:8080",
    "[fe80::1]",
]
PARTS = st.text(st.sampled_from("/?[]@!$&'()*+,;=:%-._~ \"<>\\^`{|}az09AF%\xe9\u65e5") | st.characters(), max_size=20)


@given(st.sampled_from(["http", "https"]), st.sampled_from(HOSTS), PARTS, PARTS)
def test_a_url_comes_through_httpx_as_it_was_checked(scheme: str, host: str, path: str, query: str) -> None:
    url = checked_url(f"{scheme}://{host}/{path}?{query}")
    if not isinstance(url, str):
        assert URL(str(httpx.URL(str(url))), encoded=True) == url
