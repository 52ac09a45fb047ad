"""Who may use the host, and which starts are refused."""

from __future__ import annotations

import pytest

from scripts.local_host import Refused
from scripts.local_host.access import Access, Caller, access_of

KEY, OTHER = "k" * 20, "o" * 32
KEYED = access_of("0.0.0.0", None, {"FUNCTION_KEYS": f"{KEY}, {OTHER}"})
PROXIED = access_of("127.0.0.1", "https://news.example.com", {"FUNCTION_KEYS": KEY})


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_a_loopback_address_needs_no_keys(address: str) -> None:
    assert access_of(address, None, {}) == Access()


@pytest.mark.parametrize(
    ("address", "public"),
    [("0.0.0.0", None), ("::", None), ("192.0.2.1", None), ("here.example", None), ("127.0.0.1", "https://x.example")],
)
@pytest.mark.parametrize("keys", ["", " , "])
def test_without_keys_a_host_that_others_reach_is_refused_with_the_settings_that_miss(
    address: str, public: str | None, keys: str
) -> None:
    with pytest.raises(Refused, match=r"^FUNCTION_KEYS and APP_KEY must be set .*20 or more characters"):
        access_of(address, public, {"FUNCTION_KEYS": keys}, ["APP_KEY"])
    with pytest.raises(Refused, match=r"^APP_KEY must be set"):
        access_of(address, public, {"FUNCTION_KEYS": KEY}, ["APP_KEY"])


@pytest.mark.parametrize("wrong", ["k" * 19, f"{KEY},short", f"{KEY} {KEY}", "ü" * 20])
def test_a_key_that_is_short_or_cannot_be_sent_is_refused(wrong: str) -> None:
    with pytest.raises(Refused, match=r"^FUNCTION_KEYS must be 20 or more characters"):
        access_of("127.0.0.1", None, {"FUNCTION_KEYS": wrong})
    with pytest.raises(Refused, match=r"^APP_KEY must be 20 or more characters"):
        access_of("::", None, {"FUNCTION_KEYS": KEY, "APP_KEY": wrong}, ["APP_KEY"])


@pytest.mark.parametrize(
    "url",
    [
        *("news.example.com", "ftp://x.example", "https://", "https://x.example/app", "https://x.example?a"),
        *("https://u@x.example", "https://x.example:0", "https://x.example:port", "https://["),
    ],
)
def test_a_public_url_is_an_origin(url: str) -> None:
    with pytest.raises(Refused, match="--public-url must be as https://"):
        access_of("127.0.0.1", url, {"FUNCTION_KEYS": KEY})


@pytest.mark.parametrize(
    ("level", "key", "let"),
    [
        ("ANONYMOUS", None, True),
        ("FUNCTION", None, False),
        ("FUNCTION", "", False),
        ("FUNCTION", KEY[:-1], False),
        ("FUNCTION", f"{KEY}, {OTHER}", False),
        ("FUNCTION", "ü", False),
        ("FUNCTION", KEY, True),
        ("FUNCTION", OTHER, True),
        ("ADMIN", KEY, False),
    ],
)
def test_a_function_is_called_with_a_key_as_its_level_says(level: str, key: str | None, let: bool) -> None:
    assert KEYED.lets(level, key) is let
    assert Access().lets(level, key) is True


@pytest.mark.parametrize(
    ("access", "host", "origin", "served"),
    [
        (KEYED, "news.example.com:7071", None, True),
        (KEYED, "news.example.com:7071", "http://News.example.com:7071", True),
        (KEYED, "news.example.com:7071", "http://evil.example", False),
        (KEYED, "news.example.com:7071", "null", False),
        (KEYED, "news.example.com:7071", "http://[", False),
        (PROXIED, "127.0.0.1:7071", None, True),
        (PROXIED, "127.0.0.1:7071", "https://news.example.com", True),
        (PROXIED, "127.0.0.1:7071", "http://127.0.0.1:7071", False),
    ],
)
def test_with_keys_any_address_is_served_and_pages_of_this_app_only(
    access: Access, host: str, origin: str | None, served: bool
) -> None:
    assert (access.refusal(Caller("203.0.113.9", host, origin)) is None) is served


def test_without_keys_only_this_machine_is_served() -> None:
    assert Access().refusal(Caller("127.0.0.1", "localhost:7071", None)) is None
    for caller in (Caller("203.0.113.9", "localhost", None), Caller("127.0.0.1", "evil.example", None)):
        assert Access().refusal(caller) is not None


def test_a_function_sees_the_url_that_its_client_used() -> None:
    assert KEYED.origin("192.0.2.1:7071") == "http://192.0.2.1:7071"
    assert PROXIED.origin("127.0.0.1:7071") == "https://news.example.com"
