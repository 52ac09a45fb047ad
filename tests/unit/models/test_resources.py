"""Resources: both views of each have what they declare, and nothing of a stored document is lost by accident."""

import itertools
import json
from typing import Any, get_args

import pytest

from models.resources.articles import ArticleResource
from models.resources.base import VIEWS, Resource, View, path
from models.resources.runs import (
    AttemptResource,
    IngestionMetrics,
    RunParameters,
    RunResource,
    WorkflowMetrics,
)
from models.run import CollisionMetrics, CountName, read_run
from models.states import AcquisitionStatus, ValidationStatus
from services.documents.acquisition import counted_as
from tests import documents, resources

# The stored fields that no view shows.
HIDDEN = {
    "Feed": {"address"},
    "Article": {
        *("tool_ids_ever_detected", "muted_tool_ids", "split_links", "other_words", "words"),
    },
    "Observation": {"deleted_at"},
    "Tool": {"corrections", "reviews"},
    "Story": {"words"},
    "JobRun": {"attempts", "due_at", "invocations"},
    "IngestionBatch": {"claimed", "hosts", "feeds", "attempts", "due_at", "invocations", "trying", "deaths"},
    "Correction": {"passages_hash"},
    "DataProduct": {
        *("raw_archive_container", "raw_archive_key", "derived_archive_prefix", "archive_day", "attempt_limit"),
    },
    "FileObject": {"archive_container", "archive_key"},
}
COMMON_INTERNALS = {"entity_type", "schema_version", "ttl_timestamp"}


def as_declared(resource: Resource) -> dict[str, Any]:
    """What is shown, read by the rules of the shape and shown again. Raises ValidationError if it breaks a rule."""
    shown = resource.shown()
    again = type(resource).model_validate(shown).model_dump(mode="json", exclude_unset=True)
    return {name: again[name] for name in shown}


def test_the_ids_of_a_stored_document_are_its_first_fields() -> None:
    fields = ArticleResource.fields_of()
    assert set(fields[:3]) == {"source_id", "event_id", "publisher_id"}
    assert fields[-2:] == ("created_at", "updated_at")


@pytest.mark.parametrize("kind", resources.EACH)
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_has_the_fields_that_the_shape_declares_in_their_form(kind: str, view: View) -> None:
    _, make = resources.EACH[kind]
    resource = make(view)
    shown = resource.shown()
    assert tuple(shown) == type(resource).fields_of(view)
    assert as_declared(resource) == json.loads(json.dumps(shown))


@pytest.mark.parametrize("kind", resources.EACH)
def test_the_full_view_has_every_stored_field_that_is_not_hidden_and_the_default_view_no_internals(kind: str) -> None:
    document, make = resources.EACH[kind]
    resource, default = make("full"), make("default").shown()
    public = {stored: name for name, stored in type(resource).STORED_AS.items()}
    wanted = {public.get(name, name) for name in type(document).model_fields} - HIDDEN.get(kind, set())
    assert wanted - set(resource.shown()) == set()
    assert set(resource.shown()) >= COMMON_INTERNALS
    assert not COMMON_INTERNALS & set(default)
    assert default["created_at"].endswith("Z")


@pytest.mark.parametrize("kind", resources.EACH)
def test_a_schema_says_which_fields_are_always_there(kind: str) -> None:
    _, make = resources.EACH[kind]
    shape = type(make("default"))
    schema = shape.model_json_schema(mode="serialization")
    assert sorted(schema["required"]) == sorted(shape.fields_of("default"))
    of_full = {name for name, each in schema["properties"].items() if each.get("x-view") == "full"}
    assert of_full == set(shape.fields_of("full")) - set(shape.fields_of())
    assert [name for name in shape.fields_of() if not schema["properties"][name].get("description")] == []


def test_references_and_members_have_the_fields_that_they_declare() -> None:
    for resource in (resources.reference(), resources.member()):
        assert tuple(resource.shown()) == type(resource).fields_of()
        assert as_declared(resource) == resource.shown()


def test_an_id_is_quoted_in_a_path() -> None:
    assert path("articles", "dedup:ab") == "/api/v1/articles/dedup:ab"
    assert path("tools", "a b/c") == "/api/v1/tools/a%20b%2Fc"


def test_the_names_of_the_specifications_are_there() -> None:
    batch, fetch = documents.ingestion_batch(), documents.attempt()
    run = RunResource.of(batch).shown()
    assert (run["batch_id"], run["completed_at"]) == (batch.run_id, "2026-02-21T20:00:02Z")
    shown = AttemptResource.of(fetch).shown()
    assert (shown["feed_id"], shown["fetch_time"]) == (fetch.subject, "2026-02-21T20:00:00Z")


def test_only_an_ingestion_has_the_names_of_one() -> None:
    other = AttemptResource.of(documents.attempt(task_name="backfill"))
    assert (other.feed_id, other.fetch_time, other.links.get("feed")) == (None, None, None)
    assert (RunResource.of(documents.run()).batch_id, RunResource.of(documents.run()).is_quiet) == (None, None)


def test_a_run_does_not_show_the_person_whose_correction_it_makes() -> None:
    run = documents.run(
        parameters={"correction": {"author": "Ada"}, "author": "Ada", "reason": "Sold", "tools": ["C#"]}
    )
    assert RunResource.of(run, "full").shown()["parameters"] == {"tools": ["C#"]}


def test_a_run_shows_the_feeds_that_it_is_for_among_its_parameters() -> None:
    assert RunResource.of(documents.ingestion_batch(claimed={"a": "", "b": ""})).shown()["parameters"] == {
        "feeds": ["a", "b"]
    }


def test_links_lead_only_to_what_is_there() -> None:
    lonely = ArticleResource.of(documents.article(event_id=None, full_text=None), None)
    assert list(lonely.links) == ["self", "ledger"]
    grouped = ArticleResource.of(documents.article(event_id="story:20260221:" + "0" * 32), None)
    assert grouped.links["story"] == "/api/v1/stories/story:20260221:" + "0" * 32


def test_the_contract_names_every_count_of_the_workflows() -> None:
    assert set(get_args(CountName)) <= set(WorkflowMetrics.model_fields)
    assert set(IngestionMetrics.model_fields) == set(CollisionMetrics.model_fields)


def test_the_contract_names_every_end_of_a_try_at_a_full_text() -> None:
    ends = itertools.product(get_args(ValidationStatus), get_args(AcquisitionStatus))
    assert {counted_as(*end) for end in ends} <= WorkflowMetrics.model_fields.keys()


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


def test_the_report_of_a_comparison_hides_what_another_version_has_stored() -> None:
    stored = {"analyzer": "embedded", "analyzer_version": "1", "spins": 1, "not_compared": {"EXPIRED": 2}}
    run = read_run({**documents.run().to_document(), "report": stored})
    shown = RunResource.of(run).shown()["report"]
    assert (shown["compared"], shown["share_changed"], shown["not_compared"]["EXPIRED"]) == (0, None, 2)
    assert "spins" not in shown
