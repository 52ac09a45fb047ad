"""docs/operations.md lists every metric that `GET metrics` serves, with its kind."""

import re
from pathlib import Path

from models.operations import AnalysisTotals, CacheTotals, IngestionTotals, StoreTotals
from services.work.backlog import Backlog
from tests import documents
from triggers.prometheus import (
    PREFIX,
    gauge,
    of_analysis,
    of_audit,
    of_cache,
    of_feeds,
    of_ingestion,
    of_reviews,
    of_store,
)

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "operations.md").read_text(encoding="utf-8")


def test_the_page_lists_every_metric_with_its_kind() -> None:
    (table,) = re.findall(r"<!-- metrics -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)
    documented = {
        name: row.split("|")[2].strip()
        for row in table.splitlines()
        for name in re.findall(r"`(\w+)`", row.partition("|")[2].split("|")[0])
    }
    lines = [
        *of_ingestion(IngestionTotals.at(documents.NOW)),
        *of_feeds(0, [], 0, {}),
        *of_analysis(AnalysisTotals.at(documents.NOW), Backlog(0, 0), documents.NOW),
        *of_cache(CacheTotals.at(documents.NOW), None),
        *of_store(StoreTotals.at(documents.NOW)),
        *of_reviews({}, documents.NOW),
        *of_audit(None),
        *gauge("database_connection_pool_size", "", None),
        *gauge("memory_usage_bytes", "", None),
    ]
    served = dict(line.removeprefix(f"# TYPE {PREFIX}").split(" ") for line in lines if line.startswith("# TYPE "))
    assert f"`{PREFIX}`" in PAGE
    assert documented == served
