"""The requests of requests.http are to endpoints of the app."""

import re
from pathlib import Path

import pytest

import function_app
from triggers.contract import of_app

ROOT = Path(__file__).resolve().parents[3]
REQUESTS = re.findall(r"^(GET|POST) \{\{url\}\}/([^?\n]*)", (ROOT / "requests.http").read_text("utf-8"), re.MULTILINE)
assert function_app.app is not None  # its modules declare the endpoints
ENDPOINTS = {(each.method, each.route) for each in of_app()}


@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_each_request_is_to_an_endpoint(method: str, path: str) -> None:
    assert (method, path.replace("Python", "{tool}")) in ENDPOINTS
