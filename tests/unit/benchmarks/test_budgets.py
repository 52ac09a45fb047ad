"""Each operation costs what benchmarks/budgets.json records: `python -m benchmarks.budgets --write` records it."""

import dataclasses
import sys
from pathlib import Path

import pytest

from benchmarks.budgets import Cost, measured, recorded

CALLS = 0.03
"""The share by which the number of calls may differ: it depends a little on what ran before in the process."""


@pytest.mark.slow
async def test_each_operation_costs_what_is_recorded(tmp_path: Path) -> None:
    budgets = recorded()
    today = {name: cost for name, cost in (await measured(tmp_path)).items() if name}
    assert today.keys() == budgets.keys()
    differing = {name: (cost, budgets[name]) for name, cost in today.items() if not is_alike(cost, budgets[name])}
    assert differing == {}


def is_alike(one: Cost, other: Cost) -> bool:
    counts = dataclasses.replace(one, calls=0), dataclasses.replace(other, calls=0)
    are_counts = dataclasses.astuple(counts[0]) == pytest.approx(dataclasses.astuple(counts[1]), rel=0.02, abs=0.05)
    # Other versions of Python call functions where 3.11 has none, and the other way round.
    is_measured_here = sys.version_info[:2] == (3, 11)
    return are_counts and (not is_measured_here or one.calls == pytest.approx(other.calls, rel=CALLS, abs=20))


def test_a_row_that_costs_more_is_found() -> None:
    cost = Cost(reads=1, writes=2, queries=0, units=30.0, messages=1, calls=1000)
    assert is_alike(cost, dataclasses.replace(cost, units=30.3))
    assert not is_alike(cost, dataclasses.replace(cost, reads=2))
    assert not is_alike(cost, dataclasses.replace(cost, units=32.0))
