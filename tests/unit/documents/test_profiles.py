"""Profiles of sites: which one a page has, and what is wrong in the file."""

from pathlib import Path

import pytest

from models.errors import WrongSettings
from services.documents import profiles
from services.documents.profiles import GENERAL

VALID = b"""
profiles:
  - id: blog
    version: 2
    hosts: [blog.example.org, "*.blogs.example.org"]
    main: ".post-body"
    drop: [".promo", "aside > p"]
    least_characters: 400
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "extraction.yaml"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://blog.example.org/x", "blog@2"),
        ("https://a.blogs.example.org/x", "blog@2"),
        ("https://a.b.blogs.example.org/", "blog@2"),
        ("https://blogs.example.org/x", "general@1"),
        ("https://example.org/", "general@1"),
        ("https://127.0.0.1:8080/", "general@1"),
    ],
)
def test_a_page_has_the_profile_of_its_host(url: str, name: str, file: Path) -> None:
    file.write_bytes(VALID)
    found = profiles.load(file).of(url)
    assert found.id_and_version == name
    if name == "blog@2":
        assert (found.main, found.drop, found.least_characters) == (".post-body", (".promo", "aside > p"), 400)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- {id: X, version: 1, hosts: [a.b]}", "id: must be"),
        ("- {id: x, version: true, hosts: [a.b]}", "version: must be a whole number"),
        ("- {id: x, version: 1}", "hosts: is needed"),
        ("- {id: x, version: 1, hosts: ['https://a.b']}", "hosts: must be"),
        ("- {id: x, version: 1, hosts: [a.b], colour: red}", "colour: no such field; there are id, version"),
        ("- {id: x, version: 1, hosts: [a.b], main: 'p[['}", "is not a CSS selector"),
        ("- {id: x, version: 1, hosts: [a.b], drop: p}", "drop: must be a list"),
        ("- {id: general, version: 1, hosts: [a.b]}", "profiles: must each have an id"),
        ("- {id: x, version: 1, hosts: [a.b]}\n- {id: y, version: 1, hosts: [a.b]}", "profiles: must each have"),
        (" 7", "profiles: must be a list"),
    ],
)
def test_a_wrong_file_is_a_wrong_setting(text: str, problem: str, file: Path) -> None:
    file.write_text(f"profiles:\n{text}")
    with pytest.raises(WrongSettings, match=rf"config/extraction\.yaml: .*{problem}"):
        profiles.load(file)


def test_the_shipped_file_has_no_profile(file: Path) -> None:
    assert profiles.load().of("https://example.org/") is profiles.load(file).of("https://example.org/") is GENERAL
