"""The parts of a run that differ by workflow: the contract names what the app counts, and nothing else is shown."""

import itertools
from typing import get_args

from models.resources.run_parts import ComparisonReport, IngestionMetrics, RunParameters, WorkflowMetrics
from models.resources.runs import RunResource
from models.run import CollisionMetrics, CountName
from models.states import AcquisitionStatus, ValidationStatus
from services.documents.acquisition import counted_as
from services.mentions.analyzers.embedded import EmbeddedAnalyzer
from services.workflows.comparing import LABELS, Comparison, NotCompared, Rating
from tests import documents


def test_the_contract_names_every_count_of_the_workflows() -> None:
    assert set(get_args(CountName)) <= set(WorkflowMetrics.model_fields)
    assert set(IngestionMetrics.model_fields) == set(CollisionMetrics.model_fields)


def test_the_contract_names_every_end_of_a_try_at_a_full_text() -> None:
    ends = itertools.product(get_args(ValidationStatus), get_args(AcquisitionStatus))
    assert {counted_as(*end) for end in ends} <= WorkflowMetrics.model_fields.keys()


def test_counts_of_an_ingestion_are_shown_under_their_names() -> None:
    batch = documents.ingestion_batch()
    assert batch.metrics is not None
    assert RunResource.of(batch).shown()["metrics"] == batch.metrics.model_dump(mode="json")


def test_what_another_version_has_stored_is_not_shown() -> None:
    run = documents.run(metrics={"mentions": 2, "failed": 0, "spins": 1}, parameters={"into": "t", "changed": ["t"]})
    shown = RunResource.of(run).shown()
    assert (shown["metrics"], shown["parameters"]) == ({"mentions": 2, "failed": 0}, {"into": "t"})


def test_a_run_without_counts_has_none() -> None:
    assert RunResource.of(documents.run(metrics=None)).shown()["metrics"] is None


def test_a_field_that_is_sometimes_there_is_not_required_and_never_null() -> None:
    schema = RunParameters.model_json_schema(mode="serialization")
    assert "required" not in schema
    assert schema["properties"]["into"]["type"] == "string"
    assert "default" not in schema["properties"]["into"]


def test_the_report_of_a_comparison_has_the_shape_of_the_contract() -> None:
    comparison = Comparison()
    mention = documents.mention()
    for label in LABELS:
        sentiment = None if label == "unscored" else label
        polarity = {"positive": 0.5, "negative": -0.5, "neutral": 0.0}.get(label)
        comparison = comparison.with_rating(mention, Rating(sentiment=sentiment, polarity=polarity))
    for reason in get_args(NotCompared):
        comparison = comparison.without(reason)
    report = comparison.report(EmbeddedAnalyzer())
    ComparisonReport.model_validate(report)
    shown = RunResource.of(documents.run(report=report)).shown()["report"]
    assert shown == report
