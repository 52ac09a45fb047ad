"""Every command: its help, and what it says of wrong input. No app is asked."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import typer

from scripts.command_reference import commands
from tests.functional.cli.commands import environment
from toolpulse.main import main
from triggers.contract import of_app

COMMANDS = dict(commands())
WRONG_USAGE: Any = typer.BadParameter.__base__
OF_ENDPOINTS = {
    "articles": "articles list", "articles/{article_id}": "articles show",
    "articles/{article_id}/document": "documents show", "documents": "documents list",
    "articles/{article_id}/document/files/{file_id}": "documents read", "tools/{tool}/documents": "documents list",
    "articles/{article_id}/ledger": "articles ledger", "articles/{article_id}/split": "articles split",
    "cache/health": "cache health", "cache/refresh": "cache refresh", "corrections": "corrections list",
    "corrections/{correction_id}": "corrections show", "corrections/{correction_id}/undo": "corrections undo",
    "export": "export", "export/corrections": "corrections export", "feeds": "feeds list", "feeds/apply": "feeds apply",
    "feeds/bulk": "feeds bulk", "feeds/export": "feeds export", "feeds/import": "import",
    "feeds/preview": "feeds preview", "feeds/{feed_id}": "feeds show", "feeds/{feed_id}/fetch": "feeds fetch",
    "feeds/{feed_id}/history": "feeds history", "health": "health", "history": "history", "hosts": "hosts list",
    "hosts/{host}": "hosts show", "metrics": "metrics", "presets": "feeds presets", "quarantine": "quarantine list",
    "quarantine/{quarantine_id}/preview": "quarantine preview",
    "quarantine/{quarantine_id}/review": "quarantine review", "queues": "queues list",
    "queues/{name}/redrive": "queues redrive", "runs": "runs list", "runs/{run_id}": "runs show",
    "sentiment/latest": "sentiment", "sentiment/trends": "sentiment", "signals": "signals", "stories": "stories list",
    "stories/{event_id}": "stories show", "stories/{event_id}/join": "stories join",
    "stories/{event_id}/keep-apart": "stories keep-apart", "stories/{event_id}/ledger": "stories ledger",
    "stories/{event_id}/split": "stories split", "tools": "tools list", "tools/apply": "tools apply",
    "tools/{tool}": "tools show", "tools/{tool}/articles": "articles list", "tools/{tool}/cache": "cache delete",
    "tools/{tool}/corrections": "corrections judge", "tools/{tool}/corrections/{correction_id}": "corrections show",
    "tools/{tool}/corrections/{correction_id}/undo": "corrections undo", "tools/{tool}/history": "history",
    "tools/{tool}/history/{day}": "history", "tools/{tool}/mentions": "mentions",
    "tools/{tool}/mentions/{article_id}": "explain", "tools/{tool}/merge": "tools merge",
    "tools/{tool}/merges": "tools merges",
    "tools/{tool}/names": "tools names",
    "tools/{tool}/movement": "movement", "tools/{tool}/preview": "tools preview",
    "tools/{tool}/reanalyze": "tools reanalyze", "tools/{tool}/references": "tools references",
    "tools/{tool}/sentiment": "sentiment", "tools/{tool}/sentiment/evidence": "evidence",
    "tools/{tool}/signals": "signals", "tools/{tool}/stories": "stories list",
}  # fmt: skip
FOR_PROGRAMS = {"", "mcp"}
"""What only other programs call: language models, and readers of the list of collections."""


def ended(*arguments: str, **variables: str) -> tuple[int, str, str]:
    out, errors = io.StringIO(), io.StringIO()
    with environment({"TOOLPULSE_CONFIG": "/nonexistent", **variables}), redirect_stdout(out), redirect_stderr(errors):
        code = main(list(arguments))
    return code, out.getvalue(), errors.getvalue()


def test_everything_that_the_api_does_has_a_command() -> None:
    import function_app  # noqa: F401

    routes = {each.route for each in of_app()} - FOR_PROGRAMS
    assert routes == OF_ENDPOINTS.keys() - FOR_PROGRAMS
    assert set(OF_ENDPOINTS.values()) <= COMMANDS.keys()


def told(words: str, *arguments: str) -> str:
    """What one command prints, or says is wrong."""
    out = io.StringIO()
    try:
        with redirect_stdout(out):
            COMMANDS[words].main(list(arguments), prog_name=f"toolpulse {words}", standalone_mode=False)
    except WRONG_USAGE as wrong:
        return str(wrong.format_message())
    return out.getvalue()


def test_no_command_has_two_options_of_one_name() -> None:
    for words, each in COMMANDS.items():
        options = [name for option in each.params for name in (*option.opts, *option.secondary_opts)]
        assert len(options) == len(set(options)), words


def test_every_command_has_help_and_says_what_it_does_not_know_and_what_is_missing() -> None:
    for words, each in COMMANDS.items():
        assert told(words, "--help").startswith(f"Usage: toolpulse {words} ")
        assert "--nonsense" in told(words, "--nonsense"), words
        if any(parameter.required for parameter in each.params):
            assert told(words).startswith("Missing "), words


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nonsense"], 2, "No such command 'nonsense'"),
        (["feeds", "nonsense"], 2, "No such command 'nonsense'"),
        (["feeds", "lst"], 2, "list"),
        (["tools", "list", "--json", "--csv"], 2, "--json and --csv: give one of them"),
        (["tools", "list", "--url", "nonsense://x"], 2, "is no URL of an app"),
        (["tools", "list", "--limit", "-1", "--url", "http://127.0.0.1:9"], 2, "--limit: must be 0 for all, or more"),
        (["tools", "list", "--limit", "many"], 2, "--limit"),
        (["--url", "http://127.0.0.1:9", "tools", "list"], 3, "cannot be reached"),
        (["runs", "list", "--status", "nonsense"], 2, "nonsense"),
        (["tools", "add", "x", "--name-rules", "{"], 2, "--name-rules: must be a JSON object"),
        (["feeds", "add"], 2, "give a URL or a --preset"),
        (["feeds", "add", "--preset", "x", "--value", "query"], 2, "'query' is not NAME=VALUE"),
        (["feeds", "change", "x"], 2, "nothing to change"),
        (["tools", "change", "x"], 2, "nothing to change"),
        (["import", "/nonexistent.opml"], 1, "/nonexistent.opml: No such file"),
        (["export", "/nonexistent/x"], 1, "must be a file in an existing folder"),
        (["watch", "--every", "0"], 2, "--every: at least 1 second"),
        (["audit", "--url", "http://127.0.0.1:9"], 2, "run it where the app is"),
        (["completion", "nonsense"], 2, "nonsense"),
    ],
)
def test_wrong_input_is_told_in_words(arguments: list[str], code: int, said: str) -> None:
    found, out, errors = ended(*arguments)
    assert (found, out) == (code, "")
    assert said in errors


def test_a_folder_that_nobody_named_is_not_made(tmp_path: Path) -> None:
    code, _, said = ended("tools", "list", DATA_DIR=str(tmp_path / "none"))
    assert (code, (tmp_path / "none").exists()) == (1, False)
    assert "--data DIR names another" in said


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_is_printed_for_each_shell(shell: str) -> None:
    code, out, _ = ended("completion", shell)
    assert code == 0
    assert "_TOOLPULSE_COMPLETE" in out


def test_profiles_are_listed_without_their_keys(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('default = "a"\n[profiles.a]\nurl = "https://a.example"\nkey = "secret"\n')
    path.chmod(0o644)
    code, out, said = ended("profiles", TOOLPULSE_CONFIG=str(path))
    assert code == 0
    assert "https://a.example" in out
    assert "secret" not in out + said
    assert f"chmod 600 {path}" in said


def test_the_version_is_that_of_the_app() -> None:
    from models.version import VERSION

    assert ended("--version") == (0, f"toolpulse {VERSION}\n", "")
