"""Which app a command talks to."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolpulse.failures import WRONG_USAGE, Failure
from toolpulse.targets import Given, Local, Remote, base_of, config_file, target

CONFIG = """
default = "production"
[profiles.production]
url = "https://news.example.com"
key = "of-the-profile"
[profiles.here]
data = "data"
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "config.toml").write_text(CONFIG)
    return {"TOOLPULSE_CONFIG": str(tmp_path / "config.toml")}


def remote(given: Given, environment: dict[str, str]) -> Remote:
    found = target(given, environment)
    assert isinstance(found, Remote)
    return found


@pytest.mark.parametrize(
    "url",
    ["https://a.example", "https://a.example/", "https://a.example/api", "https://a.example/api/v1/", "a.example"],
)
def test_a_url_is_that_of_the_site_or_of_the_api(url: str) -> None:
    assert base_of(url) == "https://a.example/api/v1"
    assert base_of("http://127.0.0.1:7071/behind/proxy") == "http://127.0.0.1:7071/behind/proxy/api/v1"


@pytest.mark.parametrize(
    "url", ["ftp://a.example", "https://", "https://a.example/?code=1", "https://u:p@a.example", "http://a:x/", ""]
)
def test_another_url_is_refused(url: str) -> None:
    with pytest.raises(Failure, match="is no URL of an app") as refused:
        base_of(url)
    assert refused.value.code == WRONG_USAGE


def test_options_win_over_the_environment_and_that_over_the_default_profile(environment: dict[str, str]) -> None:
    default = remote(Given(), environment)
    assert (default.base, default.key) == ("https://news.example.com/api/v1", "of-the-profile")
    chosen = {**environment, "TOOLPULSE_URL": "http://b.example", "TOOLPULSE_KEY": "of-the-environment"}
    assert remote(Given(), chosen) == Remote("http://b.example/api/v1", "of-the-environment")
    assert remote(Given(url="https://c.example"), chosen).site == "https://c.example"
    assert remote(Given(profile="production"), chosen).key == "of-the-environment"
    folder = target(Given(data=Path("/x")), chosen)
    assert folder == Local(Path("/x"), {}, is_named=True)


def test_a_profile_may_name_a_data_folder_beside_the_file(environment: dict[str, str], tmp_path: Path) -> None:
    assert target(Given(profile="here"), environment) == Local(tmp_path / "data", {}, is_named=True)
    assert target(Given(), {**environment, "TOOLPULSE_PROFILE": "here"}) == target(Given(profile="here"), environment)


def test_without_anything_the_app_is_that_of_the_data_folder(tmp_path: Path) -> None:
    nowhere = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert config_file(nowhere) == tmp_path / "toolpulse" / "config.toml"
    assert target(Given(settings=["A=b=c"]), nowhere) == Local(None, {"A": "b=c"}, is_named=False)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Given(url="https://a.example", data=Path("x")), "--url and --data both name an app"),
        (Given(profile="nothing"), "no profile 'nothing' in .*there are: production, here"),
        (Given(url="https://a.example", settings=["A=b"]), "--set is for the app of a data folder"),
        (Given(settings=["LOG_LEVEL"]), "'LOG_LEVEL' is not NAME=VALUE"),
        (Given(settings=["=DEBUG"]), "'=DEBUG' is not NAME=VALUE"),
    ],
)
def test_what_contradicts_itself_is_refused(given: Given, said: str, environment: dict[str, str]) -> None:
    with pytest.raises(Failure, match=said):
        target(given, environment)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not toml", "cannot be read"),
        ("[profiles.a]\nurl='x'\ndata='y'", "the profile 'a' must have"),
        ("[profiles.a]\nkey='x'", "the profile 'a' must have"),
        ("[profiles.a]\nurl='x'\npassword='y'", "the profile 'a' must have"),
        ("profiles = 1", "profiles must be tables"),
    ],
)
def test_a_wrong_file_is_told_by_its_path(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(Failure, match=f"config.toml.*{said}"):
        target(Given(profile="a"), {"TOOLPULSE_CONFIG": str(path)})


def test_keys_go_without_a_warning_to_this_machine_and_over_tls_only() -> None:
    assert Remote("http://a.example/api/v1", "k").sends_keys_in_the_clear
    assert not Remote("http://a.example/api/v1").sends_keys_in_the_clear
    assert not Remote("https://a.example/api/v1", "k").sends_keys_in_the_clear
    assert not Remote("http://127.0.0.1:7071/api/v1", "", "m").sends_keys_in_the_clear
