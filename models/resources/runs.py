"""A run of work and its attempts as the API shows them."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from models.resources.base import PARTS_LEFT_OUT, Stored, View, added, links, path
from models.resources.run_parts import ComparisonReport, Metrics, RunParameters, metrics_of
from models.run import FETCH_FEED, Attempt, IngestionBatch, JobRun, StageRun
from models.values import Time


class AttemptResource(Stored):
    """One try of one task of a run."""

    DOCUMENTS = (Attempt,)

    feed_id: str | None = Field(description="Of a fetch: the feed, which is the `subject`; else null.")
    fetch_time: Time | None = Field(
        description="Of a fetch: `started_at` under the name of the specification; else null."
    )
    links: dict[str, str] = Field(description="Paths: the run, and the subject.")

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

    DOCUMENTS = (JobRun,)

    parameters: RunParameters = Field(description="The input of the run, by workflow.")
    metrics: Metrics | None = Field(
        description="The counts of the run, by workflow: of an ingestion, how much its sources overlap; of the others, "
        "what they went through, such as `mentions`, `removed` and `failed`. Null before there are any."
    )
    report: ComparisonReport | None = Field(
        description="What a `compare_analyzers` run has found so far; null for other runs."
    )
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
    unreadable: list[str] | None = PARTS_LEFT_OUT

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
