"""Mutation tests find the changes that tests notice, and those that they do not. In a project of one module."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.soak]

ROOT = Path(__file__).resolve().parents[3]

RULE = """
LEAST = 3
SHOWN = 5

def is_enough(number):
    return number >= LEAST

def doubled(number):
    return number * 2

def shown(numbers):
    numbers = list(numbers)
    while len(numbers) > SHOWN:
        numbers.pop()
    return numbers
"""
TESTS = """
from models.rule import doubled, is_enough, shown

def test_three_are_enough():
    assert is_enough(3) and not is_enough(2)

def test_zero_doubled_is_zero():
    assert doubled(0) == 0

def test_only_five_are_shown():
    assert shown(range(9)) == [0, 1, 2, 3, 4]
"""
SURVIVING = ["2 -> 1", "2 -> 3", "number * 2 -> number / 2"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("models", "services", "tests/unit/models", "tests/mutation"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "models/__init__.py").touch()
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\npythonpath = ["."]\naddopts = "--import-mode=importlib"\n'
        'asyncio_default_fixture_loop_scope = "function"\n'
    )
    (tmp_path / "models/rule.py").write_text(RULE)
    (tmp_path / "tests/unit/models/test_rule.py").write_text(TESTS)
    return tmp_path


def mutate(project: Path, *modules: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.mutation.session", "--jobs", "2", *modules],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def test_what_no_test_notices_is_reported_and_fails(project: Path) -> None:
    code, output = mutate(project)
    survivors = [line for line in output.splitlines() if line.startswith("models/rule.py | ")]
    assert sorted(survivors) == [f"models/rule.py | doubled | {each} | return number * 2" for each in SURVIVING], output
    assert "models/rule.py: 11 of 14 killed (79%)" in output
    assert code == 1


def test_survivors_with_a_reason_are_accepted_up_to_one_in_ten(project: Path) -> None:
    reasons = "".join(
        f"models/rule.py | doubled | {each} | return number * 2\n    It must be so.\n" for each in SURVIVING
    )
    (project / "tests/mutation/survivors.txt").write_text(reasons)
    code, output = mutate(project)
    assert "models/rule.py: only 11 of 14 mutants are killed." in output
    assert code == 1

    tests = project / "tests/unit/models/test_rule.py"
    tests.write_text(tests.read_text() + "\ndef test_one_doubled():\n    assert doubled(1) in (2, 3)\n")
    code, output = mutate(project)
    assert "Listed as a survivor, but killed: models/rule.py | doubled | 2 -> 1 | return number * 2" in output
    assert code == 0


def test_a_test_that_fails_without_a_mutation_kills_none(project: Path) -> None:
    (project / "tests/unit/models/test_rule.py").write_text(TESTS.replace("doubled(0) == 0", "doubled(0) == 1"))
    code, output = mutate(project)
    failing = "tests/unit/models/test_rule.py::test_zero_doubled_is_zero"
    assert f"Left out, since it fails without a mutation: {failing}" in output
    assert "models/rule.py | doubled | return number * 2 -> return None" in output
    assert code == 1


def test_a_stale_survivor_fails_the_run_and_is_printed_as_the_lines_to_delete(project: Path) -> None:
    (project / "models/rule.py").write_text("def shown(numbers):\n    return numbers\n")
    (project / "tests/unit/models/test_rule.py").write_text(
        "from models.rule import shown\n\ndef test_all_are_shown():\n    assert shown([1]) == [1]\n"
    )
    stale = "models/rule.py | doubled | 2 -> 1 | return number * 2\n    It must be so.\n"
    (project / "tests/mutation/survivors.txt").write_text(stale)
    code, output = mutate(project)
    assert "models/rule.py: 1 of 1 killed (100%)" in output
    assert stale in output
    assert code == 1


def test_a_mutant_that_raises_at_import_is_killed(project: Path) -> None:
    (project / "models/rule.py").write_text("SIZE = 5\nif SIZE != 5:\n    raise SystemExit('wrong size')\n")
    (project / "tests/unit/models/test_rule.py").write_text(
        "from models.rule import SIZE\n\ndef test_a_size():\n    assert SIZE == 5\n"
    )
    # pytest imports this file outside of any test.
    (project / "tests/unit/models/conftest.py").write_text("import models.rule\n")
    code, output = mutate(project)
    survivor = "models/rule.py | module | raise SystemExit('wrong size') -> pass | raise SystemExit('wrong size')"
    assert [line for line in output.splitlines() if line.startswith("models/rule.py | ")] == [survivor]
    assert "models/rule.py: 5 of 6 killed (83%)" in output
    assert code == 1


def test_a_function_that_only_runs_at_import_is_tested_by_what_it_makes(project: Path) -> None:
    (project / "models/rule.py").write_text("def made():\n    return 5\n\nSIZE = made()\n")
    (project / "tests/unit/models/test_rule.py").write_text(
        "from models.rule import SIZE\n\ndef test_a_size():\n    assert SIZE == 5\n"
    )
    code, output = mutate(project)
    assert "models/rule.py: 3 of 3 killed (100%)" in output
    assert code == 0


def test_async_functions_of_a_module_are_reported_as_not_mutated(project: Path) -> None:
    rule = project / "models/rule.py"
    rule.write_text(rule.read_text() + "\nasync def waits():\n    return 5\n")
    _, output = mutate(project, "models/rule.py")
    assert "models/rule.py: only its sync functions are mutated, not waits (async)." in output
    assert "models/rule.py: 11 of 14 killed (79%)" in output
