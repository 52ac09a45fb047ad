"""Each operation costs what benchmarks/budgets.json records."""

import dataclasses
import os
import subprocess
import sys

import pytest

from benchmarks.budgets import Cost, differences
from tests.hosting import ROOT


@pytest.mark.slow
def test_each_operation_costs_what_is_recorded() -> None:
    """In a process of its own: what another test has imported and cached would not be counted."""
    command = [sys.executable, "-m", "benchmarks.budgets", "--check"]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_row_that_costs_more_is_found_and_one_that_is_missing_too() -> None:
    cost = Cost(reads=1, writes=2, queries=0, units=30.0, messages=1, calls=1000)
    assert differences({"a": cost}, {"a": dataclasses.replace(cost, units=30.3)}) == []
    assert len(differences({"a": cost}, {"a": dataclasses.replace(cost, units=32.0)})) == 1
    assert len(differences({"a": cost}, {"a": dataclasses.replace(cost, reads=2)})) == 1
    assert len(differences({"a": cost}, {"b": cost})) == 2
