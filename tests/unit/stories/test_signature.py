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
    "before",
    [
        "",
        "We use cookies to improve your experience. ",
        "Subscribe to our newsletter! ",
        "Please enable JavaScript to read this page. ",
        "Home News Sport Business Opinion Culture Travel Obituaries Weather Classifieds Contact Us Jobs ",
        "Home News Sport Business Opinion Culture Travel Obituaries Weather Newsletters Contact Us Jobs ",
    ],
)
def test_notices_and_menus_before_the_prose_are_left_out(before: str) -> None:
    assert lead_of(before + PROSE, ()) == WORDS


@pytest.mark.parametrize(
    "text",
    [
        "We use cookies. By clicking you accept our cookie policy.",
        "To continue reading, subscribe now. Already a subscriber? Sign in here.",
        "Home News Sport Business Opinion Culture Travel Obituaries Weather Classifieds Contact Us Jobs Cars Homes",
        "Bitte aktivieren Sie JavaScript. Mit einem Abonnement lesen Sie weiter.",
        "Read more",
        "Article URL: https://one.example/a Comments URL: https://news.example/item?id=1 Points: 7 # Comments: 3",
        "",
    ],
)
def test_a_text_that_is_only_a_notice_or_a_menu_has_no_lead(text: str) -> None:
    assert lead_of(text, ()) == []


def test_the_headline_before_the_lead_is_left_out() -> None:
    assert lead_of(f"Council closes old bridge {PROSE}", ("council", "closes", "old", "bridge")) == WORDS


def test_a_lead_has_a_limited_number_of_words() -> None:
    assert len(lead_of(PROSE * 50, ())) == MAX_LEAD_WORDS == 100
