"""Which articles report one event."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from services.stories.signature import Signature, signature_of
from services.stories.similarity import COPY, NEAREST, compare
from tests.unit.stories.headlines import PAIRS

START = datetime(2026, 3, 2, 8, tzinfo=UTC)
ACME = "Acme agrees to buy Quuxsoft for $2.4 billion"
LEAD = "Acme will pay $2.4 billion in cash for Quuxsoft, the maker of the Foobar editor, both said on Monday."


def signature(headline: str, text: str = "", hours: float = 0, publisher: str = "") -> Signature:
    return signature_of(headline, text, START + timedelta(hours=hours), publisher)


def similarity(one: Signature, other: Signature) -> float:
    return compare(one, other).score


def score(one: str, other: str, hours: float = 0) -> float:
    return similarity(signature(one), signature(other, hours=hours))


@pytest.mark.parametrize(("one", "other"), PAIRS["one event"])
def test_independent_headlines_about_one_event_are_similar(one: str, other: str) -> None:
    assert score(one, other) == score(other, one) >= NEAREST


@pytest.mark.parametrize(("one", "other"), PAIRS["two events"])
def test_headlines_about_other_events_are_not(one: str, other: str) -> None:
    assert score(one, other) == score(other, one) < NEAREST


def test_reports_of_markets_are_similar_on_the_same_day_in_the_same_direction() -> None:
    one, other = "Stocks fall as oil prices surge", "Wall Street stocks slip as oil prices jump"
    assert score(one, other, hours=12) > 0
    assert score(one, other, hours=12.1) == 0
    assert score(one, "Wall Street stocks climb as oil prices jump") == 0


@pytest.mark.parametrize(("one", "other"), PAIRS["template"])
def test_headlines_alike_in_which_each_has_a_name_of_its_own_are_a_template(one: str, other: str) -> None:
    assert score(one, other) == 0
    both = "Foobar and Quux, and their smaller rival Zork, ソニーとニコン、 were named in a report."
    assert similarity(signature(one, both), signature(other, both)) > 0


def test_usual_words_of_headlines_alone_make_no_story() -> None:
    assert score("Wordling hints and answers for today", "Wordling hints and answers for today") == 0
    assert score("Wordling of Foobar: answers for today", "Wordling of Foobar: answers for today") > 0


def test_a_similarity_says_what_was_compared() -> None:
    found = compare(*(signature(each, hours=2 * at) for at, each in enumerate(PAIRS["one event"][0])))
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
