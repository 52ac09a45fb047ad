"""The full text behind an article, and its files, as the API shows them."""

from __future__ import annotations

from typing import Self

from pydantic import Field, JsonValue

from models.document import (
    CreatedBy,
    DocumentProduct,
    Eligibility,
    FileObject,
    FileRole,
    Locator,
    OpenAttempt,
    ProductType,
    QuarantineReason,
    SkipReason,
)
from models.resources.base import Stored, View, added, internal, links, path
from models.resources.runs import AttemptResource
from models.states import AcquisitionStatus, ReviewStatus, ValidationStatus
from models.values import Count, IdPart, Sha256, SourceKey, Text, Time


class FileResource(Stored):
    """One file of a full text. Its place in the archive is not shown."""

    source_id: IdPart = Field(description="The article.")
    product_type: ProductType = Field(description="`DOCUMENT`, as in the document.")
    role: FileRole = Field(
        description="`RAW`: the page. `NORMALIZED`: its text. `QUARANTINE_CONTEXT`: what was found on a page that "
        "waits for a person."
    )
    name: IdPart = Field(description="The revision that the file belongs to.")
    content_type: Text = Field(description="The media type of the object in the archive.")
    byte_length: Count = Field(description="The size of the object in the archive, in bytes.")
    created_by: CreatedBy = Field(description="The workflow and the run that made the file.")
    links: dict[str, str] = Field(description="Paths: the article, and the run that made the file.")
    etag: Text | None = internal("The ETag of the object in the archive.")
    sha256: Sha256 | None = internal("The hash of the object in the archive.")

    @classmethod
    def of(cls, file: FileObject, view: View = "default") -> Self:
        article, run = path("articles", file.source_id), path("runs", file.created_by.job_run_id)
        return cls.made(file, view, links=links(article=article, run=run))


class DocumentResource(Stored):
    """The state of the full text behind an article."""

    source_id: IdPart = Field(description="The article.")
    data_product_id: str = Field(description="The document's own id, a UUID that follows from the article.")
    product_type: ProductType = Field(description="`DOCUMENT`.")
    provider: SourceKey = Field(description="The feed that brought the article.")
    locators: tuple[Locator, ...] = Field(
        description="The address of the page; its normalized form, under which no other article has a document."
    )
    acquisition_status: AcquisitionStatus = Field(
        description="`STUB`: not tried yet. `ACQUIRED`: the page is in the archive. `FAILED_RETRYABLE`: tried "
        "again later. `SKIPPED_BACKOFF`: no request was sent, since the host keeps failing. "
        "`SKIPPED_DUPLICATE`: `duplicate_of` has the text. `SKIPPED_UNAVAILABLE`: the site does not "
        "give the text."
    )
    validation_status: ValidationStatus = Field(
        description="`UNVALIDATED`, `VALID`, `QUARANTINED`, or `TERMINAL_INVALID`: given up after six tries, or "
        "dropped by a review."
    )
    attempt_count: Count = Field(description="How many tries were begun.")
    last_attempt_at: Time | None = Field(description="When the last try was begun.")
    next_eligible_attempt_at: Time | None = Field(
        description="No try before: 15 minutes after the first failure, then 1, 4, 16 and 24 hours, or as long as "
        "the server asks."
    )
    skip_reason: SkipReason | None = Field(
        description="`ROBOTS` (robots.txt), `NOARCHIVE` (a meta element or `X-Robots-Tag`), `PAYWALL`, `CONSENT` "
        "(also a check for robots), `REFUSED` (a login, 403, a private address), `GONE` (also a page "
        "that only says so), `NOT_HTML`, `TOO_LARGE` (over 5 MB), `NOTHING_MORE` (no more text than "
        "the feed's)."
    )
    duplicate_of: IdPart | None = Field(description="The article whose document has the page.")
    byte_length: Count | None = Field(description="The size of the page as it was fetched, in bytes.")
    extraction_profile_id: Text | None = Field(
        description="The profile and its version that found the text, such as `general@1`."
    )
    normalization_notes: tuple[Text, ...] = Field(description="What was changed in the text.")
    characters: Count | None = Field(description="Length of the text.")
    quarantine_id: IdPart | None = Field(description="The item in quarantine; null if there is none.")
    quarantine_reason_code: QuarantineReason | None = Field(
        description="Why it is in quarantine. `UNKNOWN_PROFILE`: the page could not be read. "
        "`MISSING_CRITICAL_METADATA`: no headline of the article, or too little text. "
        "`CHECKSUM_MISMATCH`: the archive returned other bytes."
    )
    manual_review_status: ReviewStatus | None = Field(
        description="`PENDING`, `CLEARED_RETRY_APPROVED` (tried again) or `CLEARED_TERMINAL` (dropped)."
    )
    eligibility: Eligibility = Field(description="`ACQUIRE` while the document is to be tried, else `NONE`.")
    links: dict[str, str] = Field(description="Paths: the document itself, the article, the feed.")
    files: list[FileResource] | None = added("The files in the archive.")
    attempts: list[AttemptResource] | None = added("The last 50 tries.")
    unreadable: list[str] | None = added(
        "The ids of parts that cannot be read and were left out; absent if there are none."
    )
    locator_identity: Text | None = internal(
        "The address of the page; its normalized form, under which no other article has a document."
    )
    revision: Text | None = internal("The revision of the article that the text belongs to.")
    last_error_fingerprint: Text | None = internal("A short name of the last failure, or of what was found.")
    open_attempt: OpenAttempt | None = internal("The try that is under way, or whose worker died.")
    etag: Text | None = internal("The ETag of the page as it was fetched.")
    sha256: Sha256 | None = internal("The hash of the page as it was fetched.")
    header_signature_hash: Text | None = internal("Hash of what pages of one site have in common.")
    profile_selection_inputs: dict[str, JsonValue] | None = internal("What the profile was chosen by.")
    hints: dict[str, JsonValue] | None = internal("Not used; null.")
    provenance: dict[str, JsonValue] | None = internal("Not used; null.")

    @classmethod
    def of(cls, document: DocumentProduct, view: View = "default") -> Self:
        article = path("articles", document.source_id)
        return cls.made(
            document,
            view,
            data_product_id=document.data_product_id,
            eligibility=document.eligibility,
            links=links(self=f"{article}/document", article=article, feed=path("feeds", document.provider)),
        )
