"""The steps of a document, from the stub to the valid text. Pure: each function returns the document after one step.

A worker begins a try with `claimed` and ends it with one of `failed`, `backed_off`, `unavailable` and `duplicate`, or
with `acquired` and then `valid` or `quarantined`. docs/adr/0038-documents.md gives the reasons.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from models.article import ARTICLE_KEPT
from models.document import DocumentProduct, FileObject, Locator, OpenAttempt, QuarantineReason, SkipReason
from models.feed import host_of_address
from models.quarantine import KEPT_AFTER_REVIEW
from models.run import Attempt
from models.states import AcquisitionStatus, ReviewStatus
from models.values import format_time, is_over, unix_seconds
from services.articles.writing import Asked
from services.parse.urls import normalize_url

WORKFLOW = "acquire_documents"
TASK = "acquire_document"

TRY_TAKES = timedelta(minutes=10)
"""For so long nobody else tries a document that a worker has claimed: longer than any invocation lasts."""
FIRST_WAIT = timedelta(minutes=15)
LONGEST_WAIT = timedelta(hours=24)
FURTHEST = ARTICLE_KEPT / 4
"""No wait is longer, also for a host that keeps failing."""
MAX_ATTEMPTS = 6
"""Until a person asks for more. The waits between six are 15 minutes, 1, 4, 16 and 24 hours: then the news is old."""


def stub(asked: Asked, now: datetime) -> DocumentProduct:
    """The document of an article whose full text was asked for, due at once."""
    return DocumentProduct(
        created_at=now,
        ttl_timestamp=asked.expires,
        source_id=asked.source_id,
        attempt_limit=MAX_ATTEMPTS,
        next_eligible_attempt_at=now,
        archive_day=None if asked.expires is None else first_day_of(asked.expires),
        **_discovered(asked),
    )


def _discovered(asked: Asked) -> dict[str, Any]:
    """The fields that say which page is to be acquired, and why."""
    return {
        "provider": asked.feed_id,
        "locators": (Locator(kind="URL", value=asked.url),),
        "locator_identity": identity_of(asked.url),
        "revision": asked.revision,
        "hints": {"host": host_of_address(asked.url), "language": asked.language},
        "provenance": {"asked_by": asked.by, "feed_id": asked.feed_id},
    }


def first_day_of(expires: int) -> str:
    """The day on which the article that expires then was created: its files are deleted with it, also if its text was
    asked for later."""
    return format_time(datetime.fromtimestamp(expires, UTC) - ARTICLE_KEPT)[:10]


def identity_of(url: str) -> str:
    return f"url:{normalize_url(url)}"


def is_due(document: DocumentProduct, now: datetime) -> bool:
    due = document.next_eligible_attempt_at
    return document.eligibility == "ACQUIRE" and (due is None or is_over(due, now, FURTHEST))


def is_exhausted(document: DocumentProduct) -> bool:
    return document.attempt_count >= document.attempt_limit


def interrupted(document: DocumentProduct, now: datetime) -> Attempt | None:
    """The record of a try that never ended: its worker died."""
    begun = document.open_attempt
    if begun is None:
        return None
    return Attempt.started(begun.run_id, TASK, document.source_id, begun.attempt_no, begun.started_at).worker_died(now)


def claimed(document: DocumentProduct, run_id: str, now: datetime) -> DocumentProduct:
    """The document with one more try begun."""
    number = document.attempt_count + 1
    return document.changed(
        now,
        attempt_count=number,
        last_attempt_at=now,
        next_eligible_attempt_at=now + TRY_TAKES,
        open_attempt=OpenAttempt(run_id=run_id, attempt_no=number, started_at=now),
    )


def backed_off(document: DocumentProduct, until: datetime, fingerprint: str, now: datetime) -> DocumentProduct:
    """No request was sent, since the host keeps failing: this was no attempt. The waits grow with the age of the
    document, so that a host that is gone costs little."""
    until = max(until, now + min((now - document.created_at) / 4, FURTHEST))
    return document.changed(
        now,
        **_ended("SKIPPED_BACKOFF", fingerprint, until),
        attempt_count=max(0, document.attempt_count - (document.open_attempt is not None)),
    )


def failed(document: DocumentProduct, fingerprint: str, wait: timedelta | None, now: datetime) -> DocumentProduct:
    """The try failed in a way that may pass. After the last one the document is TERMINAL_INVALID."""
    if is_exhausted(document):
        return document.changed(now, **_ended("FAILED_RETRYABLE", fingerprint), validation_status="TERMINAL_INVALID")
    tries = document.attempt_count - document.attempt_limit + MAX_ATTEMPTS
    pause = max(backoff(tries), min(wait or timedelta(0), LONGEST_WAIT))
    return document.changed(now, **_ended("FAILED_RETRYABLE", fingerprint, now + pause))


def backoff(attempts: int) -> timedelta:
    """The wait after so many attempts."""
    waits: int = 4 ** max(0, attempts - 1)
    return min(FIRST_WAIT * waits, LONGEST_WAIT)


def unavailable(document: DocumentProduct, reason: SkipReason, now: datetime) -> DocumentProduct:
    """The site does not give the text."""
    return document.changed(now, **{**_ended("SKIPPED_UNAVAILABLE", f"SKIPPED_{reason}"), "skip_reason": reason})


def duplicate(document: DocumentProduct, holder: str, now: datetime) -> DocumentProduct:
    """Another article's document has the text of this page."""
    return document.changed(now, **{**_ended("SKIPPED_DUPLICATE", "SKIPPED_DUPLICATE"), "duplicate_of": holder})


def acquired(document: DocumentProduct, raw: FileObject, url: str, etag: str | None, now: datetime) -> DocumentProduct:
    """The bytes from `url` are in the archive. `valid` or `quarantined` follows in the same write."""
    return document.changed(
        now,
        provenance={**(document.provenance or {}), "url": url},
        acquisition_status="ACQUIRED",
        byte_length=raw.byte_length,
        etag=etag,
        sha256=raw.sha256,
        raw_archive_container=raw.archive_container,
        raw_archive_key=raw.archive_key,
        derived_archive_prefix=raw.archive_key.rpartition("/")[0],
    )


def valid(document: DocumentProduct, extracted: dict[str, Any], now: datetime) -> DocumentProduct:
    """`extracted`: the profile and what it was chosen by, the notes, and the number of characters."""
    return document.changed(now, **_ended("ACQUIRED"), validation_status="VALID", **extracted)


def quarantined(
    document: DocumentProduct,
    reason: QuarantineReason,
    fingerprint: str,
    quarantine_id: str,
    extracted: dict[str, Any],
    now: datetime,
) -> DocumentProduct:
    """Waits for a person, and does not expire meanwhile."""
    return document.changed(
        now,
        **_ended("ACQUIRED", fingerprint),
        **extracted,
        validation_status="QUARANTINED",
        quarantine_reason_code=reason,
        quarantine_id=quarantine_id,
        manual_review_status="PENDING",
        ttl_timestamp=None,
    )


def reviewed(
    document: DocumentProduct, decision: ReviewStatus, expires: int | None, now: datetime
) -> DocumentProduct | None:
    """The document after a person's decision; None if it does not wait for one. `expires` is the article's expiry."""
    if document.validation_status != "QUARANTINED" or decision == "PENDING":
        return None
    ttl = expires if expires is not None else unix_seconds(now + KEPT_AFTER_REVIEW)
    if decision == "CLEARED_TERMINAL":
        return document.changed(
            now, manual_review_status=decision, validation_status="TERMINAL_INVALID", ttl_timestamp=ttl
        )
    return document.changed(now, manual_review_status=decision, ttl_timestamp=ttl, **_anew(document, now))


def tried_again(document: DocumentProduct, now: datetime) -> DocumentProduct:
    """A person asked for another try. Raises InvalidTransition for a document that a review must release, or has
    dropped; a try that is under way goes on."""
    if document.open_attempt is not None and not is_due(document, now):
        return document
    return document.changed(now, **_anew(document, now))


def edited(document: DocumentProduct, asked: Asked, now: datetime) -> DocumentProduct:
    """The document after its article was edited; the same object if it was not, or if the document waits for a person
    or was dropped by one."""
    held = document.validation_status == "QUARANTINED" or document.manual_review_status == "CLEARED_TERMINAL"
    if document.revision == asked.revision or held:
        return document
    return document.changed(now, **_anew(document, now), **_discovered(asked))


def _anew(document: DocumentProduct, now: datetime) -> dict[str, Any]:
    """The fields of a document that is to be acquired again, with all its tries."""
    is_failed = document.acquisition_status in ("FAILED_RETRYABLE", "SKIPPED_BACKOFF")
    return {
        "acquisition_status": document.acquisition_status if is_failed else "STUB",
        "validation_status": "UNVALIDATED",
        "attempt_limit": document.attempt_count + MAX_ATTEMPTS,
        "next_eligible_attempt_at": now,
        "skip_reason": None,
        "duplicate_of": None,
        "quarantine_reason_code": None,
        "quarantine_reason": None,
    }


def _ended(status: AcquisitionStatus, fingerprint: str | None = None, again: datetime | None = None) -> dict[str, Any]:
    """The fields of a document whose try has ended. `again` is when the next one may begin; None if there is none."""
    return {
        "acquisition_status": status,
        "next_eligible_attempt_at": again,
        "open_attempt": None,
        "last_error_fingerprint": fingerprint,
        "skip_reason": None,
        "duplicate_of": None,
    }
