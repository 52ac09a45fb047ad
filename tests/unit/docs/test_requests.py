"""The requests of requests.http, the settings of editors and the example lists fit the app."""

import json
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


@pytest.mark.parametrize("path", sorted((ROOT / ".vscode").glob("*.json")), ids=lambda path: path.name)
def test_the_commands_of_the_editor_exist(path: Path) -> None:
    text = path.read_text("utf-8")
    json.loads(text)
    for script in re.findall(r"scripts/\w+\.py", text):
        assert (ROOT / script).is_file()
