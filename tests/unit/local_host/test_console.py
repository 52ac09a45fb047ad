"""Log lines: short and readable at a terminal, one JSON object for each line elsewhere."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

import pytest

from scripts.local_host.console import AppLog, Console, Invocation, current, fields_of, json_line, readable
from scripts.local_host.settings import read_host_json

NOON = datetime(2026, 3, 1, 12, 0, 0, 5000, tzinfo=UTC)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


Make = Callable[[io.StringIO], Console]


@pytest.fixture
def console_of(tmp_path: Path) -> Iterator[Make]:
    (tmp_path / "host.json").write_text('{"version": "2.0", "logging": {"logLevel": {"default": "debug"}}}')
    loop = asyncio.new_event_loop()
    yield lambda out: Console(read_host_json(tmp_path / "host.json", {}), out, loop)
    loop.close()


def lines(out: io.StringIO) -> list[str]:
    return out.getvalue().splitlines()


def test_a_terminal_gets_time_level_event_and_fields(console_of: Make) -> None:
    out = Terminal()
    console_of(out).log("information", "Host", {"event": "feed_fetched", "feed_id": "a b", "new": 3})
    (line,) = lines(out)
    assert line[8:] == ' info    feed_fetched feed_id="a b" new=3'
    assert time.fromisoformat(line[:8])


@pytest.mark.parametrize(("no_color", "begins"), [("", "\x1b[33m"), ("1", "")])
def test_warnings_have_a_colour_at_a_terminal_unless_no_color_is_set(
    console_of: Make,
    monkeypatch: pytest.MonkeyPatch,
    no_color: str,
    begins: str,
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    out = Terminal()
    console = console_of(out)
    console.log("warning", "Host", {"message": "careful"})
    console.log("information", "Host", {"message": "fine"})
    warning, information = lines(out)
    assert warning.startswith(begins)
    assert ("\x1b" in warning) == bool(begins)
    assert "\x1b" not in information


def test_elsewhere_each_line_is_a_json_object(console_of: Make) -> None:
    out = io.StringIO()
    console = console_of(out)
    console.log("warning", "Host", {"event": "slow", "ms": 5}, {"invocation": "1"})
    console.tell("Ready on\nhttp://127.0.0.1:1")
    first, second = map(json.loads, lines(out))
    assert first.pop("time").endswith("Z")
    assert first == {"level": "warning", "invocation": "1", "event": "slow", "ms": 5}
    assert second["message"] == "Ready on\nhttp://127.0.0.1:1"


def test_the_lowest_level_hides_lines_but_not_what_the_host_tells(console_of: Make) -> None:
    out = io.StringIO()
    console = console_of(out)
    console.show("warning", lambda fields: False)
    console.log("information", "Host", {"message": "hidden"})
    console.log("warning", "Host", {"message": "shown"})
    console.tell("told")
    assert [json.loads(line)["message"] for line in lines(out)] == ["shown", "told"]


@pytest.mark.parametrize(("out", "shown"), [(Terminal(), ["news"]), (io.StringIO(), ["routine", "news"])])
def test_a_terminal_shows_routine_lines_at_debug_only(console_of: Make, out: io.StringIO, shown: list[str]) -> None:
    console = console_of(out)
    console.show("information", lambda fields: fields["event"] == "routine")
    console.log("information", "Host", {"event": "routine"})
    console.log("information", "Host", {"event": "news"})
    assert [word for line in lines(out) for word in ("routine", "news") if word in line] == shown


def test_the_apps_lines_have_their_invocation_and_traceback(console_of: Make) -> None:
    out = io.StringIO()
    logger = logging.Logger("app.module")
    console = console_of(out)
    logger.addHandler(AppLog(console))
    token = current.set(Invocation("7", "tick"))
    try:
        logger.info('{"event": "counted", "count": 2}')
        try:
            raise ValueError("as asked")
        except ValueError:
            logger.exception("failed")
    finally:
        current.reset(token)
    logger.info("alone")
    console.is_of_launcher = True
    logger.info("at the start")
    counted, failed, alone, at_start = map(json.loads, lines(out))
    assert "note" not in at_start
    assert {"logger": "app.module", "function": "tick", "invocation": "7", "event": "counted", "count": 2}.items() <= (
        counted.items()
    )
    assert failed["message"] == "failed"
    assert failed["traceback"].endswith("ValueError: as asked")
    assert alone["note"] == "of no invocation: Azure drops this line"


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ('{"event": "a", "n": null}', {"event": "a", "n": None}),
        ("plain", {"message": "plain"}),
        ("{no json", {"message": "{no json"}),
        ("[1]", {"message": "[1]"}),
    ],
)
def test_a_json_object_is_taken_apart_and_other_text_is_a_message(text: str, fields: dict[str, Any]) -> None:
    assert fields_of(text) == fields


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"n": 1, "event": "a"}, "a n=1"),
        ({"event": "a", "why": "x=y", "none": None, "empty": ""}, 'a why="x=y" none=null empty=""'),
        ({"event": "a", "why": 'said "no"'}, r'a why="said \"no\""'),
        ({"message": "m", "traceback": "Traceback:\n  line"}, "m\nTraceback:\n  line"),
        ({"event": "a", "title": "\x1b[2Jgone"}, r"a title=\x1b[2Jgone"),
        ({"message": "\x1b]0;title\x07"}, r"\x1b]0;title\x07"),
    ],
)
def test_readable_lines(fields: dict[str, Any], text: str) -> None:
    assert readable(fields) == text


def test_the_apps_fields_win_over_the_hosts_in_json() -> None:
    assert json.loads(json_line(NOON, "error", {"event": "a", "function": "theirs"}, {"function": "ours"})) == {
        "time": "2026-03-01T12:00:00.005Z",
        "level": "error",
        "function": "theirs",
        "event": "a",
    }
