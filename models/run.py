"""Runs of work that was accepted, the attempts within them, and the completions that tell when all is done."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue, model_validator

from models.states import ATTEMPT, RUN, AttemptStatus, Machine, RunStatus
from models.stored import StoredDocument
from models.values import Count, IdPart, Share, SourceKey, Text, Time, UnixSeconds, Value, hour_key, lives, parse_time


def attempt_id(task: str, subject: str, number: int, started_at: datetime) -> str:
    stamp = f"{hour_key(started_at)}{parse_time(started_at):%M%S}"
    return f"ATTEMPT:{task}:{subject}:{number}:{stamp}"


def done_id(batch: str) -> str:
    return f"DONE:{batch}"


def _rate(data: Mapping[str, Any]) -> float:
    fetched = sum(data["articles_fetched"].values())
    return min(1.0, round(data["collisions_detected"] / fetched, 4)) if fetched else 0.0


class CollisionMetrics(Value):
    """How well sources overlap in one run. `collision_rate` follows from the counts if it is not given."""

    invocation_id: Text
    timestamp: Time
    articles_fetched: dict[SourceKey, Count]
    articles_stored: Count
    collisions_detected: Count
    collision_rate: Share = Field(default_factory=_rate)
    duration_ms: Count

    @model_validator(mode="after")
    def _rate_follows(self) -> Self:
        fetched = sum(self.articles_fetched.values())
        if self.collisions_detected > fetched:
            raise ValueError("collisions_detected must be at most the sum of articles_fetched")
        if abs(self.collision_rate * fetched - self.collisions_detected) > 0.01 * fetched:
            raise ValueError("collision_rate must be collisions_detected / the sum of articles_fetched")
        return self


class _InRun(StoredDocument):
    CONTAINER: ClassVar[str] = "runs"
    PARTITION_FIELD: ClassVar[str] = "run_id"

    ttl_timestamp: UnixSeconds | None = lives(days=14)
    run_id: IdPart

    @property
    def partition(self) -> str:
        return self.run_id


class JobRun(_InRun):
    """One execution of a workflow. `started_at` is when it was accepted, `running_since` when a worker took it up, and
    `invocation_id` the function's that did so; a run from the command line has none.

    `subject` is what it is about (a tool, a feed); `checkpoint` is where a resumed run goes on.
    """

    ID: ClassVar[str] = "RUN"
    STATES: ClassVar[Mapping[str, Machine]] = {"status": RUN}
    FINISHED: ClassVar[tuple[RunStatus, ...]] = ("SUCCEEDED", "FAILED", "PARTIAL")

    entity_type: Literal["JobRun"] = "JobRun"
    workflow_name: IdPart
    invocation_id: Text | None = None
    status: RunStatus = "QUEUED"
    started_at: Time
    running_since: Time | None = None
    ended_at: Time | None = None
    subject: IdPart | None = None
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    checkpoint: dict[str, JsonValue] | None = None
    progress: Count = 0
    batches: Count | None = None
    metrics: Any = None
    errors: tuple[Text, ...] = ()

    @property
    def id(self) -> str:
        return self.ID

    @property
    def is_finished(self) -> bool:
        return self.status in self.FINISHED

    @model_validator(mode="after")
    def _ends_when_finished(self) -> Self:
        if self.is_finished != (self.ended_at is not None):
            raise ValueError("ended_at must be there if, and only if, the run has finished")
        return self


class IngestionBatch(JobRun):
    """The run of one ingestion batch: the specification's batch_id is `run_id`, its completed_at is `ended_at`."""

    workflow_name: Literal["ingest_feeds"] = "ingest_feeds"
    tickers_processed: tuple[Text, ...] = ()
    sources_queried: tuple[SourceKey, ...] = ()
    metrics: CollisionMetrics | None = None

    @property
    def batch_id(self) -> str:
        return self.run_id

    @property
    def completed_at(self) -> datetime | None:
        return self.ended_at


class Attempt(_InRun):
    """One try of one task on one subject. Of a fetch, `subject` is the feed, and this is its row of fetch_history.

    `articles_held` are those of `articles_found` that wait in the quarantine.
    `changed_source_ids` are the analysed articles that it changed: their events are sent again if the run is.
    """

    STATES: ClassVar[Mapping[str, Machine]] = {"status": ATTEMPT}

    entity_type: Literal["Attempt"] = "Attempt"
    task_name: IdPart
    subject: IdPart
    attempt_no: int = Field(strict=True, ge=1)
    status: AttemptStatus = "STARTED"
    started_at: Time
    duration_ms: Count | None = None
    error_type: Text | None = None
    error_message: str | None = Field(default=None, max_length=500)
    error_fingerprint: Text | None = None
    status_code: Count | None = None
    articles_found: Count | None = None
    articles_new: Count | None = None
    articles_stored: Count | None = None
    articles_held: Count | None = None
    collisions_detected: Count | None = None
    changed_source_ids: tuple[IdPart, ...] = ()

    @property
    def id(self) -> str:
        return attempt_id(self.task_name, self.subject, self.attempt_no, self.started_at)

    @model_validator(mode="after")
    def _failure_has_a_type(self) -> Self:
        if (self.status == "FAILED") != (self.error_type is not None):
            raise ValueError("error_type must be there if, and only if, the attempt failed")
        return self


class BatchDone(_InRun):
    """That one batch of a fanned-out run is through. Written once; whoever sees all of a run's closes it."""

    entity_type: Literal["BatchDone"] = "BatchDone"
    batch: IdPart
    subjects_done: tuple[IdPart, ...] = ()
    subjects_failed: tuple[IdPart, ...] = ()
    entries_written: Count = 0
    duration_ms: Count = 0

    @property
    def id(self) -> str:
        return done_id(self.batch)
