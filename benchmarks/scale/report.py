"""The tables of docs/scaling.md, from the recorded measurements. Pure: a test compares the page with them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.scale.limits import limits
from benchmarks.scale.scenarios import SCENARIOS, SECONDS, Assumptions, Model, Month
from benchmarks.scale.steps import Step
from services.topology import QUEUES, TIMERS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "scaling.md"
RECORDED = Path(__file__).with_name("measured.json")
GROUPS = 1 + len(TIMERS) + len(QUEUES)
"""Flex Consumption scales the HTTP functions together, and each other function alone."""
BEGIN, END = "<!-- {}: from benchmarks/scale_model.py -->\n", "<!-- end -->\n"


def recorded() -> dict[str, Step]:
    return {name: Step(**fields) for name, fields in json.loads(RECORDED.read_text()).items()}


def record(measured: Mapping[str, Step]) -> None:
    documents = {name: dataclasses.asdict(step) for name, step in measured.items()}
    RECORDED.write_text(json.dumps(documents, indent=1) + "\n")


def tables(measured: Mapping[str, Step], assumed: Assumptions) -> dict[str, str]:
    model = Model(measured, assumed)
    return {
        "steps": _table(("step", "RU", "point reads", "writes", "queries", "KB read", "KB written"), _steps(measured)),
        "scenarios": _table(("", *(each.name for each in SCENARIOS)), _scenarios(model)),
        "options": _table(("$ a month", *(each.name for each in SCENARIOS)), _options(model)),
        "limits": _table(("limit", "at most", *(each.name for each in SCENARIOS)), _limits(model)),
        "assumptions": _table(("assumed", "is"), _assumptions(assumed)),
    }


def written(document: str, made: Mapping[str, str]) -> str:
    """The document with these tables in it. Raises ValueError if the markers of a table are missing."""
    for name, table in made.items():
        begin = BEGIN.format(name)
        before, found, rest = document.partition(begin)
        _, ended, after = rest.partition(END)
        if not (found and ended):
            raise ValueError(f"docs/scaling.md has no markers for {name}")
        document = f"{before}{begin}{table}{END}{after}"
    return document


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] + ["--:"] * (len(head) - 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _steps(measured: Mapping[str, Step]) -> Iterator[Sequence[str]]:
    for name, step in measured.items():
        figures = (step.units, step.reads, step.writes, step.queries + step.scans)
        sizes = (step.bytes_read / 1024, step.bytes_written / 1024)
        yield (name, *(f"{figure:,.1f}" for figure in (*figures, *sizes)))


def _scenarios(model: Model) -> Iterator[Sequence[str]]:
    loads = [model.load(each) for each in SCENARIOS]
    months = [Month.of(model, each) for each in SCENARIOS]
    yield ("polls a second", *(_shown(load.polls) for load in loads))
    yield ("**RU/s on average**", *(_shown(month.units_average) for month in months))
    for name in loads[0].units_of:
        yield (f"of which {name}", *(_shown(load.units_of[name]) for load in loads))
    yield ("RU/s in the busiest second", *(_shown(month.units_peak) for month in months))
    busiest = [f"{month.hottest_container}, {_shown(month.hottest_container_units)}" for month in months]
    yield ("busiest container, its RU/s", *busiest)
    yield ("million executions a month", *(_shown(month.executions / 1e6) for month in months))
    yield ("thousand GB-s a month", *(_shown(month.gb_seconds / 1e3) for month in months))
    yield ("GB stored", *(_shown(month.stored_gb) for month in months))
    yield ("million storage transactions a month", *(_shown(month.queue_transactions / 1e6) for month in months))
    yield ("GB of logs and metrics a month", *(_shown(month.logged_gb) for month in months))
    yield ("$ a month: Cosmos DB serverless", *(_shown(month.serverless) for month in months))
    yield ("$ a month: or Cosmos DB autoscale", *(_shown(month.autoscale) for month in months))
    yield ("$ a month: Functions", *(_shown(month.functions) for month in months))
    yield ("$ a month: storage and queues", *(_shown(month.storage) for month in months))
    yield ("$ a month: logs, metrics, spans, alerts", *(_shown(month.monitoring) for month in months))
    for name, what in (("serverless", "default parameters"), ("autoscale", "autoscale")):
        sums = [getattr(month, name) + month.functions + month.storage + month.monitoring for month in months]
        yield (f"**$ a month in all, {what}**", *(_shown(each) for each in sums))


def _options(model: Model) -> Iterator[Sequence[str]]:
    """What main.prod.parameters.json adds, and what else can be chosen."""
    a, months = model.assumed, [Month.of(model, each) for each in SCENARIOS]
    tests, group = 3 * SECONDS / 300, 0.5 * SECONDS * a.always_ready_gb_second
    probes = tests / 1e6 * model.measured["GET health"].units * a.million_units + 0.10
    added = {
        "`instanceMemoryMB` 2048": [3 * month.gb_seconds * a.gb_second for month in months],
        "`availabilityTestMinutes` 5": [tests * a.web_test + probes] * len(months),
        "`logAlertMinutes` 5": [3 * 1.0] * len(months),
        "`zoneRedundant`": [(month.serverless + month.storage) / 4 for month in months],
        "`cosmosBackupTier` Continuous30Days": [month.stored_gb * a.backup_gb_month for month in months],
        "`maximumInstanceCount` 100, `logRetentionDays` 90": [0.0] * len(months),
        "not in production: `appZoneRedundant`, 512 MB": [2 * GROUPS * group] * len(months),
        "not in production: `appZoneRedundant`, 2,048 MB": [8 * GROUPS * group] * len(months),
        "not in production: `cosmosRequestLogs`": [month.requests * a.request_log_gb * a.logged_gb for month in months],
    }
    for name, dollars in added.items():
        yield (name, *map(_shown, dollars))


def _limits(model: Model) -> Iterator[Sequence[str]]:
    for limit in limits(model):
        needed = [_shown(limit.needed[each.name]) for each in SCENARIOS]
        marked = [f"**{n}**" if limit.is_passed(each) else n for n, each in zip(needed, SCENARIOS, strict=True)]
        yield (limit.what, _shown(limit.most), *marked)


def _assumptions(assumed: Assumptions) -> Iterator[Sequence[str]]:
    for field in dataclasses.fields(assumed):
        yield (f"`{field.name}`", f"{getattr(assumed, field.name):.10g}")


def _shown(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:,.1f}" if figure >= 1 else f"{figure:.2f}"
