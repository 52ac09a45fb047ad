"""config/ingestion.yaml is read whole: every key counts, or is refused by name."""

import re
from pathlib import Path

import pytest

from models.errors import WrongSettings
from scripts.package import app_files
from services.setting import DEFAULT_FILE, Configuration, parse_file, read_file
from services.settings import Settings, table

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = (ROOT / DEFAULT_FILE).read_text()

SPECIFIED = (ROOT / "tests/data/specifications/ingestion.yaml").read_text()
"""Section 4.1 of the ingestion specification."""

DIFFERENT = {"max_concurrent_requests": 10, "fetch_user_agent": ("NewsAggregator/1.0",)}
"""Where our defaults differ from the specification's; docs/adr/0021-configuration.md has the reasons."""


def parsed(text: str) -> Configuration:
    return parse_file(text.encode(), table())


def problem(text: str) -> str:
    (only,) = parsed(text).problems
    return only


def section(name: str, lines: str) -> str:
    return f"ingestion:\n  {name}:\n    {lines}\n"


def test_the_file_of_the_specification_is_read_whole() -> None:
    found = parsed(SPECIFIED)
    assert found.problems == ()
    written = set(re.findall(r"^    (\w+):", SPECIFIED.partition("feeds:")[0], re.MULTILINE))
    assert {"fetch_user_agent" if name == "user_agent" else name for name in written} == found.values.keys()
    settings = Settings.from_environment({}, file=found)
    assert settings.max_concurrent_requests == 10
    assert settings.fetch_user_agent == ("NewsAggregator/1.0",)


def test_our_defaults_are_those_of_the_specification_but_for_two() -> None:
    different = {
        row.attribute: value
        for row in table()
        if (value := parsed(SPECIFIED).values.get(row.attribute, row.default)) != row.default
    }
    assert different == DIFFERENT


def test_the_shipped_file_sets_nothing_and_shows_every_key_with_its_default() -> None:
    assert parsed(SHIPPED) == Configuration()
    shown = parsed(re.sub(r"^    # (\w+:)", r"    \1", SHIPPED, flags=re.MULTILINE))
    assert shown.problems == ()
    assert shown.values == {row.attribute: row.default for row in table() if row.key}


def test_the_shipped_file_is_part_of_the_package() -> None:
    assert Path(DEFAULT_FILE) in app_files(ROOT)


def test_the_environment_wins_over_the_file_and_the_file_over_the_default() -> None:
    found = parsed(section("fetcher", "retry_attempts: 5") + "  processor:\n    batch_size: 7\n")
    settings = Settings.from_environment({"RETRY_ATTEMPTS": "2"}, file=found)
    assert (settings.retry_attempts, settings.batch_size, settings.max_queue_size) == (2, 7, 1000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            section("fetcher", "max_concurent_requests: 4"),
            "ingestion.fetcher.max_concurent_requests is unknown: did you mean ingestion.fetcher.max_concurrent_requ",
        ),
        (
            section("parser", "batch_size: 4"),
            "ingestion.parser.batch_size is unknown: did you mean ingestion.processor.batch_size?",
        ),
        ("ingestion:\n  fetchers:\n", "ingestion.fetchers is unknown: did you mean ingestion.fetcher?"),
        ("zebra: 3\n", "zebra is unknown; allowed: ingestion.fetcher.max_concurrent_requests, "),
        (
            section("fetcher", "retry_attempts: 11"),
            "ingestion.fetcher.retry_attempts must be a whole number from 1 to 10",
        ),
        (
            section("fetcher", "retry_attempts:"),
            "ingestion.fetcher.retry_attempts has no value: must be a whole number from 1 to 10;"
            " without the line, the default counts",
        ),
        (
            section("fetcher", 'user_agent: ""'),
            "ingestion.fetcher.user_agent has no value: must be printable ASCII, several separated by |;"
            " without the line, the default counts",
        ),
        (
            section("monitoring", "metrics_port: 9091"),
            "ingestion.monitoring.metrics_port has no effect in this version: leave it out, or at 9090",
        ),
        (
            section("events", "grouping_interval_minutes: 0"),
            "ingestion.events.grouping_interval_minutes must be a whole number from 1 to 1440",
        ),
        ("ingestion: 3\n", "ingestion must be a block of settings"),
        ("feeds: yes\n", "feeds must be a list of feeds"),
    ],
)
def test_a_key_or_value_that_is_not_understood_is_refused_by_name(text: str, expected: str) -> None:
    assert problem(text).startswith(f"config/ingestion.yaml: {expected}")


def test_a_file_that_is_no_yaml_is_refused_without_quoting_it() -> None:
    text = problem("ingestion: [secret\n")
    assert text.startswith("config/ingestion.yaml must be YAML, but cannot be parsed (")
    assert text.endswith("line 2, column 1)")
    assert "secret" not in text
    assert text == " ".join(text.split())


def test_a_key_that_is_there_twice_is_refused_with_its_line() -> None:
    text = problem("ingestion:\n  parser:\n    dedup_cache_size: 1000\n    dedup_cache_size: 2000\n")
    assert "dedup_cache_size is there twice" in text
    assert "line 4" in text


def test_a_value_that_is_refused_does_not_count() -> None:
    assert parsed(section("monitoring", "metrics_port: 9091")).values == {}


def test_the_name_of_a_file_is_relative_to_the_folder_of_the_app() -> None:
    assert read_file("config/feeds.yaml", table()) == Configuration()


@pytest.mark.parametrize("text", ["", "ingestion:\n", "ingestion:\n  fetcher:\n", "feeds:\n", "feeds: []\n"])
def test_an_empty_file_block_or_section_sets_nothing(text: str) -> None:
    assert parsed(text) == Configuration()


def test_all_problems_of_the_file_and_the_environment_are_reported_together() -> None:
    found = parsed(section("fetcher", "retry_attempts: 0\n    nonsense: 1"))
    with pytest.raises(WrongSettings) as caught:
        Settings.from_environment({"BATCH_SIZE": "0"}, file=found)
    assert len(caught.value.problems) == 3


def test_another_file_can_be_named_and_must_exist(tmp_path: Path) -> None:
    file = tmp_path / "other.yaml"
    with pytest.raises(WrongSettings, match=r"CONFIGURATION_FILE names .*other\.yaml, which does not exist"):
        Settings.load({"CONFIGURATION_FILE": str(file)})
    file.write_text(section("processor", "batch_size: 9"))
    assert Settings.load({"CONFIGURATION_FILE": str(file)}).batch_size == 9


def test_without_any_file_the_defaults_count_and_a_folder_is_no_file(tmp_path: Path) -> None:
    assert read_file("", table(), tmp_path) == Configuration()
    (tmp_path / "config" / "ingestion.yaml").mkdir(parents=True)
    assert read_file("", table(), tmp_path).problems == ("config/ingestion.yaml cannot be read: Is a directory",)


def test_the_sample_leaves_out_what_the_file_can_set() -> None:
    assert [row.name for row in table() if row.key and row.sample is not None] == []
