"""The version of the app."""

import tomllib
from pathlib import Path

from models.version import VERSION


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    assert project["project"]["version"] == VERSION
