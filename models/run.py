"""Runs of work and their attempts. Only services/work/runs.py writes them."""

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


INGEST_FEEDS = "ingest_feeds"
"""The workflow of ingestion."""

STAGE_WORKFLOWS = ("analyze_articles", "group_headlines", "generate_ideas")
"""The stages that follow every new article: an invocation is a run."""

WORKFLOWS = (
    *(INGEST_FEEDS, "refresh_cache", "acquire_documents", "backfill_tools", "reanalyze_tool", "compare_analyzers"),
    *STAGE_WORKFLOWS,
    *("merge_tool", "apply_source_priority", "delete_article", "split_article"),
    *("correct_grouping", "correct_mention"),
)
"""All workflows: lists of runs can be filtered by them."""

CountName = Literal[
    "articles", "analyzed", "mentions", "removed", "rescored", "corrections", "compared", "changed", "not_compared"
]
"""What the pages of workflows count. The contract names each of them."""

FETCH_FEED = "fetch_feed"
RELEASE_BATCH = "let_in_held_batch"
"""The tasks of ingestion: fetching a feed, and ingesting a batch that was released from quarantine."""

MAX_ERRORS_KEPT = 50
"""The most errors that a run or an attempt stores."""

WORKER_DIED = "worker_died"
"""The error type of an attempt without an end."""


def _rate(data: Mapping[str, Any]) -> float:
    fetched = sum(data["articles_fetched"].values())
    return round(data["collisions_detected"] / fetched, 4) if fetched else 0.0


class CollisionMetrics(Value):
    """How much sources overlap in one run. `collision_rate` is computed from the counts if it is not given."""

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
    """A document of the container `runs`."""

    CONTAINER: ClassVar[str] = "runs"
    PARTITION_FIELD: ClassVar[str] = "run_id"

    ttl_timestamp: UnixSeconds | None = lives(days=14)
    run_id: IdPart

    @property
    def partition(self) -> str:
        return self.run_id


class JobRun(_InRun):
    """One execution of a workflow: QUEUED when it is accepted, RUNNING when a worker begins it, then finished.

    `started_at` is when the run was accepted, `running_since` when a worker last began it, `invocation_id` the function
    call of that worker (a run from the command line has none). `began_ms` and `ended_ms` are `running_since` and
    `ended_at` in Unix milliseconds.
    `subject` is what the run is about (a tool, a feed); `checkpoint` is where its next page begins; `report` is what
    the pages so far have found, of a workflow that reports.
    `attempts` are those in the document of the run, as `Attempt.in_run` gives them: of runs on which one worker at a
    time works. `due_at` is when a worker is to be told of the run, of a workflow or an ingestion: at once when it is
    accepted, and later than any invocation lasts while a worker has it. `invocations` counts the workers of an
    ingestion that began it. Status, `progress`, `metrics` and `errors` of a finished run follow
    from the attempts.
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
    began_ms: Count | None = None
    ended_ms: Count | None = None
    subject: IdPart | None = None
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    checkpoint: dict[str, JsonValue] | None = None
    progress: Count = 0
    batches: Count | None = None
    metrics: Any = None
    report: dict[str, JsonValue] | None = None
    errors: tuple[Text, ...] = ()
    attempts: tuple[dict[str, Any], ...] = ()
    due_at: Time | None = None
    invocations: Count = 0

    def to_document(self) -> dict[str, Any]:
        document = super().to_document()
        if not document.get("is_quiet", True):
            del document["is_quiet"]
        for name in ("attempts", "invocations"):
            if not document[name]:
                del document[name]
        return document

    @property
    def is_finished(self) -> bool:
        return self.status in self.FINISHED

    @property
    def duration_ms(self) -> int:
        """The time from `running_since` to the end; 0 before the end, and if no worker began the run."""
        if self.began_ms is None or self.ended_ms is None:
            return 0
        return max(0, self.ended_ms - self.began_ms)

    @model_validator(mode="after")
    def _ends_when_finished(self) -> Self:
        if self.is_finished != (self.ended_at is not None):
            raise ValueError("ended_at must be there if, and only if, the run has finished")
        return self


_CAME = ("articles_new", "articles_stored", "articles_held", "articles_skipped")
"""The counts of an attempt that say that a feed brought something."""


class IngestionBatch(JobRun):
    """The run of one ingestion batch: the specification's batch_id is `run_id`, its completed_at is `ended_at`.

    `claimed` are the feeds that the run is for, each with its `last_fetch_time` when it was claimed (empty before the
    first fetch): a feed that was fetched since is left alone. `hosts` are the hosts that they are fetched from. Until
    the run is over, no other run is to fetch either. `feeds` are the feeds with an attempt. `is_quiet` is stored if it
    is true: lists of runs leave such runs out.
    """

    COMPUTED: ClassVar[tuple[str, ...]] = ("is_quiet",)

    workflow_name: Literal["ingest_feeds"] = "ingest_feeds"
    claimed: dict[SourceKey, str] = Field(default_factory=dict)
    hosts: tuple[Text, ...] = ()
    feeds: tuple[SourceKey, ...] = ()
    tickers_processed: tuple[Text, ...] = ()
    sources_queried: tuple[SourceKey, ...] = ()
    metrics: CollisionMetrics | None = None

    @property
    def is_quiet(self) -> bool:
        """Whether the run succeeded, and nothing new came: no article, no further source of one, no waiting entry."""
        if self.status != "SUCCEEDED" or self.errors or self.metrics is None:
            return False
        came = self.metrics.articles_stored or self.metrics.collisions_detected
        return not came and not any(each.get(name) for each in self.attempts for name in _CAME)

    @property
    def batch_id(self) -> str:
        return self.run_id

    @property
    def completed_at(self) -> datetime | None:
        return self.ended_at


class StageRun(JobRun):
    """The run of one invocation of a stage that follows every new article. If it succeeded it is quiet: lists of runs
    leave it out."""

    COMPUTED: ClassVar[tuple[str, ...]] = ("is_quiet",)

    @property
    def is_quiet(self) -> bool:
        return self.status == "SUCCEEDED"


def kind_of_run(workflow: object) -> type[JobRun]:
    """The model that the runs of `workflow` are read with."""
    if workflow == INGEST_FEEDS:
        return IngestionBatch
    return StageRun if workflow in STAGE_WORKFLOWS else JobRun


def read_run(document: Mapping[str, Any]) -> JobRun:
    """The run that is stored as `document`, as its own class. Raises UnreadableDocument."""
    return kind_of_run(document.get("workflow_name")).from_document(document)


_NOTHING_FOUND: Mapping[str, Any] = dict.fromkeys(
    ("articles_found", "articles_new", "articles_stored", "articles_held", "articles_skipped", "collisions_detected"), 0
)
"""The counts that an attempt at a feed always has, as most attempts have them."""


class Attempt(_InRun):
    """One try of one task on one subject. A fetch's `subject` is the feed, and the attempt its row of fetch_history.

    `articles_held` are those of `articles_found` that wait in the quarantine, `articles_skipped` those that are left
    for later polls. The other tasks count in `counts`;
    `progress` is how many items the attempt went through, `errors` names those that failed, and `tool_ids` are the
    tools that it refreshed, or whose figures it changed. `unscored_tools` are those of a refresh whose mentions are
    mostly unscored. `ended_ms` is the end of the attempt in Unix milliseconds.
    """

    STATES: ClassVar[Mapping[str, Machine]] = {"status": ATTEMPT}

    entity_type: Literal["Attempt"] = "Attempt"
    task_name: IdPart
    subject: IdPart
    attempt_no: int = Field(strict=True, ge=1)
    status: AttemptStatus = "STARTED"
    started_at: Time
    ended_ms: Count | None = None
    duration_ms: Count | None = None
    error_type: Text | None = None
    error_message: str | None = Field(default=None, max_length=500)
    error_fingerprint: Text | None = None
    status_code: Count | None = None
    articles_found: Count | None = None
    articles_new: Count | None = None
    articles_stored: Count | None = None
    articles_held: Count | None = None
    articles_skipped: Count | None = None
    collisions_detected: Count | None = None
    progress: Count | None = None
    counts: dict[Text, Count] = Field(default_factory=dict)
    errors: tuple[Text, ...] = ()
    tool_ids: tuple[IdPart, ...] = ()
    unscored_tools: tuple[IdPart, ...] = ()

    @property
    def id(self) -> str:
        return attempt_id(self.task_name, self.subject, self.attempt_no, self.started_at)

    def in_run(self) -> dict[str, Any]:
        """The attempt as its run stores it: without fields that `of_run` can restore."""
        fields = self.model_dump(mode="json", exclude_defaults=True)
        for name in ("run_id", "created_at", "ttl_timestamp"):
            fields.pop(name, None)
        usual = {"task_name": FETCH_FEED, "updated_at": fields["started_at"], **_NOTHING_FOUND}
        return {name: value for name, value in fields.items() if value != usual.get(name)}

    @classmethod
    def of_run(cls, run: JobRun, fields: Mapping[str, Any]) -> Self:
        """The attempt that `run` stores as `fields`. Raises UnreadableDocument."""
        began = fields.get("started_at")
        usual = {"task_name": FETCH_FEED, "created_at": began, "updated_at": began}
        if fields.get("task_name", FETCH_FEED) in (FETCH_FEED, RELEASE_BATCH):
            usual |= _NOTHING_FOUND
        return cls.from_document({**usual, **fields, "run_id": run.run_id, "ttl_timestamp": run.ttl_timestamp})

    @model_validator(mode="after")
    def _failure_has_a_type(self) -> Self:
        if (self.status == "FAILED") != (self.error_type is not None):
            raise ValueError("error_type must be there if, and only if, the attempt failed")
        return self
