"""The address that the start prints can be opened."""

import pytest

from scripts.local_host.command import opened_at


@pytest.mark.parametrize(
    ("served", "public", "found"),
    [
        ("http://127.0.0.1:7071", None, ("http://127.0.0.1:7071", None)),
        ("http://0.0.0.0:7071", None, ("http://localhost:7071", "http://news:7071")),
        ("http://[::]:7071", None, ("http://localhost:7071", "http://news:7071")),
        ("http://192.0.2.7:80", None, ("http://192.0.2.7:80", None)),
        ("http://0.0.0.0:7071", "https://news.example", ("https://news.example", None)),
    ],
)
def test_no_address_stands_for_all_addresses(served: str, public: str | None, found: tuple[str, str | None]) -> None:
    assert opened_at(served, public, "news") == found
