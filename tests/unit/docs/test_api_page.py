"""docs/api.md lists every endpoint and every field that the API serves."""

import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from models.article import CanonicalReading, SourceAttribution
from models.feed import FeedAttempt
from models.mention import Match
from models.metrics import CacheTotals, IngestionTotals
from models.run import CollisionMetrics
from models.stored import StoredDocument
from services.fetch.outcome import READABLE, FetchStatus
from services.figures.counters import Counters
from services.figures.reader import shown_entry
from services.operations.cache_health import CacheHealth
from services.operations.metrics import gauge, of_cache, of_feeds, of_ingestion
from services.store.sqlite import SqliteStore
from services.tools.catalog import Catalog
from tests import documents

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
COMMON = StoredDocument.model_fields.keys()


def names(table: str) -> list[str]:
    """The names in the first column of a table."""
    return [name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.partition("|")[2].split("|")[0])]


def listed_fields(title: str) -> list[str]:
    found = re.findall(rf"<!-- fields: {title} -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)
    assert len(found) == 1, title
    return sorted(names(found[0]))


def without_common(fields: Iterable[str]) -> list[str]:
    return sorted(set(fields) - COMMON)


RUN = documents.run().shown()
SERVED: dict[str, dict[str, Any]] = {
    "Article": documents.article().shown(),
    "Observation": documents.observation().shown(),
    "Feed": documents.feed().shown(),
    "Tool": documents.tool().shown(),
    "SentimentScore": documents.mention().shown(),
    "aggregate": shown_entry(documents.cache_entry(), "Apple", documents.NOW),
    "JobRun": RUN,
    "IngestionBatch": {name: value for name, value in documents.ingestion_batch().shown().items() if name not in RUN},
    "Attempt": documents.attempt(task_name="refresh_tools").shown(),
    "QuarantineItem": documents.quarantined().shown(),
    **{
        kind.__name__: dict.fromkeys(kind.model_fields)
        for kind in (SourceAttribution, CanonicalReading, FeedAttempt, Match, CollisionMetrics)
    },
}


def test_the_fields_of_every_document_are_listed_once() -> None:
    assert listed_fields("StoredDocument") == sorted(COMMON)


@pytest.mark.parametrize("title", SERVED)
def test_the_page_lists_the_fields_of_each_served_document(title: str) -> None:
    assert listed_fields(title) == without_common(SERVED[title])


async def test_the_page_lists_the_fields_of_cache_health(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db", lambda: documents.NOW)
    await store.ensure_containers()
    try:
        catalog = Catalog(store, lambda: documents.NOW, lambda: documents.TOOL_ID)
        counters = Counters(store, lambda: documents.NOW)
        report = await CacheHealth(store, catalog, counters, lambda: documents.NOW, documents.NOW).report()
    finally:
        await store.close()
    assert listed_fields("cache_health") == without_common(report)


def test_the_page_lists_every_metric_with_its_kind() -> None:
    (table,) = re.findall(r"<!-- metrics -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)
    documented = {name: row.split("|")[2].strip() for row in table.splitlines() for name in names(row)}
    lines = [
        *of_ingestion(IngestionTotals.at(documents.NOW)),
        *of_feeds([], documents.NOW),
        *of_cache(CacheTotals.at(documents.NOW)),
        *gauge("database_connection_pool_size", "", []),
        *gauge("memory_usage_bytes", "", []),
    ]
    served = dict(line.split(" ")[2:4] for line in lines if line.startswith("# TYPE "))
    assert documented == served


def test_the_page_lists_every_kind_of_failed_fetch() -> None:
    (row,) = re.findall(r"^\| `error_type` \|.*", PAGE, re.MULTILINE)
    assert {str(status) for status in FetchStatus if status not in READABLE} <= set(re.findall(r"`(\w+)`", row))


def test_the_page_lists_every_endpoint_and_marks_those_of_management() -> None:
    import function_app

    registered = {}
    for function in function_app.app.get_functions():
        trigger: Any = function.get_trigger()
        if trigger.type == "httpTrigger":
            (method,) = trigger.methods
            source = inspect.getsource(inspect.unwrap(function.get_user_function()))
            registered[f"{method.value} {trigger.route.removeprefix('v1/')}"] = "require_management(req" in source
    documented = re.findall(r"^\| `((?:GET|POST|PATCH|DELETE) \S+)`( ●)? \|", PAGE, re.MULTILINE)
    assert sorted(documented) == sorted((route, " ●" if managed else "") for route, managed in registered.items())
