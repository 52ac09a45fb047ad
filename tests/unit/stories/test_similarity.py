"""Which articles report one event."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from services.stories.signature import Signature, signature_of
from services.stories.similarity import COPY, NEAREST, compare

START = datetime(2026, 3, 2, 8, tzinfo=UTC)
ACME = "Acme agrees to buy Quuxsoft for $2.4 billion"
LEAD = "Acme will pay $2.4 billion in cash for Quuxsoft, the maker of the Foobar editor, both said on Monday."


def signature(headline: str, text: str = "", hours: float = 0, publisher: str = "") -> Signature:
    return signature_of(headline, text, START + timedelta(hours=hours), "en", publisher)


def similarity(one: Signature, other: Signature) -> float:
    return compare(one, other).score


def score(one: str, other: str, hours: float = 0) -> float:
    return similarity(signature(one), signature(other, hours=hours))


SAME = [
    ("Acme agrees to buy Quuxsoft for $2.4 billion", "Quuxsoft to be acquired by Acme in $2.4bn deal"),
    ("Foobar Cloud outage takes thousands of sites offline", "Thousands of sites down as Foobar Cloud suffers outage"),
    ("Regulator sues Quuxsoft over Foobar app store fees", "Quuxsoft sued by regulator over fees in Foobar app store"),
    ("Acme recalls 40,000 printers over battery fires", "Battery fires lead Acme to recall 40,000 printers"),
    # numbers of one event: other spellings, other words
    ("Acme recalls 40,000 printers over battery fires", "Acme recalls 40000 printers over battery fires"),
    ("Quux Cloud outage lasts five hours on Monday", "Quux Cloud outage lasts 5 hours on Monday"),
    ("Acme to buy Quuxsoft for $3bn", "Acme to buy Quuxsoft for $3 billion"),
    ("Acme agrees to buy Quuxsoft for $3.25 billion", "Acme buys Quuxsoft for $3 billion"),
]

OTHER = [
    # other versions, products, quarters, parts, dates
    ("Foobar 1.2 released with faster builds", "Foobar 1.3 released with faster builds"),
    ("Acme unveils Quux 15 phone with new camera", "Acme unveils Quux 16 phone with new camera"),
    ("Acme posts record Q1 profit on printer sales", "Acme posts record Q2 profit on printer sales"),
    ("Building a database in Quux, part 1: the parser", "Building a database in Quux, part 2: the parser"),
    ("Foobar nightly build notes for March 2", "Foobar nightly build notes for March 3"),
    ("Foobar weekly, issue 12", "Foobar weekly, issue 13"),
    # the same words of other numbers
    ("Quuxgrid makes its team plan free for up to 6 seats", "Quuxgrid makes its team plan free for up to 29 seats"),
    ("Quux Cloud outage lasts five hours on Monday", "Quux Cloud outage lasts six hours on Monday"),
    ("Acme raises prices by 6% and users are not happy", "Acme raises prices by 12% and users are not happy"),
    # two products of one company
    ("Acme launches Quux laptop for developers", "Acme launches Foobar headphones for runners"),
    ("Acme patches flaw in Quux mail server", "Acme opens office in Lisbon for Foobar team"),
    # other companies in one event of the calendar
    ("Acme names Foobar veteran as finance chief", "Quuxsoft names bank veteran as finance chief"),
    # one sentence about other places and things, of which none looks like a name
    ("Alder city council approves new bridge", "Birch city council approves new tram"),
    ("Maple school board delays vote on library", "Cedar school board delays vote on gym"),
    ("Police investigate theft at Oak Street pharmacy", "Police investigate theft at Elm Street bakery"),
    # digests
    ("Morning briefing: Acme buys Quuxsoft", "Acme buys Quuxsoft"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_independent_headlines_about_one_event_are_similar(one: str, other: str) -> None:
    assert score(one, other) == score(other, one) >= NEAREST


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_headlines_about_other_events_are_not(one: str, other: str) -> None:
    assert score(one, other) == score(other, one) < NEAREST


def test_reports_of_markets_are_similar_on_the_same_day_in_the_same_direction() -> None:
    one, other = "Stocks fall as oil prices surge", "Wall Street stocks slip as oil prices jump"
    assert score(one, other, hours=12) > 0
    assert score(one, other, hours=12.1) == 0
    assert score(one, "Wall Street stocks climb as oil prices jump") == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Foobar Corp to present at Barclays Technology Conference",
            "Quux Corp to present at Barclays Technology Conference",
        ),
        ("How to watch Foobar vs Quux live stream", "How to watch Foobar vs Zork live stream"),
        ("ソニー、新型カメラを発表", "ニコン、新型カメラを発表"),
    ],
)
def test_headlines_alike_in_which_each_has_a_name_of_its_own_are_a_template(one: str, other: str) -> None:
    assert score(one, other) == 0
    both = "Foobar and Quux, and their smaller rival Zork, ソニーとニコン、 were named in a report."
    assert similarity(signature(one, both), signature(other, both)) > 0


def test_usual_words_of_headlines_alone_make_no_story() -> None:
    assert score("Wordling hints and answers for today", "Wordling hints and answers for today") == 0
    assert score("Wordling of Foobar: answers for today", "Wordling of Foobar: answers for today") > 0


def test_a_standing_text_makes_no_story() -> None:
    text = (
        "Foobar Tonight is the flagship newscast of Quux Network, anchored by Zork Abel and Mira Bland. It airs at half"
        " past six from Monday to Friday, with repeats at midnight, and clips of all parts are put online."
    )
    one, other = "Plaza blast wounds seven | 7 at Foobar Tonight", "Baker passes exam | 7 at Foobar Tonight"
    assert similarity(signature(one, text), signature(other, text)) == 0


def test_a_similarity_says_what_was_compared() -> None:
    found = compare(signature(SAME[0][0]), signature(SAME[0][1], hours=2))
    reason = found.reason("dedup:a", {"opening_article": "dedup:b"})
    fields = reason.fields
    assert (reason.rule, reason.with_article, fields["opening_article"]) == ("same_event", "dedup:a", "dedup:b")
    assert (found.is_copy, found.score < COPY) == (False, True)
    assert fields["hours"] == 2
    assert {"acme", "quuxsoft", "2.4b"} <= set(str(fields["terms"]).split())


LISTED = (
    "Acme recalled the Quux printer on Monday after nine batteries caught fire, the maker of office machines said. The"
    " regulator had warned owners of the machine last week, and asked shops to take it from their shelves at once."
)
"""The text that a site which lists articles of others shows for several of them."""
ASIDE = "Why nobody trusts the Quux printer, and office ink is not to blame for it"
ABOUT_IT = "Acme recalls Quux printer after nine batteries caught fire"


class TestOneLeadUnderTwoHeadlines:
    def of_one_publisher(self, one: str, other: str, lead: str = LISTED) -> float:
        first, second = (signature(each, lead, publisher="lister.example") for each in (one, other))
        return similarity(first, second)

    def test_what_the_lead_is_not_about_is_apart(self) -> None:
        assert self.of_one_publisher(ABOUT_IT, ASIDE) == 0.0
        assert similarity(*(signature(each, LISTED) for each in (ABOUT_IT, ASIDE))) == 0.0

    def test_of_two_publishers_the_lead_counts(self) -> None:
        one = signature(ABOUT_IT, LISTED, publisher="a.example")
        assert similarity(one, signature(ASIDE, LISTED, publisher="b.example")) >= NEAREST

    def test_like_headlines_and_leads_about_both_count(self) -> None:
        assert self.of_one_publisher(ABOUT_IT, "Nine battery fires: Acme recalls its Quux printer") >= NEAREST
        assert self.of_one_publisher(ABOUT_IT, "Regulator warned owners of the Acme machine last week") >= NEAREST

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Open thread", "Open thread"),
            ("Zanter Hour livestream: March 2, 2026", "Quorvia Talk livestream: March 2, 2026"),
        ],
    )
    def test_usual_words_and_dates_do_not_count(self, one: str, other: str) -> None:
        lead = "News and talk from Zanter Hour and Quorvia Talk every day. Subscribe and follow our reports."
        assert self.of_one_publisher(one, other, lead) == 0.0
