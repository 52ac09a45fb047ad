"""Where the design stops: the limits of this code and of Azure, and what each scenario needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.scale import steps
from benchmarks.scale.scenarios import GB, SCENARIOS, Model, Month, Scenario
from services.feeds.claims import SCANNED_PAGES, TICK_SECONDS
from services.settings import Settings

FEEDS_IN_PAGE = 1000
INSTANCES = 100
"""maximumInstanceCount in infra/bicep/main.prod.parameters.json."""
SERVERLESS_CONTAINER = 5_000
PARTITION_UNITS = 10_000
PARTITION_GB = 20
DOCUMENT_KB = 2_048
QUEUE_MESSAGES = 2_000
REGION_GB = 512
KEPT_SECONDS = 45 * 86_400
"""How long mentions are stored."""


@dataclass(frozen=True, slots=True)
class Limit:
    """`most` is the limit, `needed` what each scenario needs, in the same unit."""

    what: str
    most: float
    needed: Mapping[str, float]

    def is_passed(self, scenario: Scenario) -> bool:
        return self.needed[scenario.name] > self.most


def limits(model: Model) -> list[Limit]:
    rows: dict[tuple[str, float], dict[str, float]] = {}
    for scenario in SCENARIOS:
        for what, most, needed in _needs(model, scenario):
            rows.setdefault((what, most), {})[scenario.name] = needed
    return [Limit(what, most, needed) for (what, most), needed in rows.items()]


def _needs(model: Model, scenario: Scenario) -> list[tuple[str, float, float]]:
    load, month, a = model.load(scenario), Month.of(model, scenario), model.assumed
    long = model.measured[f"recount an hour of {steps.RECOUNTED[1][1]} mentions, after {steps.RECOUNTED[1][0]} hours"]
    mention_bytes = model.measured["analyse an article that names 3 tools"].stored["mentions"] / 3
    hot_gb = load.hot_mentions * KEPT_SECONDS * mention_bytes * (1 + a.index_share) / GB
    due = load.polls * TICK_SECONDS
    return [
        ("feeds claimed in a tick, `MAX_QUEUE_SIZE` as it is", Settings().max_queue_size, due),
        ("feeds that a tick looks at", SCANNED_PAGES * FEEDS_IN_PAGE, due),
        ("instances of `ingest_feeds` at the peak", INSTANCES, load.busy_instances["ingest_feeds"] * a.peak),
        ("GB of instances at the peak, of a region's quota", REGION_GB, month.instances * a.peak * a.instance_gb),
        (
            "RU/s of the busiest container in its busiest second, serverless",
            SERVERLESS_CONTAINER,
            month.hottest_container_units * a.peak * a.peak_second,
        ),
        ("RU of one recount of the busiest tool's hour", PARTITION_UNITS, model.recount(load.hot_mentions * 3600)),
        ("GB of the busiest tool's mentions", PARTITION_GB, hot_gb),
        ("RU/s of the documents of totals at the peak", PARTITION_UNITS, load.units_at["catalog/TOTALS"] * a.peak),
        ("messages a second in all queues at the peak", QUEUE_MESSAGES, load.messages * a.peak),
        ("KB of the documents that a recount writes, 32 days full", DOCUMENT_KB, long.bytes_written / 1024),
    ]
