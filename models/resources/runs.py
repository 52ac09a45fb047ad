"""A run of work and its attempts as the API shows them."""

from __future__ import annotations

from typing import Self

from pydantic import Field, JsonValue

from models.resources.base import Stored, View, added, internal, links, path
from models.resources.run_parts import ComparisonReport, Metrics, RunParameters, metrics_of
from models.run import FETCH_FEED, Attempt, IngestionBatch, JobRun, StageRun
from models.states import AttemptStatus, RunStatus
from models.values import Count, IdPart, Text, Time


class AttemptResource(Stored):
    """One try of one task of a run."""

    run_id: IdPart = Field(description="The run.")
    task_name: IdPart = Field(
        description="`fetch_feed`; `let_in_held_batch`: ingesting a released batch; `acquire_document`: one try "
        "at a full text; `refresh_tools`: one batch of a refresh; or the name of the workflow: one "
        "page of it."
    )
    subject: IdPart = Field(description="The feed; the article; `batch:0001`; or `page:0001`.")
    feed_id: str | None = Field(description="Of a fetch: the feed, which is the `subject`; else null.")
    attempt_no: int = Field(description="Number of the try, from 1.")
    status: AttemptStatus = Field(description="`STARTED`, `SUCCEEDED` or `FAILED`.")
    started_at: Time = Field(description="When the attempt began.")
    fetch_time: Time | None = Field(
        description="Of a fetch: `started_at` under the name of the specification; else null."
    )
    ended_ms: Count | None = Field(description="When it ended, in Unix milliseconds; null for attempts at a feed.")
    duration_ms: Count | None = Field(description="How long it took; for a fetch, as `last_duration_ms` of the feed.")
    error_type: Text | None = Field(
        description="The kind of failure: `timeout`, `dns`, `tls`, `connection`, `not_found`, `gone`, "
        "`unauthorized`, `blocked` (a page that keeps programs out), `rate_limited`, `client_error`, "
        "`server_error`, `bad_response`, `too_large`, `redirect_loop`, `refused_address`, "
        "`invalid_url`, `duplicate`, `breaker_open` (the host failed too often just before), "
        "`postponed` (the worker had no time left for a large document), `html`, `not_a_feed`, "
        "`not_json`, `empty`, `refused` (by a news API), `worker_died`, `internal_error` (an "
        "unexpected exception, which `error_message` names), or, in other tasks than ingestion, the "
        "name of an exception."
    )
    error_message: str | None = Field(description="The failure in words.")
    status_code: Count | None = Field(description="HTTP status of the response.")
    articles_found: Count | None = Field(description="Entries that could be read.")
    articles_new: Count | None = Field(description="Articles that were new to the feed.")
    articles_stored: Count | None = Field(description="Articles that the attempt created.")
    articles_held: Count | None = Field(description="Entries that were put into quarantine.")
    articles_skipped: Count | None = Field(
        description="Entries that were left for later polls; `entries_skipped` of the feed has the reasons."
    )
    collisions_detected: Count | None = Field(description="Articles of other sources that the feed was added to.")
    progress: Count | None = Field(
        description="Number of tools, articles or mentions that the attempt went through; null for attempts at a feed."
    )
    counts: dict[Text, Count] = Field(
        description="As `metrics` of the run, for this attempt; a refresh also counts the mentions of its tools "
        "in the last 7 days by sentiment."
    )
    errors: tuple[Text, ...] = Field(description="At most 50 failures within the attempt.")
    tool_ids: tuple[IdPart, ...] = Field(description="Tools that the attempt refreshed, or whose figures it changed.")
    unscored_tools: tuple[IdPart, ...] = Field(
        description="The refreshed tools of which most mentions of the last 7 days are unscored."
    )
    links: dict[str, str] = Field(description="Paths: the run, and the subject.")
    error_fingerprint: Text | None = internal("A short name, the same for the same kind of failure.")

    @classmethod
    def of(cls, attempt: Attempt, view: View = "default") -> Self:
        is_fetch = attempt.task_name == FETCH_FEED
        return cls.made(
            attempt,
            view,
            feed_id=attempt.subject if is_fetch else None,
            fetch_time=attempt.started_at if is_fetch else None,
            links=links(
                run=path("runs", attempt.run_id),
                feed=path("feeds", attempt.subject) if is_fetch else None,
            ),
        )


class RunResource(Stored):
    """One execution of a workflow."""

    run_id: IdPart = Field(description="The id.")
    workflow_name: IdPart = Field(
        description="The kind of work: `ingest_feeds`, `refresh_cache`, `acquire_documents`, `analyze_articles`, "
        "`group_headlines`, `generate_ideas`, "
        "`backfill_tools`, `reanalyze_tool`, `compare_analyzers`, `merge_tool`, "
        "`apply_source_priority`, `delete_article`, `split_article`, `correct_grouping` or `correct_mention`."
    )
    status: RunStatus = Field(
        description="`QUEUED`, `RUNNING`, `SUCCEEDED`, `PARTIAL` (some of the work failed) or `FAILED`."
    )
    subject: IdPart | None = Field(
        description="The feed, tool or article of the run; `sentiment_cache` of a refresh; null if it has none."
    )
    started_at: Time = Field(description="When the run was accepted.")
    running_since: Time | None = Field(description="When a worker last began it.")
    ended_at: Time | None = Field(description="When it ended; null before.")
    began_ms: Count | None = Field(description="`running_since` in Unix milliseconds.")
    ended_ms: Count | None = Field(description="`ended_at` in Unix milliseconds.")
    progress: Count = Field(description="Number of feeds, tools, articles or mentions that the run went through.")
    batches: Count | None = Field(description="Number of batches of a refresh; otherwise null.")
    parameters: RunParameters = Field(description="The input of the run, by workflow.")
    metrics: Metrics | None = Field(
        description="The counts of the run, by workflow: of an ingestion, how much its sources overlap; of the others, "
        "what they went through, such as `mentions`, `removed` and `failed`. Null before there are any."
    )
    report: ComparisonReport | None = Field(
        description="What a `compare_analyzers` run has found so far; null for other runs."
    )
    errors: tuple[Text, ...] = Field(description="At most 50 failures, each with the feed, tool or article.")
    is_quiet: bool | None = Field(
        description="Of an ingestion: whether it succeeded and nothing new came; of the stages that follow every "
        "article: whether it succeeded; else null."
    )
    batch_id: str | None = Field(
        description="Of an ingestion: `run_id` under the name of the specification; else null."
    )
    completed_at: Time | None = Field(
        description="Of an ingestion: `ended_at` under the name of the specification; else null."
    )
    sources_queried: tuple[str, ...] | None = Field(
        description="Of an ingestion: the feeds with an attempt; else null."
    )
    tickers_processed: tuple[str, ...] | None = Field(
        description="Of an ingestion: the tickers that were requested from news APIs; else null."
    )
    links: dict[str, str] = Field(description="Paths: the run itself, and its subject.")
    attempts: list[AttemptResource] | None = added("The attempts of the run, in `GET runs/{run_id}`.")
    unreadable: list[str] | None = added(
        "The ids of parts that cannot be read and were left out; absent if there are none."
    )
    invocation_id: Text | None = internal(
        "The function call that last began the run, as in the host's log; null for a run of the command line."
    )
    checkpoint: dict[str, JsonValue] | None = internal(
        "Where the next page of a workflow begins; after a crash the run goes on there."
    )

    @classmethod
    def of(cls, run: JobRun, view: View = "default") -> Self:
        batch = run if isinstance(run, IngestionBatch) else None
        return cls.made(
            run,
            view,
            parameters=RunParameters.of(run),
            metrics=metrics_of(run),
            report=None if run.report is None else ComparisonReport.of_values(run.report),
            is_quiet=run.is_quiet if isinstance(run, IngestionBatch | StageRun) else None,
            batch_id=run.run_id if batch else None,
            completed_at=run.ended_at if batch else None,
            sources_queried=batch.sources_queried if batch else None,
            tickers_processed=batch.tickers_processed if batch else None,
            links=links(self=path("runs", run.run_id)),
        )
