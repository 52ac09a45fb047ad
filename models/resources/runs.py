"""A run of work and its attempts as the API shows them. Input, counts and report differ by workflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self, get_args

from pydantic import Field, PlainSerializer

from models.comparison import Comparison, Label, ReasonNotCompared
from models.resources.base import PARTS_LEFT_OUT, Resource, Shape, Stored, View, added, links, path
from models.resources.figures import Counts
from models.run import FETCH_FEED, Attempt, CollisionMetrics, IngestionBatch, JobRun, StageRun
from models.values import Count, IdPart, Polarity, Sentiment, Share, SourceKey, Text, Time

LABELS: tuple[Label, ...] = get_args(Label)


class _Known(Shape):
    """A part of a run, with the fields that the contract names."""

    @classmethod
    def of_values(cls, values: Mapping[str, Any]) -> Self:
        """Without those that the contract does not name: an earlier or a later version may have stored others."""
        return cls.shaped({name: values[name] for name in cls.__pydantic_fields__ if name in values})


class RunParameters(_Known):
    """The input of a run: each field is there for the workflows that it names.

    A run also has what only the app needs, and the person who asked for it: neither is shown, since readers see runs.
    """

    feeds: list[SourceKey] = added("`ingest_feeds`: the feeds that the run is for.")
    held: IdPart = added("`ingest_feeds`: the item in quarantine whose batch was released.")
    tools: list[Text] | Count = added(
        "`backfill_tools`: the tools that articles are searched for, by id or name. `refresh_cache`: how "
        "many tools it refreshes."
    )
    analyzer: Text = added("`compare_analyzers`: the analyzer that judges again.")
    analyzer_version: Text = added("`compare_analyzers`: its version.")
    into: IdPart = added("`merge_tool`: the tool that stays.")
    article: IdPart = added("`correct_mention`: the article of the mention.")
    verdict: Text = added("`correct_mention`: the verdict; absent if one is undone.")
    follows: IdPart | None = added(
        "`correct_mention`: the run of the verdict that stood before; null if there was none."
    )

    @classmethod
    def of(cls, run: JobRun) -> Self:
        claimed = run.claimed if isinstance(run, IngestionBatch) else ()
        return cls.of_values({**run.parameters, **({"feeds": list(claimed)} if claimed else {})})


class IngestionMetrics(Resource):
    """How much the sources of an ingestion overlap."""

    DOCUMENTS = (CollisionMetrics,)


class WorkflowMetrics(_Known):
    """The counts of a run that is no ingestion: each is there for the workflows that count it."""

    articles: Count = added("Articles that were searched.")
    analyzed: Count = added("Articles that were analysed.")
    mentions: Count = added("Mentions that were written; of a merge, that were moved.")
    removed: Count = added("Mentions that were removed.")
    rescored: Count = added("Mentions that were judged again.")
    grouped: Count = added("Articles that were grouped.")
    stories: Count = added("Stories that were updated; of `generate_ideas`, whose signals were decided.")
    signals: Count = added("Signals that were written.")
    corrections: Count = added("Corrections that went to the other tool.")
    closed: Count = added("Days of tools that were closed.")
    compared: Count = added("Mentions that were compared.")
    changed: Count = added("Mentions that get another label.")
    not_compared: Count = added("Mentions that could not be compared.")
    entries_written: Count = added("Entries of the cache that were written.")
    tools_failed: Count = added("Tools that could not be refreshed.")
    acquired: Count = added("Full texts that are valid.")
    quarantined: Count = added("Full texts that wait for a person.")
    skipped: Count = added("Full texts that are not fetched, or not now.")
    stub: Count = added("Full texts whose try has not ended.")
    failed: Count = added(
        "Articles that could not be read or judged, and stay as they were; of `acquire_documents`, tries that "
        "failed; of `generate_ideas`, stories that are tried again."
    )


Metrics = Annotated[IngestionMetrics | WorkflowMetrics, PlainSerializer(lambda either: either.shown())]
"""A union of its own would warn about fields that are absent."""


def metrics_of(run: JobRun) -> Metrics | None:
    if isinstance(run.metrics, CollisionMetrics):
        return IngestionMetrics.made(run.metrics, "default")
    return None if run.metrics is None else WorkflowMetrics.of_values(run.metrics)


class FiguresOfComparison(Counts[Count]):
    """The figures of the compared mentions."""

    average_sentiment: float = Field(description="Mean `polarity` of the scored mentions, -1 to 1, four decimals.")


class RatingOfMention(Shape):
    """The sentiment of a mention, stored or as the analyzer gives it."""

    sentiment: Sentiment | None = Field(description="The sentiment; null if the mention is unscored.")
    polarity: Polarity | None = Field(description="-1 (negative) to 1 (positive); null if the mention is unscored.")


class SampleOfComparison(Shape):
    """A mention that gets another label."""

    source_id: Text = Field(description="The article.")
    headline: Text = Field(description="Its headline, shortened.")
    before: RatingOfMention = Field(description="As it is stored.")
    after: RatingOfMention = Field(description="As the analyzer judges it.")


class MentionsByLabel(Shape):
    """Mentions by their new label."""

    positive: Count = Field(description="Those that the analyzer calls positive.")
    negative: Count = Field(description="Those that it calls negative.")
    neutral: Count = Field(description="Those that it calls neutral.")
    unscored: Count = Field(description="Those that it cannot score.")


class ChangesOfLabels(Shape):
    """Mentions by their stored label, then by their new one."""

    positive: MentionsByLabel = Field(description="Of those stored as positive.")
    negative: MentionsByLabel = Field(description="Of those stored as negative.")
    neutral: MentionsByLabel = Field(description="Of those stored as neutral.")
    unscored: MentionsByLabel = Field(description="Of those stored without a score.")


class NotCompared(Shape):
    """Mentions that were not compared, by reason."""

    EXPIRED: Count = Field(description="The article is gone.")
    UNREADABLE: Count = Field(description="The mention or its article cannot be read.")
    NOT_NAMED: Count = Field(description="The article does not name the tool any more, or the tool is deprecated.")
    NOT_JUDGED: Count = Field(description="The analyzer cannot judge the text.")


class ComparisonReport(Shape):
    """What a comparison of analyzers has found so far."""

    analyzer: Text = Field(description="The analyzer that judged again.")
    analyzer_version: Text = Field(description="Its version.")
    compared: Count = Field(description="Mentions that were compared.")
    changed: Count = Field(description="Those that get another label.")
    share_changed: Share | None = Field(description="Their share; null if none was compared.")
    before: FiguresOfComparison = Field(description="The figures with the stored scores.")
    after: FiguresOfComparison = Field(description="The figures with the new scores.")
    labels: ChangesOfLabels = Field(description="Mentions by stored label, then by new one.")
    not_compared: NotCompared = Field(description="Mentions that were not compared, by reason.")
    scored_by: dict[Text, Count] = Field(description="Compared mentions by the analyzer and version that scored them.")
    samples: tuple[SampleOfComparison, ...] = Field(
        description="The 20 mentions whose polarity changes most, of those that get another label."
    )

    @classmethod
    def of(cls, found: Comparison) -> Self:
        figures = {
            "changed": found.changed,
            "compared": found.compared,
            "share_changed": round(found.changed / found.compared, 4) if found.compared else None,
            "before": found.before.figures(),
            "after": found.after.figures(),
            "labels": {old: {new: found.labels.get(old, {}).get(new, 0) for new in LABELS} for old in LABELS},
            "not_compared": {why: found.not_compared.get(why, 0) for why in get_args(ReasonNotCompared)},
        }
        return cls.model_validate({**found.model_dump(), **figures}, extra="ignore")


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
            report=None if run.report is None else ComparisonReport.of(run.report),
            is_quiet=run.is_quiet if isinstance(run, IngestionBatch | StageRun) else None,
            batch_id=run.run_id if batch else None,
            completed_at=run.ended_at if batch else None,
            sources_queried=batch.sources_queried if batch else None,
            tickers_processed=batch.tickers_processed if batch else None,
            links=links(self=path("runs", run.run_id)),
        )


class RunStarted(Shape):
    """The run that does what was asked for."""

    run_id: str = Field(description="The run: `GET /api/v1/runs/{run_id}` shows its progress.")
