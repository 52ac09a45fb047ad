"""docs/scaling.md has the figures of the model, and the recorded measurements are those of today's code."""

import dataclasses
from pathlib import Path

import pytest

from benchmarks.scale import charges, report
from benchmarks.scale.scenarios import SCENARIOS, Assumptions, Model, Month
from benchmarks.scale.steps import Step, measured
from services.store.containers import ARTICLES, SENTIMENT_CACHE


def test_the_page_has_the_tables_of_the_recorded_measurements() -> None:
    document = report.DOCUMENT.read_text()
    assert report.written(document, report.tables(report.recorded(), Assumptions())) == document


async def test_the_recorded_measurements_are_those_of_todays_code(tmp_path: Path) -> None:
    """If not, run `python benchmarks/scale_model.py --write`."""
    today, then = await measured(tmp_path), report.recorded()
    assert today.keys() == then.keys()
    differing = {name: (step.units, then[name].units) for name, step in today.items() if not alike(step, then[name])}
    assert differing == {}


def alike(one: Step, other: Step) -> bool:
    """Feeds are saved together in the order in which they are done, which differs from run to run."""
    return one.units == pytest.approx(other.units, rel=0.1, abs=0.5)


def test_every_scenario_needs_more_than_the_one_before() -> None:
    months = [Month.of(Model(report.recorded(), Assumptions()), scenario) for scenario in SCENARIOS]
    for field in dataclasses.fields(Month):
        if field.name != "hottest_container":
            figures = [getattr(month, field.name) for month in months]
            assert figures == sorted(figures), field.name


def test_request_units_are_those_of_microsofts_examples() -> None:
    kilobyte = 1024 - charges.SYSTEM_BYTES
    assert charges.read(kilobyte) == charges.STRONG
    assert charges.create(kilobyte, 10) == pytest.approx(7.0, abs=0.1)
    assert charges.replace(kilobyte, kilobyte, 2) == pytest.approx(10.8, abs=0.2)
    assert charges.delete(kilobyte, 10) == pytest.approx(7.0, abs=0.1)
    assert charges.read(100 * 1024) == pytest.approx(charges.STRONG * 10, rel=0.25)


def test_only_indexed_fields_are_terms() -> None:
    article = {"id": "article", "source_id": "a", "text_for_analysis": "long", "tags": ["x", "y"], "status": "pending"}
    assert len(charges.terms(ARTICLES, article)) == 5
    assert len(charges.terms(ARTICLES, {**article, "timestamp": "2026-02-21T20:00:00Z"})) == 8
    assert len(charges.terms(SENTIMENT_CACHE, {"id": "a", "tool_id": "a", "period": "DAY_7", "score": 1})) == 3
