"""Ingesting what a message names: each feed asked, its document taken in, and the feed saved; then the run closed.

The feeds of a message are worked on side by side; one that fails is a value in the report, and one that breaks never
keeps the others from being saved. What is saved comes in this order: what was in the document, the attempt, the feed,
its `seen` document, this process's memory. So whatever a crash leaves undone is met undone by the next try.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from models.errors import ToolpulseError
from models.feed import Feed
from models.quarantine import QuarantineItem
from models.run import Attempt
from services.articles import runs
from services.articles.canonical import Moment
from services.articles.held import HeldBatches
from services.articles.left_over import left_over, with_left_over
from services.articles.messages import Claimed, FeedBatch, article_messages
from services.articles.poll import Answer, Asking
from services.articles.processing import Processed, Processing, moment_of
from services.articles.record import RunRecord
from services.articles.told import tell
from services.articles.totals import add_totals
from services.feeds.budget import Budget
from services.feeds.coverage import Coverage
from services.feeds.leases import AtWork, Lease, Leases
from services.feeds.outcome import Failure, after_failure, after_let_in, after_success, failure_of
from services.logs import log_event
from services.ports import Clock, Document, Store
from services.runs.attempts import saved_attempts
from services.store.containers import FEEDS, RUNS

log = logging.getLogger("toolpulse.ingest")

LAST_DELIVERY = 5
"""host.json's maxDequeueCount. What breaks once more then is an error of the feed, for somebody to see."""

SAVED_EVERY_SECONDS = 0.5
"""Feeds that are through are saved together, and do not wait longer than this for the slow ones."""


@dataclass(frozen=True, slots=True)
class IngestOutcome:
    """`article_ids`: the articles that are new or changed, all of them stored."""

    run_id: str
    article_ids: tuple[str, ...] = ()

    def messages(self, most: int) -> list[str]:
        """For `analyze-articles`, with at most so many articles each."""
        return article_messages(self.article_ids, most)


@dataclass(frozen=True, slots=True)
class _Through:
    """A feed that has been worked on, and what is still to be saved of it."""

    lease: Lease
    after: Feed
    attempt: Attempt
    processed: Processed = field(default_factory=Processed)
    let_in: QuarantineItem | None = None
    tries: int = 0


_Done = _Through | AtWork | None
"""None: the feed is not the message's any more."""


class Ingestion:
    def __init__(
        self,
        store: Store,
        asking: Asking,
        processing: Processing,
        budget: Budget,
        clock: Clock,
        chance: Callable[[], float],
        *,
        at_once: int,
    ) -> None:
        self._store = store
        self._asking = asking
        self._processing = processing
        self._budget = budget
        self._clock = clock
        self._chance = chance
        self._leases = Leases(store, clock)
        self._record = RunRecord(store, asking.tickers, clock)
        self._held = HeldBatches(store)
        self._coverage = Coverage(store)
        self._gate = asyncio.Semaphore(at_once)

    async def ingest(self, batch: FeedBatch, delivery: int = 1, invocation_id: str | None = None) -> IngestOutcome:
        """Does what the message says; `delivery` is how often it has been delivered, this time included, and
        `invocation_id` the function's, for the record of who took the run up.

        A feed whose claim is another's, or that another delivery is at work on, is left alone. Raises what was not
        foreseen, or Unavailable, once all else is saved: the message is to be delivered again.
        """
        begun = await self._record.begin(batch.run_id, delivery, invocation_id)
        if batch.held is not None:
            work = [asyncio.ensure_future(self._let_in(batch, batch.held, delivery))]
        else:
            documents = await self._store.read_many(FEEDS.name, [(each.feed_id, Feed.ID) for each in batch.feeds])
            left = await left_over(self._store, documents)
            work = [
                asyncio.ensure_future(self._fetch(batch.run_id, claim, document, delivery, left.get(claim.feed_id, ())))
                for claim, document in zip(batch.feeds, documents, strict=True)
            ]
        through, errors = await self._all_saved(work)
        if errors:
            raise _one_of(errors)
        attempts = await self._record.end(
            begun.run,
            [each.attempt for each in through],
            did_all=begun.alone and len(through) == len(work),
            elsewhere=[found.feed_id for each in work if isinstance(found := each.result(), AtWork)],
        )
        announced = [name for attempt in attempts for name in attempt.changed_source_ids]
        announced += [name for each in through for name in each.processed.taken.pending]
        return IngestOutcome(batch.run_id, tuple(dict.fromkeys(announced)))

    async def _fetch(
        self, run_id: str, claim: Claimed, document: Document | None, delivery: int, left: Sequence[Document]
    ) -> _Done:
        async with self._gate:
            lease = await self._leases.take_up(document, claim, delivery)
            if not isinstance(lease, Lease):
                return lease
            now = moment_of(lease.feed)
            try:
                return await self._fetched(run_id, lease, now, delivery, left)
            except ToolpulseError:
                raise
            except Exception as error:
                if delivery < LAST_DELIVERY:
                    raise
                log.exception("feed %s breaks what reads it", claim.feed_id)
                name = type(error).__name__
                return await self._failed(run_id, lease, now, delivery, Failure("internal_error", name, name))

    async def _fetched(
        self, run_id: str, lease: Lease, now: Moment, delivery: int, left: Sequence[Document]
    ) -> _Through:
        feed, processed = lease.feed, Processed()
        async with self._asking.asked(feed, now.at) as answer:
            if answer.document is not None:
                processed = await self._processing.process(feed, answer.document, now)
        processed = with_left_over(processed, feed, left, now)
        failure = failure_of(answer)
        if failure is not None:
            return await self._failed(run_id, lease, now, delivery, failure, processed)
        taken = processed.taken
        after = after_success(
            feed,
            _as_processed(answer, processed),
            len(taken.first),
            taken.published,
            now.at,
            await self._budget.policy(),
            self._chance(),
            seen=processed.seen is not None,
            quarantine_id=processed.quarantine_id,
        )
        attempt = runs.succeeded(
            run_id,
            feed.feed_id,
            runs.FETCH,
            delivery,
            now.at,
            found=processed.found,
            taken=taken,
            duration_ms=answer.result.duration_ms,
            status_code=answer.result.status_code,
        )
        return _Through(lease, after, attempt, processed)

    async def _failed(
        self,
        run_id: str,
        lease: Lease,
        now: Moment,
        delivery: int,
        failure: Failure,
        processed: Processed | None = None,
    ) -> _Through:
        processed = processed or Processed()
        after = after_failure(
            lease.feed,
            failure,
            now.at,
            await self._budget.policy(),
            self._chance(),
            new=len(processed.taken.first),
            in_part=processed.found > 0,
            seen=processed.seen is not None,
        )
        attempt = runs.failed(run_id, lease.feed.feed_id, delivery, now.at, failure, processed.found, processed.taken)
        return _Through(lease, after, attempt, processed, tries=failure.tries)

    async def _let_in(self, batch: FeedBatch, held: str, delivery: int) -> _Done:
        """Takes in a held batch, under the feed's claim: its figures are written by one at a time."""
        item = await self._held.approved(held)
        if item is None:
            return None
        if any(each.status == "SUCCEEDED" for each in await saved_attempts(self._store, batch.run_id)):
            await self._held.done(item, self._clock())  # a try saved it, and died before it said so
            return None
        document = await self._leases.claim_for(batch.run_id, item.subject)
        if document is None:
            await self._held.done(item, self._clock())  # the feed is gone, and its news with it
            return None
        claim = Claimed(item.subject, batch.run_id)
        lease = await self._leases.take_up(document, claim, delivery, even_disabled=True)
        if not isinstance(lease, Lease):
            return lease
        now = moment_of(lease.feed)
        processed = await self._processing.let_in(lease.feed, await self._held.items(item), now)
        left = await left_over(self._store, [document])
        processed = with_left_over(processed, lease.feed, left.get(item.subject, ()), now)
        attempt = runs.succeeded(
            batch.run_id,
            item.subject,
            runs.LET_IN,
            delivery,
            now.at,
            found=processed.found,
            taken=processed.taken,
            duration_ms=0,
            status_code=None,
        )
        after = after_let_in(lease.feed, len(processed.taken.first), now.at, held)
        return _Through(lease, after, attempt, processed, item)

    async def _all_saved(self, work: Sequence[asyncio.Future[_Done]]) -> tuple[list[_Through], list[BaseException]]:
        """What came of all the work, saved as it gets through, and what went wrong."""
        through: list[_Through] = []
        errors: list[BaseException] = []
        pending = set(work)
        try:
            while pending:
                done, pending = await asyncio.wait(pending, timeout=SAVED_EVERY_SECONDS)
                errors += [error for each in done if (error := each.exception()) is not None]
                ready = [each.result() for each in done if each.exception() is None]
                saved, failed = await self._save([each for each in ready if isinstance(each, _Through)])
                through += saved
                errors += failed
        finally:
            for each in pending:
                each.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
        return through, errors

    async def _save(self, ready: Sequence[_Through]) -> tuple[list[_Through], list[BaseException]]:
        """Those that were saved, and why others could not be; one whose claim is another's by now is neither."""
        if not ready:
            return [], []
        try:
            await self._store.write_many(RUNS.name, [each.attempt.to_document() for each in ready])
            results = await self._leases.save([(each.lease, each.after) for each in ready])
            saved = [each for each, result in zip(ready, results, strict=True) if result is True]
            seen = [each.processed.seen for each in saved if each.processed.seen is not None]
            if seen:
                await self._store.write_many(FEEDS.name, seen)
        except ToolpulseError as error:
            return [], [error]
        for each in saved:
            self._processing.remember(each.after, each.processed)
            if each.let_in is not None:
                await self._held.done(each.let_in, self._clock())
            tell(each.lease.feed, each.after, each.attempt, each.processed, each.tries)
        await self._note([each.attempt for each in saved])
        return saved, [result for result in results if isinstance(result, BaseException)]

    async def _note(self, attempts: Sequence[Attempt]) -> None:
        """For coverage and metrics, neither of which is worth doing the work again."""
        now = self._clock()
        try:
            if any(each.status == "SUCCEEDED" and each.task_name == runs.FETCH for each in attempts):
                await self._coverage.note(now)
            await add_totals(self._store, attempts, now)
        except ToolpulseError as error:
            log_event(log, logging.WARNING, "attempts_not_noted", error=type(error).__name__)


def _as_processed(answer: Answer, processed: Processed) -> Answer:
    """The answer as it turned out: with the entries that were refused later, and a lie only if it hid news."""
    lied = answer.lied and bool(processed.taken.first or processed.taken.changed)
    document = answer.document
    if document is not None and processed.refused:
        document = replace(document, skipped={**document.skipped, "refused": processed.refused})
    return replace(answer, document=document, lied=lied)


def _one_of(errors: Sequence[BaseException]) -> BaseException:
    """The error to raise: a bug before an outage, for that is what somebody must see."""
    return next((each for each in errors if not isinstance(each, ToolpulseError)), errors[0])
