"""The full text of an article, as a data product that is acquired and validated, and its files.

The bytes are stored in an archive, never in these documents. services/documents decides about every step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self
from uuid import NAMESPACE_URL, uuid5

from pydantic import Field, JsonValue, model_validator

from models.states import (
    ACQUISITION,
    REVIEW,
    AcquisitionStatus,
    Machine,
    ReviewStatus,
    ValidationStatus,
    step_validation,
)
from models.stored import StoredDocument
from models.values import Count, Day, IdPart, Sha256, SourceKey, Text, Time, UnixSeconds, Value, format_time, lives

ProductType = Literal["DOCUMENT"]
Eligibility = Literal["ACQUIRE", "NONE"]
QuarantineReason = Literal["UNKNOWN_PROFILE", "MISSING_CRITICAL_METADATA", "CHECKSUM_MISMATCH", "OTHER"]
SkipReason = Literal[
    "ROBOTS",
    "NOARCHIVE",
    "PAYWALL",
    "CONSENT",
    "REFUSED",
    "GONE",
    "NOT_HTML",
    "TOO_LARGE",
    "NOTHING_MORE",
]
"""Why a site does not give the text: robots.txt; `noarchive`; a paywall; a page that asks for consent; a login or a
refusal; no page; no HTML; too large; a page with no more text than the feed."""
FileRole = Literal["RAW", "QUARANTINE_CONTEXT", "NORMALIZED", "PLOT", "MANIFEST", "DATA_BUNDLE", "OTHER"]


def document_product_id(source_id: str) -> str:
    """The stable UUID of the document behind an article."""
    return str(uuid5(NAMESPACE_URL, f"toolpulse:document:{source_id}"))


def eligibility_of(validation: ValidationStatus, acquisition: AcquisitionStatus) -> Eligibility:
    """A text is acquired until it is valid, quarantined or terminally invalid. One that the site does not give, or that
    another article has, is not."""
    is_skipped = acquisition in ("SKIPPED_DUPLICATE", "SKIPPED_UNAVAILABLE")
    return "ACQUIRE" if validation == "UNVALIDATED" and not is_skipped else "NONE"


class Locator(Value):
    """An address of the text."""

    kind: Literal["URL", "ARCHIVE", "OTHER"] = Field(description="What kind of address it is.")
    value: Text = Field(description="The address.")
    role: Literal["PRIMARY", "MIRROR"] = Field(
        default="PRIMARY", description="`PRIMARY`: the address of the page. `MIRROR`: another one of the same text."
    )


class OpenAttempt(Value):
    """The try that a worker has begun: it becomes an Attempt of this run."""

    run_id: IdPart = Field(description="The run.")
    attempt_no: Count = Field(description="The number of the try.")
    started_at: Time = Field(description="When it began.")


class _OfArticle(StoredDocument):
    """A document of the full text of an article."""

    CONTAINER: ClassVar[str] = "documents"
    PARTITION_FIELD: ClassVar[str] = "source_id"
    COMPUTED: ClassVar[tuple[str, ...]] = ("data_product_id",)

    source_id: IdPart
    product_type: ProductType = "DOCUMENT"

    @property
    def partition(self) -> str:
        return self.source_id

    @property
    def data_product_id(self) -> str:
        return document_product_id(self.source_id)


class DocumentProduct(_OfArticle):
    """The specification's SPECTRA product, of text. No attempt is made before `next_eligible_attempt_at`.

    `provider` is the feed that brought the article, `revision` that of its entry. A worker begins a try by writing
    `open_attempt`, one more `attempt_count`, and a later `next_eligible_attempt_at`: nobody else tries until then, and
    a try that kills its worker counts. After `attempt_limit` tries it is given up. `skip_reason` belongs to
    SKIPPED_UNAVAILABLE; `duplicate_of`, the article that has the text, to SKIPPED_DUPLICATE. `header_signature_hash` is
    the hash of what the pages of one site have in common. In quarantine the document does not expire: `ttl_timestamp`
    is null until a person has reviewed it.
    """

    STATES: ClassVar[Mapping[str, Machine]] = {"acquisition_status": ACQUISITION, "manual_review_status": REVIEW}
    COMPUTED: ClassVar[tuple[str, ...]] = ("data_product_id", "eligibility")
    ID: ClassVar[str] = "DOCUMENT"

    entity_type: Literal["DataProduct"] = "DataProduct"
    ttl_timestamp: UnixSeconds | None = lives(days=30)
    provider: SourceKey
    locators: tuple[Locator, ...] = Field(min_length=1)
    locator_identity: Text
    revision: Text | None = None

    acquisition_status: AcquisitionStatus = "STUB"
    validation_status: ValidationStatus = "UNVALIDATED"

    attempt_count: Count = 0
    attempt_limit: Count = 0
    last_attempt_at: Time | None = None
    next_eligible_attempt_at: Time | None = None
    last_error_fingerprint: Text | None = None
    skip_reason: SkipReason | None = None
    duplicate_of: IdPart | None = None
    open_attempt: OpenAttempt | None = None

    byte_length: Count | None = None
    etag: Text | None = None
    sha256: Sha256 | None = None
    header_signature_hash: Text | None = None

    extraction_profile_id: Text | None = None
    profile_selection_inputs: dict[str, JsonValue] | None = None
    normalization_notes: tuple[Text, ...] = ()
    characters: Count | None = None

    quarantine_id: IdPart | None = None
    quarantine_reason_code: QuarantineReason | None = None
    manual_review_status: ReviewStatus | None = None

    raw_archive_container: Text | None = None
    raw_archive_key: Text | None = None
    derived_archive_prefix: Text | None = None
    archive_day: Day | None = None

    hints: dict[str, JsonValue] | None = None
    provenance: dict[str, JsonValue] | None = None

    @property
    def folder_day(self) -> str:
        """The day that names the document's folder in the archive."""
        return self.archive_day or format_time(self.created_at)[:10]

    @property
    def eligibility(self) -> Eligibility:
        return eligibility_of(self.validation_status, self.acquisition_status)

    def _check_steps(self, after: Mapping[str, Any]) -> None:
        super()._check_steps(after)
        if after["validation_status"] != self.validation_status:
            step_validation(self.validation_status, after["validation_status"], after["manual_review_status"])

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.validation_status == "QUARANTINED":
            if self.quarantine_reason_code is None or self.manual_review_status is None:
                raise ValueError("a quarantined document must have quarantine_reason_code and manual_review_status")
            if self.ttl_timestamp is not None and self.manual_review_status == "PENDING":
                raise ValueError("a quarantined document must not expire before it was reviewed")
        if self.validation_status == "VALID" and (self.acquisition_status != "ACQUIRED" or self.sha256 is None):
            raise ValueError("a valid document must be ACQUIRED and have its sha256")
        if (self.acquisition_status == "SKIPPED_UNAVAILABLE") != (self.skip_reason is not None):
            raise ValueError("skip_reason must be there if, and only if, the document is SKIPPED_UNAVAILABLE")
        if (self.acquisition_status == "SKIPPED_DUPLICATE") != (self.duplicate_of is not None):
            raise ValueError("duplicate_of must be there if, and only if, the document is SKIPPED_DUPLICATE")
        if (self.raw_archive_container is None) != (self.raw_archive_key is None):
            raise ValueError("raw_archive_container and raw_archive_key must be there together, or neither")
        return self


class CreatedBy(Value):
    """The workflow and the run that made a file."""

    workflow: Text = Field(description="The workflow.")
    job_run_id: IdPart = Field(description="The run.")


class FileObject(_OfArticle):
    """One object in the archive. Files of one role differ by `name`."""

    entity_type: Literal["FileObject"] = "FileObject"
    ttl_timestamp: UnixSeconds | None = lives(days=30)
    role: FileRole
    name: IdPart
    archive_container: Text
    archive_key: Text
    content_type: Text
    byte_length: Count
    etag: Text | None = None
    sha256: Sha256
    created_by: CreatedBy

    @property
    def id(self) -> str:
        return f"FILE:{self.role}:{self.name}"
