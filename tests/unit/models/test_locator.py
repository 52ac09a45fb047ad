"""The keys of locators and seen hashes, under which they are stored already."""

import hashlib

import pytest

from models.locator import LocatorAlias, locator_key, seen_key
from tests.documents import NOW


def hashed(text: str) -> str:
    return "loc:" + hashlib.sha256(text.encode()).hexdigest()[:32]


def test_a_product_id_is_located_within_its_provider() -> None:
    assert locator_key("tiingo", "provider_product_id:7") == hashed("tiingo|provider_product_id:7")


def test_a_url_is_located_at_every_provider() -> None:
    assert locator_key("tiingo", "url:https://x.example/1") == hashed("|url:https://x.example/1")


def test_a_seen_hash_is_stored_by_source_and_half_of_the_hash() -> None:
    assert seen_key("tiingo", "0123456789abcdef" * 4) == "seen:tiingo:" + "0123456789abcdef" * 2


@pytest.mark.parametrize(
    ("identity", "is_possible"),
    [
        ("provider_product_id:7", True),
        ("url:https://x.example/1", True),
        ("provider_product_id:", False),
        ("url:", False),
        ("other:7", False),
    ],
)
def test_an_identity_is_a_product_id_or_a_url(identity: str, is_possible: bool) -> None:
    def alias() -> LocatorAlias:
        return LocatorAlias(created_at=NOW, provider="tiingo", locator_identity=identity, source_id="article")

    if is_possible:
        assert alias().locator_identity == identity
    else:
        with pytest.raises(ValueError, match="locator_identity must be"):
            alias()
