"""What the shell completes: words, and names of tools and feeds. A failure completes nothing and prints nothing."""

import io
import json
import threading
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.functional.cli.commands import environment
from toolpulse.completing import VARIABLE
from toolpulse.main import main

TOOLS = [{"name": "Drossel CI", "aliases": ["DCI"]}, {"name": "Python", "aliases": []}]
FEEDS = [{"feed_id": "wire", "source_name": "The Wire"}]


class App(BaseHTTPRequestHandler):
    """Lists tools to those who have the key, and feeds in no JSON."""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        found = {"/api/v1/tools": TOOLS, "/api/v1/feeds": FEEDS}[path]
        assert query == "limit=500"
        self.send_response(200 if self.headers.get("x-functions-key") == "sesame" else 401)
        self.end_headers()
        self.wfile.write(json.dumps({"items": found}).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), App)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def completed(line: str, shell: str = "bash", key: str = "sesame") -> list[str]:
    """What is offered for the last word of the line."""
    words = len(line.split(" ")) - 1
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(words), "_TYPER_COMPLETE_ARGS": line}
    variables = {"TOOLPULSE_CONFIG": "/nonexistent", "TOOLPULSE_KEY": key, **asked}
    out, errors = io.StringIO(), io.StringIO()
    with (
        environment({VARIABLE: f"complete_{shell}", **variables}),
        redirect_stdout(out),
        redirect_stderr(errors),
        pytest.raises(SystemExit),
    ):
        main([])
    assert errors.getvalue() == ""
    return out.getvalue().strip().splitlines()


def test_words_of_commands_are_completed() -> None:
    assert completed("toolpulse too") == ["tools"]


def test_names_and_aliases_of_tools_are_completed(url: str) -> None:
    assert completed(f"toolpulse --url {url} sentiment ") == [r"Drossel\ CI", "DCI", "Python"]
    assert completed(f"toolpulse --url {url} sentiment Py") == ["Python"]
    assert completed(f"toolpulse evidence --url {url} D") == [r"Drossel\ CI", "DCI"]
    assert completed(f"toolpulse --url {url} signals --tool P") == ["Python"]


def test_only_bash_wants_spaces_to_be_written_with_a_backslash(url: str) -> None:
    assert '"Drossel CI":"Drossel CI"' in "".join(completed(f"toolpulse --url {url} sentiment Dr", "zsh"))


def test_ids_of_feeds_are_completed(url: str) -> None:
    assert completed(f"toolpulse --url {url} feeds show w") == ["wire"]


def test_a_refused_key_completes_nothing(url: str) -> None:
    assert completed(f"toolpulse --url {url} sentiment P", key="wrong") == []


def test_an_app_that_is_not_there_completes_nothing(tmp_path: Path) -> None:
    assert completed("toolpulse --url http://127.0.0.1:1 sentiment P") == []
    assert completed(f"toolpulse --data {tmp_path} sentiment P") == []
    assert completed("toolpulse --profile none sentiment P") == []
    assert list(tmp_path.iterdir()) == []
