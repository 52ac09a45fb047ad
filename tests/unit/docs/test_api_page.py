"""docs/api.md, the guide, names only what the contract has; and the contract says what the app serves."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

import function_app  # noqa: F401 (declares the endpoints)
from models.resources.base import VIEWS
from models.resources.corrections import labelled
from models.resources.tools import Precision
from models.run import WORKFLOWS, CollisionMetrics
from models.stored import StoredDocument
from services.articles.reading import MAX_WORDS
from services.fetch.outcome import READABLE, FetchStatus
from services.figures.metadata import Counters
from services.mentions.due import ANALYSIS_STAGE
from services.operations.cache_health import CacheHealth
from services.store.sqlite import SqliteStore
from services.tools.catalog import Catalog
from services.work.backlog import BacklogReader
from tests import documents, resources
from triggers.contract import contract, of_app

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
DOCUMENT: dict[str, Any] = contract(of_app(), reads_are_open=False)
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
EVERY = StoredDocument.model_fields.keys()

ENDPOINTS = {
    f"{method.upper()} {path.removeprefix('/api/v1').removeprefix('/')}".strip(): operation
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}
COMMANDS = [
    line for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE) for line in block.splitlines()
]
REQUESTS = [line for line in COMMANDS if "$API/" in line]


def names(table: str) -> list[str]:
    """The names in the first column of a table."""
    return [name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.partition("|")[2].split("|")[0])]


def words_of_contract(part: Any) -> Iterator[str]:
    """Names of properties, parameters, headers and schemas, the values that are allowed, and what descriptions mark."""
    if isinstance(part, dict):
        for key, value in part.items():
            yield key
            yield from words_of_contract(value)
    elif isinstance(part, list):
        for each in part:
            yield from words_of_contract(each)
    elif isinstance(part, str):
        yield part
        yield from re.findall(r"`(\w+)`", part)


@lru_cache
def words() -> frozenset[str]:
    return frozenset(words_of_contract(DOCUMENT))


def endpoint_of(path: str, method: str) -> dict[str, Any] | None:
    """The operation with this path, in which a part of the route may stand for any value."""
    for name, operation in ENDPOINTS.items():
        its_method, _, route = name.partition(" ")
        if its_method == method and re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(route)), path):
            return dict(operation)
    return None


def schema_of(reference: dict[str, Any]) -> dict[str, Any]:
    """The schema, or that to which it refers."""
    found: dict[str, Any] = SCHEMAS.get(reference.get("$ref", "").rpartition("/")[2], reference)
    return found


@pytest.mark.parametrize("command", REQUESTS)
def test_each_command_of_the_guide_is_a_request_that_the_contract_has(command: str) -> None:
    (path, query), *others = re.findall(r"\$API/([^?\" $]+(?:\$\w+[^?\" $]*)*)\??([^\"]*)", command)
    assert others == []
    (method,) = re.findall(r"-X (\w+)", command) or ["GET"]
    operation = endpoint_of(path, method)
    assert operation is not None, f"{method} {path}"
    given = {name for name, _ in parse_qsl(re.sub(r"\$\{.*\}", "", query), strict_parsing=bool(query))}
    if " -G " in command:
        given |= set(re.findall(r"-d (\w+)=", command))
    assert given <= {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
    for sent in re.findall(r"-d '(\{.*\})'", command):
        schema = schema_of(operation["requestBody"]["content"]["application/json"]["schema"])
        body = json.loads(sent)
        assert body.keys() <= schema["properties"].keys()
        assert set(schema.get("required", ())) <= body.keys()
        for name, value in body.items():
            assert value in schema["properties"][name].get("enum", [value]), name


def test_the_guide_has_commands_for_all_kinds_of_requests() -> None:
    methods = {method for command in REQUESTS for method in re.findall(r"-X (\w+)", command) or ["GET"]}
    assert methods == {"GET", "POST", "PATCH"}
    assert len(REQUESTS) > 30


def test_each_endpoint_that_the_guide_names_is_one_of_the_contract() -> None:
    named = re.findall(r"`(GET|POST|PATCH|DELETE) (/?[^`?]+)(?:\?[^`]*)?`", PAGE)
    assert len(named) > 40
    outside = {("GET", "/api"), ("GET", "/api/v1")}
    unknown = {each for each in named if each not in outside and " ".join(each) not in ENDPOINTS}
    assert unknown == set()


def test_each_name_in_code_marks_is_one_of_the_contract() -> None:
    """Names with an underscore: fields, parameters, values, workflows, and what descriptions name."""
    prose = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL).replace(re.search(LABELS, PAGE)[0], "")  # type: ignore[index]
    named = set(re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+)+)`", prose))
    assert len(named) > 40
    assert named - words() - set(WORKFLOWS) - set(RUN_COUNTS) - {"clean_up"} == set()


RUN_COUNTS = (
    *("entries_written", "tools_failed", "mentions", "removed", "failed", "rescored", "compared", "changed"),
    *("not_compared", "corrections", "articles", "analyzed", "grouped", "stories", "signals", "closed"),
)
"""What runs count: `metrics` is open in the contract."""
LABELS = r"(?s)<!-- fields: labels -->\n.*?<!-- end -->"


def test_the_guide_lists_every_workflow_once() -> None:
    table = PAGE.partition("| `workflow_name` |")[2].partition("\n\n")[0].partition("\n")[2]
    assert sorted(names(table)) == sorted(WORKFLOWS)


def test_the_guide_lists_every_status_of_a_problem() -> None:
    table = PAGE.partition("## Errors")[2].partition("\n## ")[0]
    listed = {status for row in re.findall(r"^\| ([\d, ]+) \|", table, re.MULTILINE) for status in row.split(", ")}
    assert listed == {name.removeprefix("Problem") for name in DOCUMENT["components"]["responses"]}


def test_the_guide_lists_the_fields_of_labelled_data() -> None:
    """They are lines of text, for which the contract has no schema."""
    (table,) = re.findall(LABELS, PAGE)
    assert sorted(names(table)) == sorted(labelled(documents.correction()) or {})


@pytest.mark.parametrize("kind", resources.EACH)
@pytest.mark.parametrize("view", VIEWS)
def test_the_contract_has_the_fields_of_each_resource_and_marks_those_of_the_full_view(kind: str, view: Any) -> None:
    shape = type(resources.EACH[kind][1](view))
    properties = SCHEMAS[shape.__name__.removesuffix("Resource")]["properties"]
    marked = {name for name, schema in properties.items() if schema.get("x-view") == "full"}
    added = {name for name, schema in properties.items() if schema.get("x-added")}
    shown = shape.fields_of(view)
    assert set(shown) == set(properties) - added - (marked if view == "default" else set())
    assert marked >= EVERY - {"created_at", "updated_at"}
    assert {"created_at", "updated_at", "links"} <= set(shown)


async def test_the_contract_has_the_fields_of_cache_health(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db", lambda: documents.NOW)
    await store.ensure_containers()
    try:
        catalog = Catalog(store, lambda: documents.NOW, lambda: documents.TOOL_ID)
        counters = Counters(store, lambda: documents.NOW)
        backlog = BacklogReader(store, ANALYSIS_STAGE)
        health = CacheHealth(store, catalog, counters, backlog, lambda: documents.NOW, documents.NOW)
        report = await health.report()
    finally:
        await store.close()
    assert sorted(SCHEMAS["CacheHealth"]["properties"]) == sorted(report)


def test_the_contract_has_the_fields_of_the_measured_precision() -> None:
    assert sorted(SCHEMAS["Precision"]["properties"]) == sorted(Precision.of({}).shown())


def test_the_metrics_of_a_run_name_all_counts_of_an_ingestion() -> None:
    assert SCHEMAS["IngestionMetrics"]["required"] == list(CollisionMetrics.model_fields)


def test_the_table_of_runs_names_the_counts_of_the_contract() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| ([^|]*) \|$", PAGE.partition("\n## Runs\n")[2], re.MULTILINE)
    counts = {workflow: set(re.findall(r"`(\w+)`", cell)) for workflow, cell in rows if workflow in WORKFLOWS}
    assert sorted(counts) == sorted(WORKFLOWS)
    assert set().union(*counts.values()) == set(SCHEMAS["WorkflowMetrics"]["properties"])


def test_a_run_names_every_workflow() -> None:
    description = SCHEMAS["Run"]["properties"]["workflow_name"]["description"]
    assert sorted(re.findall(r"`(\w+)`", description)) == sorted(WORKFLOWS)


def test_an_attempt_names_every_kind_of_failed_fetch() -> None:
    description = SCHEMAS["Attempt"]["properties"]["error_type"]["description"]
    kinds = {str(status) for status in FetchStatus if status not in READABLE}
    assert kinds <= set(re.findall(r"`(\w+)`", description))


@pytest.mark.parametrize("endpoint", ["GET articles", "GET stories"])
def test_a_search_says_how_many_words_it_takes(endpoint: str) -> None:
    (text,) = [each["description"] for each in ENDPOINTS[endpoint]["parameters"] if each["name"] == "text"]
    assert f"up to {MAX_WORDS}" in text
