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
from models.values import (
    Count,
    Day,
    IdPart,
    Sha256,
    SourceKey,
    Text,
    Time,
    UnixSeconds,
    Value,
    format_time,
    internal,
    lives,
    optional,
)

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

    source_id: IdPart = Field(description="The article.")
    product_type: ProductType = Field(default="DOCUMENT", description="`DOCUMENT`.")

    @property
    def data_product_id(self) -> str:
        return document_product_id(self.source_id)


class DocumentProduct(_OfArticle):
    """The specification's SPECTRA product, of text. No attempt is made before `next_eligible_attempt_at`.

    A worker begins a try by writing `open_attempt`, one more `attempt_count`, and a later `next_eligible_attempt_at`:
    nobody else tries until then, and a try that kills its worker counts. After `attempt_limit` tries it is given up.
    `skip_reason` belongs to SKIPPED_UNAVAILABLE, `duplicate_of` to SKIPPED_DUPLICATE. In quarantine the document does
    not expire: `ttl_timestamp` is null until a person has reviewed it.
    """

    STATES: ClassVar[Mapping[str, Machine]] = {"acquisition_status": ACQUISITION, "manual_review_status": REVIEW}
    COMPUTED: ClassVar[tuple[str, ...]] = ("data_product_id", "eligibility")
    ID: ClassVar[str] = "DOCUMENT"

    entity_type: Literal["DataProduct"] = "DataProduct"
    ttl_timestamp: UnixSeconds | None = lives(days=30)
    provider: SourceKey = Field(description="The feed that brought the article.")
    locators: tuple[Locator, ...] = Field(
        min_length=1,
        description="The address of the page; its normalized form, under which no other article has a document.",
    )
    locator_identity: Text = internal(
        "The address of the page; its normalized form, under which no other article has a document.", default=...
    )
    revision: Text | None = internal("The revision of the article that the text belongs to.")

    acquisition_status: AcquisitionStatus = Field(
        default="STUB",
        description="`STUB`: not tried yet. `ACQUIRED`: the page is in the archive. `FAILED_RETRYABLE`: tried again "
        "later. `SKIPPED_BACKOFF`: no request was sent, since the host keeps failing. `SKIPPED_DUPLICATE`: "
        "`duplicate_of` has the text. `SKIPPED_UNAVAILABLE`: the site does not give the text.",
    )
    validation_status: ValidationStatus = Field(
        default="UNVALIDATED",
        description="`UNVALIDATED`, `VALID`, `QUARANTINED`, or `TERMINAL_INVALID`: given up after six tries, or "
        "dropped by a review.",
    )

    attempt_count: Count = Field(default=0, description="How many tries were begun.")
    attempt_limit: Count = 0
    last_attempt_at: Time | None = optional("When the last try was begun.")
    next_eligible_attempt_at: Time | None = optional(
        "No try before: 15 minutes after the first failure, then 1, 4, 16 and 24 hours, or as long as the server asks. "
        "Null if no try follows."
    )
    last_error_fingerprint: Text | None = internal("A short name of the last failure, or of what was found.")
    skip_reason: SkipReason | None = optional(
        "`ROBOTS` (robots.txt), `NOARCHIVE` (a meta element or `X-Robots-Tag`), `PAYWALL`, `CONSENT` (also a check "
        "for robots), `REFUSED` (a login, 403, a private address), `GONE` (also a page that only says so), `NOT_HTML`, "
        "`TOO_LARGE` (over 5 MB), `NOTHING_MORE` (no more text than the feed's)."
    )
    duplicate_of: IdPart | None = optional("The article whose document has the page.")
    open_attempt: OpenAttempt | None = internal("The try that is under way, or whose worker died.")

    byte_length: Count | None = optional("The size of the page as it was fetched, in bytes.")
    etag: Text | None = internal("The ETag of the page as it was fetched.")
    sha256: Sha256 | None = internal("The hash of the page as it was fetched.")
    header_signature_hash: Text | None = internal("Hash of what pages of one site have in common.")

    extraction_profile_id: Text | None = optional(
        "The profile and its version that found the text, such as `general@1`."
    )
    profile_selection_inputs: dict[str, JsonValue] | None = internal(
        "What the profile was chosen by: the feed, the hints, the host, and what pages of one site have in common."
    )
    normalization_notes: tuple[Text, ...] = Field(default=(), description="What was changed in the text.")
    characters: Count | None = optional("Length of the text.")

    quarantine_id: IdPart | None = optional("The item in quarantine; null if there is none.")
    quarantine_reason_code: QuarantineReason | None = optional(
        "Why it is in quarantine. `UNKNOWN_PROFILE`: the page could not be read. `MISSING_CRITICAL_METADATA`: no "
        "headline of the article, or too little text. `CHECKSUM_MISMATCH`: the archive returned other bytes."
    )
    quarantine_reason: Text | None = optional("The same in words, with what was found.")
    manual_review_status: ReviewStatus | None = optional(
        "`PENDING`, `CLEARED_RETRY_APPROVED` (tried again) or `CLEARED_TERMINAL` (dropped)."
    )

    raw_archive_container: Text | None = internal("The container of the archive that has the page.")
    raw_archive_key: Text | None = internal("The key of the page in the archive.")
    derived_archive_prefix: Text | None = internal("What the keys of the document's files begin with.")
    archive_day: Day | None = None

    hints: dict[str, JsonValue] | None = internal(
        "What was known of the page before it was fetched: `host` and `language`."
    )
    provenance: dict[str, JsonValue] | None = internal(
        "Where the text is from: `asked_by` (`FEED` or `PERSON`), `feed_id`, and the `url` that the page was fetched "
        "from, after redirects."
    )

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
    role: FileRole = Field(
        description="`RAW`: the page. `NORMALIZED`: its text. `QUARANTINE_CONTEXT`: the text of a page that waits for "
        "a person, after the reason."
    )
    name: IdPart = Field(description="The revision that the file belongs to.")
    archive_container: Text = internal("The container of the archive that has the object.", default=...)
    archive_key: Text = internal("The key of the object in the archive.", default=...)
    content_type: Text = Field(description="The media type of the object in the archive.")
    byte_length: Count = Field(description="The size of the object in the archive, in bytes.")
    etag: Text | None = internal("The ETag of the object in the archive.")
    sha256: Sha256 = Field(description="The hash of the object in the archive.")
    created_by: CreatedBy = Field(description="The workflow and the run that made the file.")

    @property
    def file_id(self) -> str:
        return f"{self.role}:{self.name}"

    @property
    def id(self) -> str:
        return f"FILE:{self.file_id}"
