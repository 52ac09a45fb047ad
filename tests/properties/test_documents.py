"""Whatever happens to a document, in any order: it takes only steps that its machines allow, and never gets stuck."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from models.document import DocumentProduct
from models.errors import InvalidTransition
from services.articles.writing import Asked
from services.documents import life_cycle
from tests.documents import NOW, file_object

ASKED = Asked("dedup:1", "news", "https://news.example/1", "r0", 2_000_000_000)

Event = Callable[[DocumentProduct, datetime, int], DocumentProduct]


def _after_a_try(end: Event) -> Event:
    """A try that ends so, if the document is due; with all tries used up it is given up instead."""

    def event(document: DocumentProduct, now: datetime, number: int) -> DocumentProduct:
        if not life_cycle.is_due(document, now):
            return document
        if life_cycle.is_exhausted(document):
            return life_cycle.failed(document, "worker_died", None, now)
        return end(life_cycle.claimed(document, f"run-{number}", now), now, number)

    return event


def _acquired(document: DocumentProduct, now: datetime, number: int) -> DocumentProduct:
    return life_cycle.acquired(document, file_object(source_id="dedup:1"), "https://news.example/1", None, now)


def _by_a_person(document: DocumentProduct, now: datetime, number: int) -> DocumentProduct:
    try:
        return life_cycle.tried_again(document, now)
    except InvalidTransition:
        is_held = document.validation_status == "QUARANTINED" or document.manual_review_status == "CLEARED_TERMINAL"
        assert is_held, "only a review stops a person"
        return document


EVENTS: dict[str, Event] = {
    "dies": _after_a_try(lambda document, now, number: document),
    "fails": _after_a_try(lambda document, now, number: life_cycle.failed(document, "X", None, now)),
    "waits": _after_a_try(lambda document, now, number: life_cycle.backed_off(document, now, "X", now)),
    "is withheld": _after_a_try(lambda document, now, number: life_cycle.unavailable(document, "PAYWALL", now)),
    "is valid": _after_a_try(lambda document, now, number: life_cycle.valid(_acquired(document, now, number), {}, now)),
    "is unknown": _after_a_try(
        lambda document, now, number: life_cycle.quarantined(
            _acquired(document, now, number), "OTHER", "X", "DOCUMENT:x", {}, now
        )
    ),
    "is approved": lambda document, now, number: (
        life_cycle.reviewed(document, "CLEARED_RETRY_APPROVED", ASKED.expires, now) or document
    ),
    "is dropped": lambda document, now, number: (
        life_cycle.reviewed(document, "CLEARED_TERMINAL", ASKED.expires, now) or document
    ),
    "is edited": lambda document, now, number: life_cycle.edited(document, ASKED._replace(revision=f"r{number}"), now),
    "is asked for": _by_a_person,
}


@given(st.lists(st.tuples(st.sampled_from(sorted(EVENTS)), st.integers(0, 2000)), max_size=40))
def test_a_document_stays_possible_whatever_happens_to_it(history: list[tuple[str, int]]) -> None:
    document, now = life_cycle.stub(ASKED, NOW), NOW
    for number, (name, minutes) in enumerate(history, start=1):
        now += timedelta(minutes=minutes)
        tries = document.attempt_count
        document = EVENTS[name](document, now, number)
        assert document.attempt_count - tries in (0, 1)
        assert document.attempt_count <= document.attempt_limit
        assert DocumentProduct.from_document(document.to_document()) == document
        assert (document.ttl_timestamp is None) == (document.validation_status == "QUARANTINED")
        assert (document.next_eligible_attempt_at is None) == (document.eligibility == "NONE")
        if document.eligibility == "ACQUIRE":
            due = document.next_eligible_attempt_at
            assert due is not None
            assert due <= now + max(life_cycle.LONGEST_WAIT, (now - NOW) / 4)
        else:
            assert not life_cycle.is_due(document, now + timedelta(days=400))
