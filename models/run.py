"""Runs of work and their attempts. Only services/work/runs.py writes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue, model_validator

from models.comparison import Comparison
from models.states import ATTEMPT, RUN, AttemptStatus, Machine, RunStatus
from models.stored import StoredDocument
from models.tool import ANALYZE
from models.values import (
    Count,
    IdPart,
    Share,
    SourceKey,
    Text,
    Time,
    UnixSeconds,
    Value,
    hour_key,
    internal,
    lives,
    optional,
    parse_time,
    unix_milliseconds,
)


def attempt_id(task: str, subject: str, number: int, started_at: datetime) -> str:
    stamp = f"{hour_key(started_at)}{parse_time(started_at):%M%S}"
    return f"ATTEMPT:{task}:{subject}:{number}:{stamp}"


INGEST_FEEDS = "ingest_feeds"
"""The workflow of ingestion."""

STAGE_WORKFLOWS = (ANALYZE, "group_headlines", "generate_ideas")
"""The stages that follow every new article: an invocation is a run."""

CLOSE = "close_days"
"""The daily close: a call that closes days, or goes on with a day, is a run."""

BACKFILL = "backfill_tools"
REANALYZE = "reanalyze_tool"
COMPARE = "compare_analyzers"
MERGE = "merge_tool"
PRIORITIZE = "apply_source_priority"
DELETE = "delete_article"
SPLIT_ARTICLE = "split_article"
CORRECT_GROUPING = "correct_grouping"
CORRECT = "correct_mention"

LONG_WORKFLOWS = (
    *(BACKFILL, REANALYZE, COMPARE, MERGE, PRIORITIZE, DELETE),
    *(SPLIT_ARTICLE, CORRECT_GROUPING, CORRECT),
)
"""The workflows that are carried out page by page."""

WORKFLOWS = (INGEST_FEEDS, "refresh_cache", "acquire_documents", *STAGE_WORKFLOWS, CLOSE, *LONG_WORKFLOWS)
"""All workflows: lists of runs can be filtered by them."""

CountName = Literal[
    "articles", "analyzed", "mentions", "removed", "rescored", "corrections", "compared", "changed", "not_compared"
]
"""What the pages of workflows count. The contract names each of them."""

FETCH_FEED = "fetch_feed"
RELEASE_BATCH = "let_in_held_batch"
"""The tasks of ingestion: fetching a feed, and ingesting a batch that was released from quarantine."""

ALL_FEEDS, WATCHING = "*", "-"
"""What a worker tries, besides one feed."""

MAX_ERRORS_KEPT = 50
"""The most errors that a run or an attempt stores."""

WORKER_DIED = "worker_died"
"""The error type of an attempt without an end."""


def _rate(data: Mapping[str, Any]) -> float:
    fetched = sum(data["articles_fetched"].values())
    return round(data["collisions_detected"] / fetched, 4) if fetched else 0.0


class CollisionMetrics(Value):
    """How much sources overlap in one run. `collision_rate` is computed from the counts if it is not given."""

    invocation_id: Text = Field(description="The function call that did the work.")
    timestamp: Time = Field(description="When it began.")
    articles_fetched: dict[SourceKey, Count] = Field(description="Entries that were read, by source.")
    articles_stored: Count = Field(description="Articles that it created.")
    collisions_detected: Count = Field(description="Entries that joined an article of another source.")
    collision_rate: Share = Field(default_factory=_rate, description="Their share of the entries.")
    duration_ms: Count = Field(description="How long it took.")

    @classmethod
    def of(cls, run: JobRun, attempts: Sequence[Attempt]) -> Self:
        """Those of a run as it ended. Each attempt counts only what it added itself."""
        fetched: Counter[str] = Counter()
        for each in attempts:
            fetched[each.subject] += each.articles_found or 0
        return cls(
            invocation_id=run.invocation_id or run.run_id,
            timestamp=run.running_since or run.started_at,
            articles_fetched=dict(fetched),
            articles_stored=sum(each.articles_stored or 0 for each in attempts),
            collisions_detected=sum(each.collisions_detected or 0 for each in attempts),
            duration_ms=run.duration_ms,
        )

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
    run_id: IdPart = Field(description="The id of the run.")


class JobRun(_InRun):
    """One execution of a workflow: QUEUED when it is accepted, RUNNING when a worker begins it, then finished.

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
    workflow_name: IdPart = Field(description=f"The kind of work: {', '.join(f'`{each}`' for each in WORKFLOWS)}.")
    invocation_id: Text | None = internal(
        "The function call that last began the run, as in the host's log; null for a run of the command line."
    )
    status: RunStatus = Field(
        default="QUEUED",
        description="`QUEUED`, `RUNNING`, `SUCCEEDED`, `PARTIAL` (some of the work failed) or `FAILED`.",
    )
    started_at: Time = Field(description="When the run was accepted.")
    running_since: Time | None = optional("When a worker last began it.")
    ended_at: Time | None = optional("When it ended; null before.")
    began_ms: Count | None = optional("`running_since` in Unix milliseconds.")
    ended_ms: Count | None = optional("`ended_at` in Unix milliseconds.")
    subject: IdPart | None = optional(
        "The feed, tool or article of the run; `sentiment_cache` of a refresh; null if it has none."
    )
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    checkpoint: dict[str, JsonValue] | None = internal(
        "Where the next page of a workflow begins; after a crash the run goes on there."
    )
    progress: Count = Field(
        default=0, description="Number of feeds, tools, articles or mentions that the run went through."
    )
    batches: Count | None = optional("Number of batches of a refresh; otherwise null.")
    metrics: Any = None
    report: Comparison | None = None
    errors: tuple[Text, ...] = Field(
        default=(), description="At most 50 failures, each with the feed, tool or article."
    )
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

    @staticmethod
    def queued(
        workflow: str, run_id: str, now: datetime, subject: str | None = None, parameters: dict[str, Any] | None = None
    ) -> JobRun:
        """A run that was accepted, and waits for its message."""
        return kind_of_run(workflow)(
            created_at=now,
            run_id=run_id,
            workflow_name=workflow,
            started_at=now,
            subject=subject,
            parameters=parameters or {},
        )

    def begun(self, invocation_id: str | None, now: datetime, **changes: Any) -> Self:
        """The run as RUNNING, with `changes`. A run that is RUNNING, SUCCEEDED or PARTIAL keeps its status."""
        if self.status not in ("QUEUED", "FAILED"):
            return self.changed(now, **changes) if changes else self
        return self.changed(
            now,
            **changes,
            status="RUNNING",
            running_since=self.running_since if self.status == "QUEUED" and self.running_since else now,
            began_ms=self.began_ms if self.status == "QUEUED" and self.began_ms else unix_milliseconds(now),
            ended_at=None,
            ended_ms=None,
            invocation_id=invocation_id,
        )

    def ended(self, status: RunStatus, now: datetime) -> Self:
        """The run with `status`. A run that had ended before keeps the time of its first end."""
        if self.is_finished:
            return self.changed(now, status=status)
        since = self.running_since or self.started_at
        ended_at = max(parse_time(now), since)
        return self.changed(now, status=status, ended_at=ended_at, ended_ms=unix_milliseconds(now), due_at=None)

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

    Once workers have died, the run notes what the present one tries: a feed, ALL_FEEDS, or nothing yet (WATCHING).
    `deaths` counts those that died at one feed, by feed; null while all feeds are tried at once.
    """

    COMPUTED: ClassVar[tuple[str, ...]] = ("is_quiet",)

    workflow_name: Literal["ingest_feeds"] = "ingest_feeds"
    claimed: dict[SourceKey, str] = Field(default_factory=dict)
    hosts: tuple[Text, ...] = ()
    feeds: tuple[SourceKey, ...] = ()
    tickers_processed: tuple[Text, ...] = ()
    sources_queried: tuple[SourceKey, ...] = ()
    metrics: CollisionMetrics | None = None
    trying: Text | None = None
    deaths: dict[SourceKey, Count] | None = None

    def taken_over(self, *, has_died: bool) -> dict[str, Any]:
        """The changes by the end of the worker before: a death counts against what the worker had noted. If it noted
        nothing, it had no turn to try them; any other end clears all feeds."""
        if has_died and self.trying is None:
            return {}
        if not has_died or self.trying == WATCHING:
            return {"trying": None, "deaths": None}
        deaths = Counter(self.deaths or {})
        if self.trying not in (None, ALL_FEEDS):
            deaths[self.trying] += 1
        return {"trying": None, "deaths": dict(deaths)}

    @property
    def is_quiet(self) -> bool:
        """Whether the run succeeded, and nothing new came: no article, no further source of one, no waiting entry."""
        if self.status != "SUCCEEDED" or self.errors or self.metrics is None:
            return False
        came = self.metrics.articles_stored or self.metrics.collisions_detected
        return not came and not [name for each in self.attempts for name in _CAME if each.get(name)]


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
    Tasks other than fetches count in `counts`.
    """

    STATES: ClassVar[Mapping[str, Machine]] = {"status": ATTEMPT}

    entity_type: Literal["Attempt"] = "Attempt"
    task_name: IdPart = Field(
        description="`fetch_feed`; `let_in_held_batch`: ingesting a released batch; `acquire_document`: one try at a "
        "full text; `refresh_tools`: one batch of a refresh; or the name of the workflow: one page of it."
    )
    subject: IdPart = Field(description="The feed; the article; `batch:0001`; or `page:0001`.")
    attempt_no: int = Field(strict=True, ge=1, description="Number of the try, from 1.")
    status: AttemptStatus = Field(default="STARTED", description="`STARTED`, `SUCCEEDED` or `FAILED`.")
    started_at: Time = Field(description="When the attempt began.")
    ended_ms: Count | None = optional("When it ended, in Unix milliseconds; null for attempts at a feed.")
    duration_ms: Count | None = optional("How long it took; for a fetch, as `last_duration_ms` of the feed.")
    error_type: Text | None = optional(
        "The kind of failure: `timeout`, `dns`, `tls`, `connection`, `not_found`, `gone`, `unauthorized`, `blocked` "
        "(a page that keeps programs out), `rate_limited`, `client_error`, `server_error`, `bad_response`, "
        "`too_large`, `redirect_loop`, `refused_address`, `invalid_url`, `duplicate`, `breaker_open` (the host failed "
        "too often just before), `postponed` (the worker had no time left for a large document), `html`, `not_a_feed`, "
        "`not_json`, `empty`, `refused` (by a news API), `worker_died`, `internal_error` (an unexpected exception, "
        "which `error_message` names), or, in other tasks than ingestion, the name of an exception."
    )
    error_message: str | None = Field(default=None, max_length=500, description="The failure in words.")
    error_fingerprint: Text | None = internal("A short name, the same for the same kind of failure.")
    status_code: Count | None = optional("HTTP status of the response.")
    articles_found: Count | None = optional("Entries that could be read.")
    articles_new: Count | None = optional("Articles that were new to the feed.")
    articles_stored: Count | None = optional("Articles that the attempt created.")
    articles_held: Count | None = optional("Entries that were put into quarantine.")
    articles_skipped: Count | None = optional(
        "Entries that were left for later polls; `entries_skipped` of the feed has the reasons."
    )
    collisions_detected: Count | None = optional("Articles of other sources that the feed was added to.")
    progress: Count | None = optional(
        "Number of tools, articles or mentions that the attempt went through; null for attempts at a feed."
    )
    counts: dict[Text, Count] = Field(
        default_factory=dict,
        description="As `metrics` of the run, for this attempt; a refresh also counts the mentions of its tools in "
        "the last 7 days by sentiment.",
    )
    errors: tuple[Text, ...] = Field(default=(), description="At most 50 failures within the attempt.")
    tool_ids: tuple[IdPart, ...] = Field(
        default=(), description="Tools that the attempt refreshed, or whose figures it changed."
    )
    unscored_tools: tuple[IdPart, ...] = Field(
        default=(), description="The refreshed tools of which most mentions of the last 7 days are unscored."
    )

    @property
    def id(self) -> str:
        return attempt_id(self.task_name, self.subject, self.attempt_no, self.started_at)

    @classmethod
    def started(cls, run_id: str, task: str, subject: str, number: int, now: datetime) -> Self:
        """An attempt that is under way."""
        return cls(
            created_at=now,
            run_id=run_id,
            task_name=task,
            subject=subject,
            attempt_no=number,
            started_at=now,
        )

    def succeeded(self, duration_ms: int, now: datetime, **figures: Any) -> Self:
        return self.changed(
            now, status="SUCCEEDED", duration_ms=duration_ms, ended_ms=unix_milliseconds(now), **figures
        )

    def failed(self, why: str, duration_ms: int, now: datetime) -> Self:
        """The attempt as FAILED, for a reason that begins with the kind of the error."""
        kind, _, message = why.partition(": ")
        return self.changed(
            now,
            status="FAILED",
            duration_ms=duration_ms,
            ended_ms=unix_milliseconds(now),
            error_type=kind,
            error_message=message or None,
        )

    def worker_died(self, now: datetime) -> Self:
        """A STARTED attempt whose end will not be recorded."""
        return self.changed(
            now,
            status="FAILED",
            error_type=WORKER_DIED,
            error_message="no end was recorded: its worker died, or another delivery took over the run",
            error_fingerprint=WORKER_DIED,
        )

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
