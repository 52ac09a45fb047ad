"""What is kept of an article to compare it with others."""

from datetime import UTC, datetime

import orjson

from services.stories.signature import Signature, signature_of

NOW = datetime(2026, 2, 21, 12, 0, tzinfo=UTC)
TEXT = (
    "Acme Corp said on Friday that it will buy the chip designer Initech for three billion dollars in cash and shares, "
    "its largest purchase so far. The boards of both companies have agreed, and the deal should close by summer."
)


def test_a_signature_is_the_same_after_it_was_stored() -> None:
    signature = signature_of("Acme buys Initech for $3 billion", TEXT, NOW, "en", "acme.example")

    assert Signature.from_document(orjson.loads(orjson.dumps(signature.document()))) == signature


def test_a_stored_signature_stays_below_a_kilobyte() -> None:
    signature = signature_of("Acme buys Initech for $3 billion in cash and shares, sources say", TEXT * 9, NOW, "en")

    assert len(orjson.dumps(signature.document())) <= 1024
