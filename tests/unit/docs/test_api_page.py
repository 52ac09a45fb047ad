"""docs/api.md lists every endpoint and every field that the API serves."""

import inspect
import json
import re
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import azure.functions as func
import pytest

from models.article import CanonicalReading, SourceAttribution
from models.feed import FeedAttempt
from models.mention import Match
from models.operations import AnalysisTotals, CacheTotals, IngestionTotals, StoreTotals
from models.resources.base import Resource
from models.resources.feed_preview import FeedPreview
from models.resources.host import HostWithDays
from models.resources.stories import StoryMemberResource
from models.resources.tools import Precision, ReferenceResource
from models.run import CollisionMetrics
from models.stored import StoredDocument
from services import container
from services.articles.backlog import Backlog, BacklogReader
from services.fetch.outcome import READABLE, FetchStatus
from services.figures.counters import Counters
from services.mentions.corrections import labelled
from services.operations.cache_health import CacheHealth
from services.operations.metrics import (
    PREFIX,
    gauge,
    of_analysis,
    of_audit,
    of_cache,
    of_feeds,
    of_hosts,
    of_ingestion,
    of_reviews,
    of_store,
)
from services.store.sqlite import SqliteStore
from services.tools.catalog import Catalog
from tests import documents, resources

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
COMMON = StoredDocument.model_fields.keys()


def names(table: str) -> list[str]:
    """The names in the first column of a table."""
    return [name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.partition("|")[2].split("|")[0])]


def table_of(title: str) -> str:
    (found,) = re.findall(rf"<!-- fields: {title} -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)
    return str(found)


def listed_fields(title: str) -> list[str]:
    return sorted(names(table_of(title)))


def listed_fields_by_view(title: str) -> tuple[list[str], list[str]]:
    """The fields of the default view, and those that the page marks as shown with view=full only."""
    rows = table_of(title).splitlines()
    internal = [row for row in rows if "○" in row.split("|")[1]]
    return sorted(names("\n".join(row for row in rows if row not in internal))), sorted(names("\n".join(internal)))


def without_common(fields: Iterable[str]) -> list[str]:
    return sorted(set(fields) - COMMON)


SERVED: dict[str, dict[str, Any]] = {
    "precision": Precision.of({}).shown(),
    "labels": labelled(documents.correction()) or {},
    "FeedPreview": dict.fromkeys(FeedPreview.model_fields),
    "HostWithDays": dict.fromkeys(HostWithDays.model_fields),
    **{
        kind.__name__: dict.fromkeys(kind.model_fields)
        for kind in (SourceAttribution, CanonicalReading, FeedAttempt, Match, CollisionMetrics)
    },
}


RESOURCES: dict[str, type[Resource]] = {
    **{title: type(make("full")) for title, (_, make) in resources.EACH.items() if title != "IngestionBatch"},
    "Reference": ReferenceResource,
    "member": StoryMemberResource,
}
IN_EVERY = {*COMMON, "links"}


def test_the_fields_of_every_resource_are_listed_once() -> None:
    default, internal = listed_fields_by_view("every resource")
    assert (default, internal) == (["created_at", "links", "updated_at"], sorted(COMMON - {"created_at", "updated_at"}))


@pytest.mark.parametrize("title", RESOURCES)
def test_the_page_lists_the_fields_of_each_resource_and_marks_those_of_the_full_view(title: str) -> None:
    shape = RESOURCES[title]
    default, internal = listed_fields_by_view(title)
    assert default == sorted(set(shape.fields_of("default")) - IN_EVERY)
    assert internal == sorted(set(shape.internal_names()) - IN_EVERY)
    assert [name for name in shape.added_names() if f"`{name}`" not in PAGE] == []


@pytest.mark.parametrize("title", SERVED)
def test_the_page_lists_the_fields_of_each_served_document(title: str) -> None:
    assert listed_fields(title) == sorted(SERVED[title])


async def test_the_page_lists_the_fields_of_cache_health(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db", lambda: documents.NOW)
    await store.ensure_containers()
    try:
        catalog = Catalog(store, lambda: documents.NOW, lambda: documents.TOOL_ID)
        counters = Counters(store, lambda: documents.NOW)
        backlog = BacklogReader(store)
        health = CacheHealth(store, catalog, counters, backlog, lambda: documents.NOW, documents.NOW)
        report = await health.report()
    finally:
        await store.close()
    assert listed_fields("cache_health") == without_common(report)


def test_the_page_lists_every_metric_with_its_kind() -> None:
    (table,) = re.findall(r"<!-- metrics -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)
    documented = {name: row.split("|")[2].strip() for row in table.splitlines() for name in names(row)}
    lines = [
        *of_ingestion(IngestionTotals.at(documents.NOW)),
        *of_feeds(0, [], 0, {}),
        *of_hosts({}),
        *of_analysis(AnalysisTotals.at(documents.NOW), Backlog(0, 0), documents.NOW),
        *of_cache(CacheTotals.at(documents.NOW), None),
        *of_store(StoreTotals.at(documents.NOW)),
        *of_reviews({}, documents.NOW),
        *of_audit(None),
        *gauge("database_connection_pool_size", "", []),
        *gauge("memory_usage_bytes", "", []),
    ]
    served = dict(line.removeprefix(f"# TYPE {PREFIX}").split(" ") for line in lines if line.startswith("# TYPE "))
    assert f"`{PREFIX}`" in PAGE
    assert documented == served


def test_the_page_lists_every_kind_of_failed_fetch() -> None:
    (row,) = re.findall(r"^\| `error_type` \|.*", PAGE, re.MULTILINE)
    assert {str(status) for status in FetchStatus if status not in READABLE} <= set(re.findall(r"`(\w+)`", row))


@pytest.fixture
async def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[dict[str, list[dict[str, Any]]]]:
    """By endpoint, the answers to a request with an unknown parameter: without the management key, and with it.

    Health is left out: it ignores parameters, and asks the queues. So are pages, which are no endpoints of the API.
    """
    for name, value in {
        "STORE": "sqlite",
        "DATA_DIR": str(tmp_path),
        "AzureWebJobsStorage": "UseDevelopmentStorage=true",
        "MANAGEMENT_KEY": "sesame",
    }.items():
        monkeypatch.setenv(name, value)

    import function_app

    function_app.app.functions_bindings = None  # else the functions can be listed once in a process only
    found: dict[str, list[dict[str, Any]]] = {}
    for function in function_app.app.get_functions():
        trigger: Any = function.get_trigger()
        if trigger.type != "httpTrigger" or trigger.route == "v1/health" or not f"{trigger.route}/".startswith("v1/"):
            continue
        method, *head = trigger.methods
        assert [each.value for each in head] == (["HEAD"] if method.value == "GET" else [])
        handler = function.get_user_function()
        given = dict.fromkeys(inspect.signature(handler).parameters)
        requests = [
            func.HttpRequest(method.value, "/?unknown=1", params={"unknown": "1"}, headers=headers, body=b"")
            for headers in ({}, {"X-Management-Key": "sesame"})
        ]
        path = "/api/v1" if trigger.route == "v1" else trigger.route.removeprefix("v1/")
        name = f"{method.value} {path}"
        found[name] = [json.loads((await handler(**{**given, "req": each})).get_body()) for each in requests]
    yield found
    await container.close()


async def test_the_page_lists_every_endpoint_and_marks_those_that_need_the_management_key(
    answers: dict[str, list[dict[str, Any]]],
) -> None:
    documented = re.findall(r"^\| `((?:GET|POST|PATCH|DELETE) \S+)`( ●)? \|", PAGE, re.MULTILINE)
    served = [(name, " ●" if without_key["status"] == 401 else "") for name, (without_key, _) in answers.items()]
    assert sorted(documented) == sorted([*served, ("GET health", "")])


async def test_the_page_names_every_query_parameter(answers: dict[str, list[dict[str, Any]]]) -> None:
    undocumented: set[str] = set()
    for _, with_key in answers.values():
        assert with_key["field"] == "unknown"
        parameters = re.findall(r"\w+", with_key["allowed"].partition("there are ")[2])
        undocumented.update(name for name in parameters if f"`{name}`" not in PAGE and f"?{name}=" not in PAGE)
    assert undocumented == set()
