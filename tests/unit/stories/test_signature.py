"""What is kept of an article to compare it with others; and the first words of a text that are the article's own."""

from datetime import UTC, datetime

import orjson
import pytest

from services.stories.signature import MAX_LEAD_WORDS, Signature, lead_of, signature_of

NOW = datetime(2026, 2, 21, 12, 0, tzinfo=UTC)
TEXT = (
    "Acme Corp said on Friday that it will buy the chip designer Initech for three billion dollars in cash and shares, "
    "its largest purchase so far. The boards of both companies have agreed, and the deal should close by summer."
)


def test_a_signature_is_the_same_after_it_was_stored() -> None:
    signature = signature_of("Acme buys Initech for $3 billion", TEXT, NOW, "acme.example")

    assert Signature.from_document(orjson.loads(orjson.dumps(signature.document()))) == signature


def test_a_stored_signature_stays_below_a_kilobyte() -> None:
    signature = signature_of("Acme buys Initech for $3 billion in cash and shares, sources say", TEXT * 9, NOW)

    assert len(orjson.dumps(signature.document())) <= 1024


PROSE = "The town council voted late on Monday to close the old bridge for two years, because the pillars are weak."
WORDS = PROSE.lower().replace(",", "").replace(".", "").replace("two", "2").split()


@pytest.mark.parametrize(
    "text",
    [
        "Article URL: https://one.example/a Comments URL: https://news.example/item?id=1 Points: 7 # Comments: 3",
        "Subscribe to our weekly newsletter and get all the news of the town!",
        "Read more",
        "",
    ],
)
def test_a_text_without_prose_has_no_lead(text: str) -> None:
    assert lead_of(text, ()) == []
    assert lead_of(f"{PROSE} {text}", ()) == WORDS


def test_the_headline_before_the_lead_is_left_out() -> None:
    assert lead_of(f"Council closes old bridge {PROSE}", ("council", "closes", "old", "bridge")) == WORDS


def test_a_lead_has_a_limited_number_of_words() -> None:
    assert len(lead_of(PROSE * 50, ())) == MAX_LEAD_WORDS == 100
