"""Who may call what."""

import os
import subprocess
import sys

import azure.functions as func
import pytest

from models.errors import NotAllowed
from tests.hosting import ROOT
from triggers.access import require_management


def request(headers: dict[str, str] | None = None) -> func.HttpRequest:
    return func.HttpRequest("POST", "http://localhost/api/v1/x", headers=headers or {}, body=b"")


def test_the_management_key_is_wanted_only_where_one_is_set() -> None:
    require_management(request(), "")
    require_management(request(headers={"x-management-key": "sesame"}), "sesame")
    for headers in ({}, {"X-Management-Key": ""}, {"X-Management-Key": "sesam"}, {"X-Management-Key": "ключ"}):
        with pytest.raises(NotAllowed):
            require_management(request(headers=headers), "sesame")


@pytest.mark.parametrize(
    ("given", "level"),
    [
        (None, "FUNCTION"),
        ("function", "FUNCTION"),
        ("Anonymous", "ANONYMOUS"),
        ("admin", "FUNCTION"),
        ("x", "FUNCTION"),
    ],
)
def test_reading_takes_a_key_unless_it_is_opened_by_name(given: str | None, level: str) -> None:
    environment = {**os.environ, **({"READ_AUTH_LEVEL": given} if given else {})}
    command = [sys.executable, "-c", "from triggers.access import READ; print(READ.name)"]
    printed = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == level
