"""docs/architecture.md describes the walk that `python -m benchmarks.walk` prints."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


@cache
def printed() -> str:
    """The walk runs in a process of its own, since it changes the environment."""
    command = [sys.executable, "-m", "benchmarks.walk"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def documented_writes(stage: str) -> list[str]:
    """The containers in the table of a stage, without repetitions in a row."""
    (section,) = re.findall(rf"^## \d\. {stage}\n(.*?)^## ", PAGE, re.DOTALL | re.MULTILINE | re.IGNORECASE)
    containers = re.findall(r"^\| \d \| `(\w+)` \|", section, re.MULTILINE)
    return [name for place, name in enumerate(containers) if containers[place - 1 : place] != [name]]


@pytest.mark.slow
def test_the_page_lists_the_containers_that_each_stage_writes_in_order() -> None:
    walked = dict(re.findall(r"^(\w+)\n(?:  \S+\n)+writes: (.*)$", printed(), re.MULTILINE))
    assert walked.pop("serve") == "nothing"
    assert {stage: documented_writes(stage) for stage in walked} == {
        stage: containers.split(", ") for stage, containers in walked.items()
    }


def test_every_module_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`((?:services|triggers|models)/[\w/]+\.py)`", PAGE))
    assert {name for name in named if not (ROOT / name).is_file()} == set()
