"""Profiles of sites: which one a page has, and what is wrong in the file."""

from pathlib import Path

import pytest

from models.errors import InvalidInput, WrongSettings
from services.documents import profiles
from services.documents.profiles import GENERAL, Profiles

VALID = b"""
profiles:
  - id: blog
    version: 2
    hosts: [blog.example.org, "*.blogs.example.org"]
    main: ".post-body"
    drop: [".promo", "aside > p"]
    least_characters: 400
"""


def test_an_entry_becomes_a_profile() -> None:
    [found] = profiles.parse(VALID)
    assert (found.id_and_version, found.hosts) == ("blog@2", ("blog.example.org", "*.blogs.example.org"))
    assert (found.main, found.drop, found.least_characters) == (".post-body", (".promo", "aside > p"), 400)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://blog.example.org/x", "blog"),
        ("https://a.blogs.example.org/x", "blog"),
        ("https://a.b.blogs.example.org/", "blog"),
        ("https://blogs.example.org/x", "general"),
        ("https://example.org/", "general"),
        ("https://127.0.0.1:8080/", "general"),
    ],
)
def test_a_page_has_the_profile_of_its_host(url: str, name: str) -> None:
    assert Profiles(profiles.parse(VALID)).of(url).id == name


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- {id: X, version: 1, hosts: [a.b]}", "line 2: id: must be"),
        ("- {id: x, version: true, hosts: [a.b]}", "version: must be a whole number"),
        ("- {id: x, version: 1}", "hosts: is needed"),
        ("- {id: x, version: 1, hosts: ['https://a.b']}", "hosts: must be"),
        ("- {id: x, version: 1, hosts: [a.b], colour: red}", "colour: no such field; there are id, version"),
        ("- {id: x, version: 1, hosts: [a.b], main: 'p[['}", "is not a CSS selector"),
        ("- {id: x, version: 1, hosts: [a.b], drop: p}", "drop: must be a list"),
        ("- {id: general, version: 1, hosts: [a.b]}", "id: general is there already"),
        ("- {id: x, version: 1, hosts: [a.b]}\n- {id: y, version: 1, hosts: [a.b]}", "a.b is in another profile"),
    ],
)
def test_a_wrong_entry_is_named(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        profiles.parse(f"profiles:\n{text}".encode())


def test_the_shipped_file_has_no_profile() -> None:
    assert profiles.load().of("https://example.org/") is GENERAL


def test_a_wrong_file_is_a_wrong_setting(tmp_path: Path) -> None:
    file = tmp_path / "extraction.yaml"
    file.write_text("profiles: 7")
    with pytest.raises(WrongSettings, match=r"config/extraction\.yaml: profiles: must be a list"):
        profiles.load(file)
    assert profiles.load(tmp_path / "none.yaml").of("https://example.org/") is GENERAL
