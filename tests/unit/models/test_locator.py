"""The keys of locators, under which they are stored already."""

import hashlib

from models.locator import locator_key


def hashed(text: str) -> str:
    return "loc:" + hashlib.sha256(text.encode()).hexdigest()[:32]


def test_a_product_id_is_located_within_its_provider() -> None:
    assert locator_key("tiingo", "provider_product_id:7") == hashed("tiingo|provider_product_id:7")


def test_a_url_is_located_at_every_provider() -> None:
    assert locator_key("tiingo", "url:https://x.example/1") == hashed("|url:https://x.example/1")
