"""Every step of a document: what it allows, what it counts, and when the document is tried again."""

from datetime import timedelta
from typing import Any

import pytest

from models.document import DocumentProduct, OpenAttempt
from models.errors import InvalidTransition
from services.articles.writing import Asked
from services.documents import life_cycle
from tests.documents import NOW, file_object

URL = "https://news.example/1?utm_source=x"
ASKED = Asked("dedup:1", "news", URL, "r1", 2_000_000_000, "en")
STUB = life_cycle.stub(ASKED, NOW)
LATER = NOW + timedelta(hours=1)


def claimed(document: DocumentProduct = STUB) -> DocumentProduct:
    return life_cycle.claimed(document, "run-1", NOW)


def acquired() -> DocumentProduct:
    return life_cycle.acquired(claimed(), file_object(source_id="dedup:1"), "https://m.news.example/1", '"e"', NOW)


def quarantined() -> DocumentProduct:
    return life_cycle.quarantined(acquired(), "OTHER", "ODD", "DOCUMENT:x", {}, NOW)


def test_a_claim_counts_a_try_and_keeps_others_away_for_ten_minutes() -> None:
    begun = claimed()
    assert begun.attempt_count == 1
    assert begun.last_attempt_at == NOW
    assert begun.open_attempt == OpenAttempt(run_id="run-1", attempt_no=1, started_at=NOW)
    assert not life_cycle.is_due(begun, NOW + timedelta(minutes=10) - timedelta(seconds=1))
    assert life_cycle.is_due(begun, NOW + timedelta(minutes=10))


def test_a_try_that_never_ended_is_recorded_as_that_of_a_dead_worker() -> None:
    record = life_cycle.interrupted(claimed(), LATER)
    assert record is not None
    assert (record.run_id, record.attempt_no, record.status) == ("run-1", 1, "FAILED")
    assert record.error_type == "worker_died"
    assert record.subject == "dedup:1"
    assert life_cycle.interrupted(STUB, LATER) is None


@pytest.mark.parametrize(("tries", "minutes"), [(1, 15), (2, 60), (3, 240), (4, 960), (5, 1440), (6, 1440), (0, 15)])
def test_each_wait_is_four_times_as_long_up_to_a_day(tries: int, minutes: int) -> None:
    assert life_cycle.backoff(tries) == timedelta(minutes=minutes)


def test_a_failed_try_waits_as_long_as_the_server_asks_but_a_day_at_most() -> None:
    asked = life_cycle.failed(claimed(), "TIMEOUT", timedelta(hours=2), NOW)
    assert asked.next_eligible_attempt_at == NOW + timedelta(hours=2)
    assert (asked.acquisition_status, asked.last_error_fingerprint) == ("FAILED_RETRYABLE", "TIMEOUT")
    assert asked.open_attempt is None
    assert asked.eligibility == "ACQUIRE"
    forever = life_cycle.failed(claimed(), "TIMEOUT", timedelta(days=400), NOW)
    assert forever.next_eligible_attempt_at == NOW + timedelta(hours=24)
    assert life_cycle.failed(claimed(), "X", None, NOW).next_eligible_attempt_at == NOW + timedelta(minutes=15)


def test_no_request_is_no_attempt_and_the_waits_grow_with_the_age() -> None:
    after = life_cycle.backed_off(claimed(), NOW + timedelta(minutes=1), "BREAKER_OPEN", NOW)
    assert (after.acquisition_status, after.attempt_count) == ("SKIPPED_BACKOFF", 0)
    assert after.next_eligible_attempt_at == NOW + timedelta(minutes=1)
    assert after.eligibility == "ACQUIRE"
    day = NOW + timedelta(days=1)
    assert life_cycle.backed_off(STUB, day, "X", day).next_eligible_attempt_at == day + timedelta(hours=6)


def test_what_a_site_does_not_give_and_what_another_article_has_is_not_tried_again() -> None:
    skipped = life_cycle.unavailable(claimed(), "PAYWALL", NOW)
    assert (skipped.acquisition_status, skipped.skip_reason) == ("SKIPPED_UNAVAILABLE", "PAYWALL")
    twin = life_cycle.duplicate(claimed(), "dedup:2", NOW)
    assert (twin.acquisition_status, twin.duplicate_of) == ("SKIPPED_DUPLICATE", "dedup:2")
    assert [each.last_error_fingerprint for each in (skipped, twin)] == ["SKIPPED_PAYWALL", "SKIPPED_DUPLICATE"]
    for each in (skipped, twin):
        assert each.eligibility == "NONE"
        assert each.validation_status == "UNVALIDATED"
        assert not each.open_attempt


def test_a_quarantined_document_waits_for_a_person_and_does_not_expire() -> None:
    held = quarantined()
    assert held.ttl_timestamp is None
    assert held.eligibility == "NONE"
    assert (held.manual_review_status, held.quarantine_reason_code) == ("PENDING", "OTHER")
    with pytest.raises(InvalidTransition):
        life_cycle.tried_again(held, LATER)
    assert life_cycle.edited(held, ASKED._replace(revision="r2"), LATER) is held


def test_an_approved_retry_makes_the_document_due_with_all_its_tries() -> None:
    after = life_cycle.reviewed(quarantined(), "CLEARED_RETRY_APPROVED", 2_000_000_000, LATER)
    assert after is not None
    assert life_cycle.is_due(after, LATER)
    assert after.acquisition_status == "STUB"
    assert after.ttl_timestamp == 2_000_000_000
    assert after.attempt_limit == 7
    assert after.attempt_count == 1
    again = life_cycle.quarantined(
        life_cycle.acquired(life_cycle.claimed(after, "run-2", LATER), file_object(), URL, None, LATER),
        *("OTHER", "ODD", "DOCUMENT:x", {}, LATER),
    )
    assert again.manual_review_status == "PENDING"


def test_a_dropped_document_stays_dropped() -> None:
    after = life_cycle.reviewed(quarantined(), "CLEARED_TERMINAL", None, LATER)
    assert after is not None
    assert after.validation_status == "TERMINAL_INVALID"
    assert after.ttl_timestamp == (LATER + timedelta(days=30)).timestamp()
    assert life_cycle.reviewed(after, "CLEARED_RETRY_APPROVED", None, LATER) is None
    with pytest.raises(InvalidTransition):
        life_cycle.tried_again(after, LATER)
    assert life_cycle.edited(after, ASKED._replace(revision="r2"), LATER) is after


ENDS: dict[str, DocumentProduct] = {
    "valid": life_cycle.valid(acquired(), {}, NOW),
    "paywall": life_cycle.unavailable(claimed(), "PAYWALL", NOW),
    "duplicate": life_cycle.duplicate(claimed(), "dedup:2", NOW),
    "failed": life_cycle.failed(claimed(), "X", None, NOW),
    "waiting": life_cycle.backed_off(STUB, LATER, "X", NOW),
}


def test_a_document_says_what_was_known_of_its_page_and_where_its_text_is_from() -> None:
    assert STUB.hints == {"host": "news.example", "language": "en"}
    assert STUB.provenance == {"asked_by": "FEED", "feed_id": "news"}
    by_person = life_cycle.stub(ASKED._replace(by="PERSON"), NOW).provenance
    assert by_person == {"asked_by": "PERSON", "feed_id": "news"}
    assert acquired().provenance == {"asked_by": "FEED", "feed_id": "news", "url": "https://m.news.example/1"}


def test_no_try_is_announced_that_does_not_come() -> None:
    given_up = life_cycle.failed(claimed().model_copy(update={"attempt_limit": 1}), "X", None, NOW)
    dropped = life_cycle.reviewed(quarantined(), "CLEARED_TERMINAL", None, NOW)
    finished = [ENDS[each] for each in ("valid", "paywall", "duplicate")]
    for document in (*finished, quarantined(), given_up, dropped):
        assert document is not None
        assert (document.eligibility, document.next_eligible_attempt_at) == ("NONE", None)


@pytest.mark.parametrize("document", ENDS.values(), ids=ENDS)
def test_an_edited_article_has_its_text_acquired_again(document: DocumentProduct) -> None:
    edit: dict[str, Any] = {"revision": "r2", "url": "https://news.example/2", "feed_id": "other"}
    after = life_cycle.edited(document, ASKED._replace(**edit), LATER)
    assert life_cycle.is_due(after, LATER)
    assert (after.revision, after.provider) == ("r2", "other")
    assert after.locator_identity == "url:https://news.example/2"
    assert after.locators[0].value == edit["url"]
    assert life_cycle.edited(document, ASKED, LATER) is document
