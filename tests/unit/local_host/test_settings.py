"""host.json, its overlay, and where app settings come from."""

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.local_host import Refused
from scripts.local_host.settings import app_settings, read_host_json, resolved, time_span


def host_json(folder: Path, **content: Any) -> Path:
    path = folder / "host.json"
    path.write_text(json.dumps({"version": "2.0", **content}))
    return path


def test_absent_values_are_the_real_hosts_defaults(tmp_path: Path) -> None:
    options = read_host_json(host_json(tmp_path), {})
    assert (options.queues.visibility_timeout, options.queues.max_polling_interval) == (0, 60)
    assert (options.queues.batch_size, options.queues.new_batch_threshold) == (16, 8)
    assert (options.route_prefix, options.function_timeout, options.has_bundle) == ("api", 1800, False)


def test_settings_named_after_host_json_lie_over_it_whatever_their_case(tmp_path: Path) -> None:
    path = host_json(tmp_path, extensions={"queues": {"batchSize": 4, "visibilityTimeout": "00:00:30"}})
    overlay = {
        "AzureFunctionsJobHost__extensions__queues__visibilityTimeout": "00:00:00.2",
        "AZUREFUNCTIONSJOBHOST__EXTENSIONS__QUEUES__BATCHSIZE": "2",
        "AzureFunctionsJobHost__functionTimeout": "-1",
        "AzureFunctionsJobHost__logging__logLevel__Host": "Warning",
    }
    options = read_host_json(path, overlay)
    assert (options.queues.visibility_timeout, options.queues.batch_size) == (0.2, 2)
    assert options.function_timeout is None
    assert not options.allows("Host.Triggers", "information")
    assert options.allows("Function.x", "information")


@pytest.mark.parametrize(
    ("queues", "named"),
    [
        ({"batchSize": 33}, "batchSize"),
        ({"batchSize": 0}, "batchSize"),
        ({"maxDequeueCount": "many"}, "maxDequeueCount"),
        ({"visibilityTimeout": 30}, "visibilityTimeout"),
        ({"maxPollingInterval": "5s"}, "maxPollingInterval"),
        ({"messageEncoding": "utf8"}, "messageEncoding"),
    ],
)
def test_a_wrong_value_is_refused_by_name(tmp_path: Path, queues: dict[str, Any], named: str) -> None:
    with pytest.raises(Refused, match=named):
        read_host_json(host_json(tmp_path, extensions={"queues": queues}), {})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": "1.0"}', '{"version": "2.0", "functionTimeout": "soon"}'])
def test_a_host_json_that_the_real_host_refuses_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "host.json").write_text(text)
    with pytest.raises(Refused, match=r"host.json"):
        read_host_json(tmp_path / "host.json", {})


def test_a_missing_host_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="missing"):
        read_host_json(tmp_path / "host.json", {})


def test_the_longest_category_decides_what_is_logged(tmp_path: Path) -> None:
    levels = {"default": "Warning", "Function": "Information", "Function.noisy": "None", "Function.noisy.User": "Error"}
    options = read_host_json(host_json(tmp_path, logging={"logLevel": levels}), {})
    allowed = {
        (category, level): options.allows(category, level)
        for category in ("Host", "Function.x", "Function.noisy", "Function.noisy.User")
        for level in ("information", "warning", "critical")
    }
    assert [key for key, value in allowed.items() if value] == [
        ("Host", "warning"), ("Host", "critical"),
        ("Function.x", "information"), ("Function.x", "warning"), ("Function.x", "critical"),
        ("Function.noisy.User", "critical"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "seconds"), [("00:00:30", 30), ("01:02:03.5", 3723.5), ("1.00:00:00", 86400), ("00:05", 300)]
)
def test_time_spans_are_those_of_dotnet(text: str, seconds: float) -> None:
    assert time_span(text) == seconds


def test_the_environment_wins_over_the_file_and_the_command_line_over_both(tmp_path: Path) -> None:
    (tmp_path / "local.settings.json").write_text(
        json.dumps({"Values": {"A": "file", "B": "file", "C": "file", "D": 5}})
    )
    values, kept = app_settings(tmp_path, {"C": "given", "E": "given"}, {"B": "shell", "C": "shell", "F": "shell"})
    assert values == {"A": "file", "B": "shell", "C": "given", "D": "5", "E": "given"}
    assert kept == ["B"]


def test_the_sample_is_the_default_and_gives_way_to_the_file(tmp_path: Path) -> None:
    assert app_settings(tmp_path, {}, {}) == ({}, [])
    (tmp_path / "local.settings.json.sample").write_text('{"Values": {"A": "sample"}}')
    assert app_settings(tmp_path, {}, {})[0] == {"A": "sample"}
    (tmp_path / "local.settings.json").write_text('{"Values": {"B": "file"}}')
    assert app_settings(tmp_path, {}, {})[0] == {"B": "file"}


@pytest.mark.parametrize("text", ["{", '{"Values": []}', '{"Values": {"A": {}}}', '{"IsEncrypted": true}', "[]"])
def test_a_settings_file_that_cannot_be_read_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "local.settings.json").write_text(text)
    with pytest.raises(Refused, match=r"local\.settings\.json"):
        app_settings(tmp_path, {}, {})


def test_a_setting_in_percent_signs_is_replaced_and_a_missing_one_named() -> None:
    assert resolved("a-%B%-c", {"B": "b"}, "f") == "a-b-c"
    with pytest.raises(Refused, match="f: there is no app setting NOWHERE"):
        resolved("%NOWHERE%", {}, "f")
