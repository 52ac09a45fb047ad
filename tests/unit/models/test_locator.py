"""The keys of locators and seen hashes, under which they are stored already."""

import hashlib

from models.locator import locator_key, seen_key


def hashed(text: str) -> str:
    return "loc:" + hashlib.sha256(text.encode()).hexdigest()[:32]


def test_a_product_id_is_located_within_its_provider() -> None:
    assert locator_key("tiingo", "provider_product_id:7") == hashed("tiingo|provider_product_id:7")


def test_a_url_is_located_at_every_provider() -> None:
    assert locator_key("tiingo", "url:https://x.example/1") == hashed("|url:https://x.example/1")


def test_a_seen_hash_is_stored_by_source_and_half_of_the_hash() -> None:
    assert seen_key("tiingo", "0123456789abcdef" * 4) == "seen:tiingo:" + "0123456789abcdef" * 2
