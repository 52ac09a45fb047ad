"""One try at one document: claims it, fetches the page, stores files, text and verdict.

The order of writes lets the next try complete what a crash left:
    1. the document is claimed by its ETag: of two workers, one goes on; a try that kills its worker counts;
    2. the page goes into the archive, then the document becomes ACQUIRED: from here on the page is not fetched again;
    3. the text goes into the archive, then the article names it and its analysis is due, by the article's ETag;
    4. the attempt is recorded, then the document ends its try. An attempt whose try did not end is recorded as failed
       by the next one;
    5. the article is announced. A message that is lost is found by the article's `analysis_due_since`.
A deleted article has no document: whoever finds that it is gone removes what was stored of it.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from models.article import Article, FullText
from models.document import CreatedBy, DocumentProduct, FileObject
from models.errors import ChangedMeanwhile, Damaged, NotFound, Unavailable
from models.locator import DocumentAlias, document_key
from models.run import Attempt
from models.states import AcquisitionStatus, ValidationStatus
from services.archive.files import store_file
from services.articles.announcing import Announce
from services.documents import life_cycle
from services.documents.judging import Text, Unknown, Wanted
from services.documents.judging import Unavailable as Withheld
from services.documents.page_fetch import Failed, Fetched, PageFetch
from services.documents.removal import Removal, remove_alias
from services.documents.reviews import DocumentReviews
from services.logs import log_event
from services.ports import Archive, Clock, Document, Operation, Replace, Store, Upsert, readable
from services.store.change import change, until_unchanged
from services.store.containers import ARTICLES, DOCUMENTS, LOCATORS
from services.work import rules
from services.work.runs import RunEngine

log = logging.getLogger("toolpulse.documents")

NORMALIZED_TYPE = "text/plain; charset=utf-8"
ARCHIVE_UNAVAILABLE = "ARCHIVE_UNAVAILABLE"


class _Overtaken(Exception):
    """Another worker has changed the document."""


@dataclass
class _Try:
    """One try: the document as it is stored, its article, the attempt that will be recorded, and when it began, with
    the fraction of a second that documents do not have."""

    document: DocumentProduct
    article: Article
    attempt: Attempt
    began: datetime
    error: str | None = None
    status_code: int | None = None
    files: list[FileObject] = field(default_factory=list)

    @property
    def wanted(self) -> Wanted:
        article, reading = self.article, self.article.canonical
        publishers = {reading.publisher, *(each.source_name for each in article.source_attribution.values())}
        names = tuple(sorted(each for each in publishers if each))
        url = self.document.locators[0].value
        return Wanted(reading.headline, names, len(article.text_for_analysis or ""), url)


@dataclass(frozen=True, slots=True)
class Acquisition:
    """Tries to acquire one document after the other, each by the steps above."""

    store: Store
    archive: Archive
    engine: RunEngine
    pages: PageFetch
    reviews: DocumentReviews
    removal: Removal
    announce: Announce
    clock: Clock

    async def attempt(self, run_id: str, source_id: str) -> Attempt | None:
        """Tries to acquire the document, and returns the record of the try; None if the document is not due, or another
        worker has it."""
        document = await self._due(source_id)
        article = await self._article(source_id) if document is not None else None
        if document is None or article is None:
            if document is not None:
                await self.removal.remove(source_id, document)
            return None
        try:
            one = await self._claimed(document, article, run_id)
            return None if one is None else await self._tried(one)
        except _Overtaken:
            if await self._article(source_id) is None:
                await self.removal.remove(source_id, document)
            elif not await self._has_page(source_id, document.locator_identity):
                await remove_alias(self.store, document)
            return None

    async def back_off(self, documents: Sequence[DocumentProduct]) -> None:
        """Leaves documents of a host that cools down, for all workers, to a later try."""
        now = self.clock()
        for each in documents:
            with contextlib.suppress(_Overtaken):
                after = life_cycle.backed_off(each, now + life_cycle.FIRST_WAIT, "HOST_COOLS_DOWN", now)
                await self._saved(each, after)

    async def broke(self, run_id: str, source_id: str, error: str) -> None:
        """Ends a try of this run that an unforeseen error has interrupted."""
        found = await self.store.read(DOCUMENTS.name, source_id, DocumentProduct.ID)
        document, article = readable(found, DocumentProduct.from_document), await self._article(source_id)
        begun = document.open_attempt if document is not None else None
        if document is None or article is None or begun is None or begun.run_id != run_id:
            return
        attempt = rules.started(run_id, life_cycle.TASK, source_id, begun.attempt_no, begun.started_at)
        after = life_cycle.failed(document, error.upper(), None, self.clock())
        with contextlib.suppress(_Overtaken):
            await self._end(_Try(document, article, attempt, begun.started_at), after)

    async def _due(self, source_id: str) -> DocumentProduct | None:
        found = await self.store.read(DOCUMENTS.name, source_id, DocumentProduct.ID)
        document = readable(found, DocumentProduct.from_document)
        return document if document is not None and life_cycle.is_due(document, self.clock()) else None

    async def _article(self, source_id: str) -> Article | None:
        found = await self.store.read(ARTICLES.name, source_id, Article.ID)
        article = Article.from_document(found) if found is not None else None
        return article if article is not None and article.deleted_at is None else None

    async def _claimed(self, document: DocumentProduct, article: Article, run_id: str) -> _Try | None:
        now = self.clock()
        died = life_cycle.interrupted(document, now)
        if died is not None:
            await self.engine.note(died)
        if life_cycle.is_exhausted(document):
            await self._saved(document, life_cycle.given_up(document, now))
            return None
        claimed = await self._saved(document, life_cycle.claimed(document, run_id, now))
        attempt = rules.started(run_id, life_cycle.TASK, document.source_id, claimed.attempt_count, now)
        return _Try(claimed, article, attempt, now)

    async def _tried(self, one: _Try) -> Attempt | None:
        if one.document.acquisition_status == "ACQUIRED":
            return await self._of_archived(one)
        holder = await self._holder(one.document)
        if holder is not None:
            return await self._end(one, life_cycle.duplicate(one.document, holder, self.clock()))
        outcome = await self.pages.fetch(one.wanted)
        if isinstance(outcome, Failed):
            return await self._failed(one, outcome)
        if isinstance(outcome, Withheld):
            return await self._end(one, life_cycle.unavailable(one.document, outcome.reason, self.clock()))
        one.status_code = outcome.status_code
        other = await self._other_holder(one.document, outcome.canonical)
        if other is not None:
            return await self._end(one, life_cycle.duplicate(one.document, other, self.clock()))
        return await self._fetched(one, outcome)

    async def _failed(self, one: _Try, outcome: Failed) -> Attempt | None:
        now = self.clock()
        if outcome.not_tried:
            until = now + (outcome.wait or life_cycle.FIRST_WAIT)
            await self._saved(one.document, life_cycle.backed_off(one.document, until, outcome.fingerprint, now))
            return None
        one.error, one.status_code = outcome.error, outcome.status_code
        return await self._end(one, life_cycle.failed(one.document, outcome.fingerprint, outcome.wait, now))

    async def _fetched(self, one: _Try, page: Fetched) -> Attempt | None:
        try:
            raw = await self._file(one, page.body, "RAW", page.content_type)
            after = life_cycle.acquired(one.document, raw, page.etag, self.clock())
            one.document = await self._saved(one.document, after, [raw])
            return await self._judged(one, page.verdict)
        except Unavailable as error:
            return await self._without_archive(one, error)

    async def _of_archived(self, one: _Try) -> Attempt | None:
        """Judges the page of a try that was interrupted after it had stored the page."""
        key = one.document.raw_archive_key or ""
        try:
            body = await self.archive.get(key)
            found = await self.store.read(DOCUMENTS.name, one.document.source_id, _raw_id(one.document))
            content_type = str((found or {}).get("content_type", "text/html"))
            verdict = await self.pages.judged(body, content_type, one.wanted)
            if isinstance(verdict, Withheld):
                return await self._end(one, life_cycle.unavailable(one.document, verdict.reason, self.clock()))
            return await self._judged(one, verdict)
        except (Damaged, NotFound):
            why = "the page in the archive is not the one that was stored"
            return await self._judged(one, Unknown("CHECKSUM_MISMATCH", "CHECKSUM_MISMATCH", why, {}))
        except Unavailable as error:
            return await self._without_archive(one, error)

    async def _without_archive(self, one: _Try, error: Unavailable) -> Attempt | None:
        one.error = str(error)
        return await self._end(one, life_cycle.failed(one.document, ARCHIVE_UNAVAILABLE, None, self.clock()))

    async def _judged(self, one: _Try, verdict: Text | Unknown) -> Attempt | None:
        if isinstance(verdict, Unknown):
            context = {"reason": verdict.why, "fingerprint": verdict.fingerprint, "document": verdict.extracted}
            file = await self._file(one, json.dumps(context).encode(), "QUARANTINE_CONTEXT", "application/json")
            after = await self.reviews.add(one.document, one.article, verdict, self.clock())
            return await self._end(one, after, [file])
        text = await self._file(one, verdict.text.encode(), "NORMALIZED", NORMALIZED_TYPE)
        is_new = await self._named_by_article(one.document, text, verdict)
        ended = await self._end(one, life_cycle.valid(one.document, verdict.extracted, self.clock()), [text])
        if is_new:
            await self.announce([one.document.source_id])
        return ended

    async def _named_by_article(self, document: DocumentProduct, file: FileObject, text: Text) -> bool:
        """Has the article name its full text, and makes its analysis due. False if nothing had to change."""
        wanted = FullText(
            archive_key=file.archive_key,
            sha256=file.sha256,
            characters=len(text.text),
            revision=document.revision or "",
            extraction_profile_id=text.extracted["extraction_profile_id"],
        )
        is_new = False

        def named(found: Document | None) -> Document | None:
            nonlocal is_new
            article = Article.from_document(found) if found is not None else None
            if article is None or article.deleted_at is not None:
                raise _Overtaken
            is_new = article.full_text != wanted and article.canonical.revision == wanted.revision
            if not is_new:
                return None
            now = self.clock()
            changes: dict[str, Any] = {"full_text": wanted, "analysis_due_since": article.analysis_due_since or now}
            if article.status == "error":
                changes |= {"status": "pending", "analysis_attempts": 0}
            return article.changed(now, **changes).to_document()

        await change(self.store, ARTICLES.name, document.source_id, Article.ID, named)
        return is_new

    async def _end(self, one: _Try, after: DocumentProduct, files: Sequence[FileObject] = ()) -> Attempt:
        """Records the attempt, and ends the try."""
        now = self.clock()
        record = _record(one, after, now)
        await self.engine.note(record)
        await self._saved(one.document, after, files)
        log_event(
            log,
            logging.INFO,
            "document_tried",
            source_id=after.source_id,
            feed_id=after.provider,
            acquisition_status=after.acquisition_status,
            validation_status=after.validation_status,
            fingerprint=after.last_error_fingerprint,
            duration_ms=record.duration_ms,
        )
        return record

    async def _saved(
        self, before: DocumentProduct, after: DocumentProduct, files: Sequence[FileObject] = ()
    ) -> DocumentProduct:
        operations: list[Operation] = [Replace(after.to_document(), before.stored_etag or "")]
        operations += [Upsert(each.to_document()) for each in files]
        try:
            etag, *_ = await self.store.batch(DOCUMENTS.name, after.source_id, operations)
        except ChangedMeanwhile:
            raise _Overtaken from None
        return after.with_etag(etag)

    async def _file(self, one: _Try, data: bytes, role: Any, content_type: str) -> FileObject:
        return await store_file(
            self.archive,
            one.document,
            data,
            role=role,
            name=_name(one.document, role),
            content_type=content_type,
            created_by=CreatedBy(workflow=life_cycle.WORKFLOW, job_run_id=one.attempt.run_id),
            now=self.clock(),
        )

    async def _holder(self, document: DocumentProduct) -> str | None:
        """The article whose document has the page already. Else the locator alias of the page becomes this one's."""
        now = self.clock()
        alias = DocumentAlias(
            created_at=now,
            updated_at=now,
            ttl_timestamp=document.ttl_timestamp,
            provider=document.provider,
            locator_identity=document.locator_identity,
            source_id=document.source_id,
            data_product_id=document.data_product_id,
        )
        key = document_key(document.locator_identity)

        async def once() -> str | None:
            known = await self.store.read(LOCATORS.name, key, key)
            if known is not None:
                if (holder := await self._other_holder(document, document.locators[0].value)) is not None:
                    return holder
                await self.store.replace(LOCATORS.name, alias.to_document(), known["_etag"])
            elif not all(await self.store.create_many(LOCATORS.name, [alias.to_document()])):
                raise ChangedMeanwhile(f"the alias {key} was made meanwhile")
            return None

        return await until_unchanged(once, f"the alias of {document.source_id}")

    async def _other_holder(self, document: DocumentProduct, url: str | None) -> str | None:
        """Another article whose document has the page at this address, and still exists."""
        if url is None:
            return None
        key = document_key(life_cycle.identity_of(url))
        found = await self.store.read(LOCATORS.name, key, key)
        holder = None if found is None else str(found["source_id"])
        if holder is None or holder == document.source_id:
            return None
        return holder if await self._has_page(holder, life_cycle.identity_of(url)) else None

    async def _has_page(self, source_id: str, identity: str) -> bool:
        """Whether the article's document is of this page: an edit may have given it another one."""
        found = await self.store.read(DOCUMENTS.name, source_id, DocumentProduct.ID)
        return found is not None and found["locator_identity"] == identity


_COUNTED: Mapping[ValidationStatus, str] = {
    "VALID": "acquired",
    "QUARANTINED": "quarantined",
    "TERMINAL_INVALID": "failed",
}


def counted_as(validation: ValidationStatus, acquisition: AcquisitionStatus) -> str:
    """The count of the run that a try with this end adds to."""
    return _COUNTED.get(validation, acquisition.partition("_")[0].lower())


def _record(one: _Try, after: DocumentProduct, now: datetime) -> Attempt:
    """The attempt as it ended. What a site does not give, and what waits for a person, is no failure of the try."""
    milliseconds = max(0, round((now - one.began).total_seconds() * 1000))
    counts = {counted_as(after.validation_status, after.acquisition_status): 1}
    figures: dict[str, Any] = {
        "counts": counts,
        "status_code": one.status_code,
        "error_fingerprint": after.last_error_fingerprint,
    }
    is_given_up = after.validation_status == "TERMINAL_INVALID" and after.manual_review_status != "CLEARED_TERMINAL"
    if after.eligibility == "NONE" and not is_given_up:
        return rules.succeeded(one.attempt, milliseconds, now, **figures)
    return one.attempt.changed(
        now,
        status="FAILED",
        duration_ms=milliseconds,
        error_type=after.last_error_fingerprint or "failed",
        error_message=(one.error or "")[: rules.LONGEST_MESSAGE] or None,
        **figures,
    )


def _name(document: DocumentProduct, role: str) -> str:
    """One name for each revision of the article: an edit does not replace the files of the revision before."""
    return (document.revision or "page")[:40] if role != "QUARANTINE_CONTEXT" else "context"


def _raw_id(document: DocumentProduct) -> str:
    return f"FILE:RAW:{_name(document, 'RAW')}"
