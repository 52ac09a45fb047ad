"""Acquires the due documents of one host, one after the other, as one run. A try claims the document, fetches the page,
and stores files, text and verdict.

The order of writes lets the next try complete what a crash left:
    1. the document is claimed by its ETag: of two workers, one goes on; a try that kills its worker counts;
    2. page and text go into the archive, then the article names the text and its analysis is due, by its ETag;
    3. the attempt is recorded, then the document ends its try. An attempt whose try did not end is recorded as failed
       by the next one, which fetches the page again.
A deleted article has no document: whoever finds that it is gone removes what was stored of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from models.article import Article, FullText
from models.document import CreatedBy, DocumentProduct, FileObject, FileRole
from models.errors import ChangedMeanwhile, NotFound, ToolpulseError, Unavailable
from models.feed import host_of_address
from models.locator import DocumentAlias, document_key
from models.run import MAX_ERRORS_KEPT, WORKER_DIED, Attempt, JobRun
from models.states import AcquisitionStatus, ValidationStatus
from models.values import format_time, unix_milliseconds
from services import deadline
from services.archive.keys import folder_of
from services.articles.merge import with_analysis_due
from services.articles.writing import Announce
from services.documents import life_cycle
from services.documents.archived import Removal
from services.documents.documents import Documents
from services.documents.judging import PageFinding, Text, Unknown, Wanted, Withheld
from services.documents.pages import Failed, PageFetch
from services.feeds.hosts import cooling_of
from services.feeds.outages import HostStates
from services.fetch.addresses import is_loopback
from services.logs import log_event
from services.ports import Archive, Clock, Document, Operation, Replace, Store, Upsert, listed_documents
from services.store.change import change
from services.store.containers import ARTICLES, DOCUMENTS, LOCATORS, RUNS
from services.work import rules
from services.work.handling import Worked
from services.work.runs import RunEngine

log = logging.getLogger("toolpulse.documents")

TEXT_TYPE = "text/plain; charset=utf-8"
ARCHIVE_UNAVAILABLE = "ARCHIVE_UNAVAILABLE"
PAUSE_SECONDS = 1.0
"""Between two pages of a host, unless its robots.txt asks for more."""


class _Overtaken(Exception):
    """Another worker has changed the document."""


@dataclass
class _Try:
    """One try: the document as it is stored, its article, the run, and when it began, with the fraction of a second
    that documents do not have. `files`: what it has put into the archive."""

    document: DocumentProduct
    article: Article
    run_id: str
    began: datetime
    files: list[FileObject] = field(default_factory=list)
    error: str | None = None
    status_code: int | None = None


@dataclass
class Acquisition:
    """Acquires the documents of one message, each by the steps above."""

    store: Store
    archive: Archive
    documents: Documents
    engine: RunEngine
    pages: PageFetch
    hosts: HostStates
    announce: Announce
    clock: Clock

    async def work(self, source_ids: Sequence[str], *, alone: bool) -> Worked:
        """Tries those documents that are due, until the deadline. The run is stored when it has ended: the attempt of a
        worker that dies is recorded by the next one."""
        began, run_id, attempts = self.clock(), uuid.uuid4().hex, list[Attempt]()
        due = await self._due(source_ids)
        if not due:
            return Worked()
        cooling = cooling_of(await self.hosts.listed(), began)
        if cooling.in_outage or all(host_of_address(_url(each)) in cooling.closed for each in due):
            await self._back_off(due)
            return Worked()
        left = list(due)
        while left and not deadline.is_near():
            if len(left) < len(due):
                await asyncio.sleep(await self._pause_seconds(_url(left[0])))
            attempt = await self._attempt(run_id, left.pop(0))
            attempts += [] if attempt is None else [attempt]
        if attempts:
            await self.store.create(RUNS.name, run_of(run_id, attempts, began, self.clock()).to_document())
        await self.hosts.note(self.clock())
        return Worked(done=len(due) - len(left), left=[each.source_id for each in left])

    async def judged(self, source_id: str) -> tuple[Article, PageFinding]:
        """The article, and what its page in the archive is by the profiles of now. Nothing is written. Raises NotFound
        if one of them is gone."""
        article = await self._article(source_id)
        if article is None:
            raise NotFound("article: it has expired, so its full text is not acquired any more")
        document, file, page = await self.documents.archived(source_id, "RAW")
        wanted = _wanted(document, article)
        url = str((document.provenance or {}).get("url") or wanted.url)
        return article, await self.pages.judged(page, file.content_type, replace(wanted, url=url))

    async def _due(self, source_ids: Sequence[str]) -> list[DocumentProduct]:
        keys = [(each, DocumentProduct.ID) for each in dict.fromkeys(source_ids)]
        found = await self.store.read_many(DOCUMENTS.name, keys)
        documents = listed_documents(found, DocumentProduct.from_document, "source_id").items
        now = self.clock()
        return [each for each in documents if life_cycle.is_due(each, now)]

    async def _pause_seconds(self, url: str) -> float:
        if is_loopback(host_of_address(url)):
            return 0.0
        return max(PAUSE_SECONDS, await self.pages.robots.delay_seconds(url))

    async def _attempt(self, run_id: str, document: DocumentProduct) -> Attempt | None:
        """Tries to acquire the document, and returns the record of the try; None if no request was sent, or if another
        worker changed the document since it was read."""
        with contextlib.suppress(_Overtaken):
            article = await self._article(document.source_id)
            if article is not None:
                return await self._tried(await self._claimed(document, article, run_id))
        if await self._article(document.source_id) is None:
            await Removal(self.store, self.archive).remove(document.source_id, document)
        return None

    async def _back_off(self, documents: Sequence[DocumentProduct]) -> None:
        """Leaves documents of a host that cools down, for all workers, to a later try."""
        now = self.clock()
        for each in documents:
            with contextlib.suppress(_Overtaken):
                after = life_cycle.backed_off(each, now + life_cycle.FIRST_WAIT, "HOST_COOLS_DOWN", now)
                await self._saved(each, after)

    async def _article(self, source_id: str) -> Article | None:
        return _live(await self.store.read(ARTICLES.name, source_id, Article.ID))

    async def _claimed(self, document: DocumentProduct, article: Article, run_id: str) -> _Try:
        now = self.clock()
        died = life_cycle.interrupted(document, now)
        if died is not None:
            await self.engine.note(died)
        if life_cycle.is_exhausted(document):
            await self._saved(document, life_cycle.failed(document, WORKER_DIED, None, now))
            raise _Overtaken
        return _Try(await self._saved(document, life_cycle.claimed(document, run_id, now)), article, run_id, now)

    async def _tried(self, one: _Try) -> Attempt | None:
        """An unforeseen error ends the try of this document only. It is logged, and the document is tried again."""
        try:
            after = await self._outcome(one)
        except Unavailable as error:  # of the archive: without the store, the try cannot end
            one.error = str(error)
            after = life_cycle.failed(one.document, ARCHIVE_UNAVAILABLE, None, self.clock())
        except (ToolpulseError, _Overtaken):
            raise
        except Exception as error:
            log.exception("document_not_acquired source_id=%s", one.document.source_id)
            after = life_cycle.failed(one.document, type(error).__name__.upper(), None, self.clock())
        if after.acquisition_status == "SKIPPED_BACKOFF":
            await self._saved(one.document, after)
            return None
        return await self._end(one, after)

    async def _outcome(self, one: _Try) -> DocumentProduct:
        """The document after the try, not stored yet."""
        document = one.document
        holder = await self._holder(document)
        if holder is not None:
            return life_cycle.duplicate(document, holder, self.clock())
        found = await self.pages.fetch(_wanted(document, one.article))
        now = self.clock()
        if isinstance(found, Withheld):
            return life_cycle.unavailable(document, found.reason, now)
        one.status_code = found.status_code
        if isinstance(found, Failed) and found.not_tried:
            until = now + (found.wait or life_cycle.FIRST_WAIT)
            return life_cycle.backed_off(document, until, found.fingerprint, now)
        if isinstance(found, Failed):
            one.error = found.error
            return life_cycle.failed(document, found.fingerprint, found.wait, now)
        raw = await self._file(one, found.body, "RAW", found.content_type)
        document = life_cycle.acquired(document, raw, found.url, found.etag, now)
        if isinstance(found.verdict, Unknown):
            context = f"{found.verdict.why} ({found.verdict.fingerprint})\n\n{found.verdict.seen}"
            await self._file(one, context.encode(), "QUARANTINE_CONTEXT", TEXT_TYPE)
            return await self.documents.quarantine(document, one.article, found.verdict, now)
        text = await self._file(one, found.verdict.text.encode(), "NORMALIZED", TEXT_TYPE)
        await self._name_in_article(document, text, found.verdict)
        return life_cycle.valid(document, found.verdict.extracted, now)

    async def _name_in_article(self, document: DocumentProduct, file: FileObject, text: Text) -> None:
        """Has the article name its full text, and makes its analysis due, unless the article was edited meanwhile."""
        wanted = FullText(
            archive_key=file.archive_key,
            sha256=file.sha256,
            characters=len(text.text),
            revision=document.revision or "",
            extraction_profile_id=text.extracted["extraction_profile_id"],
        )

        def named(found: Document | None) -> Document | None:
            article = _live(found)
            if found is None or article is None:
                raise _Overtaken
            if article.full_text == wanted or article.canonical.revision != wanted.revision:
                return None
            now = self.clock()
            return with_analysis_due(found, article.changed(now, full_text=wanted).to_document(), format_time(now))

        await change(self.store, ARTICLES.name, document.source_id, Article.ID, named)
        await self.announce([document.source_id])

    async def _end(self, one: _Try, after: DocumentProduct) -> Attempt:
        """Records the attempt, and ends the try."""
        record = _record(one, after, self.clock())
        await self.engine.note(record)
        await self._saved(one.document, after, one.files)
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

    async def _file(self, one: _Try, data: bytes, role: FileRole, content_type: str) -> FileObject:
        """Puts the bytes into the archive, as a file of the try that expires with the document. A new revision of the
        article does not replace the files of the revision before."""
        document, now = one.document, self.clock()
        stored = await self.archive.put(folder_of(document.source_id, document.folder_day), data)
        file = FileObject(
            created_at=now,
            ttl_timestamp=document.ttl_timestamp,
            source_id=document.source_id,
            role=role,
            name=(document.revision or "page")[:40] if role != "QUARANTINE_CONTEXT" else "context",
            content_type=content_type,
            **stored._asdict(),
            created_by=CreatedBy(workflow=life_cycle.WORKFLOW, job_run_id=one.run_id),
        )
        one.files.append(file)
        return file

    async def _holder(self, document: DocumentProduct) -> str | None:
        """The article whose document has the page already. Else the locator alias of the page becomes this one's."""
        now, key = self.clock(), document_key(document.locator_identity)
        known = await self.store.read(LOCATORS.name, key, key)
        holder = document.source_id if known is None else str(known["source_id"])
        if holder != document.source_id and await self._has_page(holder, document):
            return holder
        alias = DocumentAlias(
            created_at=now,
            ttl_timestamp=document.ttl_timestamp,
            provider=document.provider,
            locator_identity=document.locator_identity,
            source_id=document.source_id,
            data_product_id=document.data_product_id,
        )
        if known is None or holder != document.source_id:
            await self.store.upsert(LOCATORS.name, alias.to_document())
        return None

    async def _has_page(self, source_id: str, document: DocumentProduct) -> bool:
        """Whether the article's document is of this page still: the article may be gone, or have another page now."""
        found = await self.store.read(DOCUMENTS.name, source_id, DocumentProduct.ID)
        return found is not None and found["locator_identity"] == document.locator_identity


def counted_as(validation: ValidationStatus, acquisition: AcquisitionStatus) -> str:
    """The count of the run that a try with this end adds to."""
    if validation == "TERMINAL_INVALID":
        return "failed"
    return "quarantined" if validation == "QUARANTINED" else acquisition.partition("_")[0].lower()


def _record(one: _Try, after: DocumentProduct, now: datetime) -> Attempt:
    """The attempt as it ended. What a site does not give, and what waits for a person, is no failure of the try."""
    has_failed = after.acquisition_status == "FAILED_RETRYABLE"
    attempt = Attempt.started(one.run_id, life_cycle.TASK, after.source_id, after.attempt_count, one.began)
    return attempt.changed(
        now,
        status="FAILED" if has_failed else "SUCCEEDED",
        duration_ms=max(0, round((now - one.began).total_seconds() * 1000)),
        ended_ms=unix_milliseconds(now),
        counts={counted_as(after.validation_status, after.acquisition_status): 1},
        status_code=one.status_code,
        error_fingerprint=after.last_error_fingerprint,
        error_type=(after.last_error_fingerprint or "failed") if has_failed else None,
        error_message=((one.error or "")[: rules.LONGEST_REASON] or None) if has_failed else None,
    )


def run_of(run_id: str, attempts: Sequence[Attempt], began: datetime, now: datetime) -> JobRun:
    """The run of these attempts as it ended."""
    errors = [f"{each.subject}: {each.error_message or each.error_type}" for each in attempts if each.error_type]
    begun = JobRun.queued(life_cycle.WORKFLOW, run_id, began).begun(None, began)
    return begun.ended(rules.status_of(attempts), now).changed(
        now,
        progress=len(attempts),
        metrics=dict(Counter(name for each in attempts for name in each.counts)),
        errors=tuple(errors[:MAX_ERRORS_KEPT]),
    )


def _live(document: Document | None) -> Article | None:
    """The article, unless it was deleted."""
    article = Article.from_document(document) if document is not None else None
    return article if article is not None and article.deleted_at is None else None


def _wanted(document: DocumentProduct, article: Article) -> Wanted:
    reading, characters = article.canonical, len(article.text_for_analysis or "")
    publishers = {reading.publisher, *(each.source_name for each in article.source_attribution.values())}
    names = tuple(sorted(each for each in publishers if each))
    known = {"provider": document.provider, "hints": document.hints or {}}
    return Wanted(reading.headline, names, characters, _url(document), known)


def _url(document: DocumentProduct) -> str:
    return document.locators[0].value
