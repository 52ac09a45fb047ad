"""How the text of a page is found: the general profile, and profiles of sites from config/extraction.yaml.

A profile has a name and a version, which are stored with each text: a change of a profile must come with another
version, so that texts that were made differently can be told apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from models.errors import InvalidInput, WrongSettings
from services.parse.yaml_lists import read_entries

FILE = Path(__file__).resolve().parents[2] / "config" / "extraction.yaml"
FIELDS = ("id", "version", "hosts", "main", "drop", "least_characters")
LEAST_CHARACTERS = 250
"""A page with less text has none: its text was not found, or it is a notice."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_HOST = re.compile(r"(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*")
_SELECTOR = re.compile(r"[^\x00-\x1f{}<]{1,200}")


@dataclass(frozen=True, slots=True)
class Profile:
    """`main` selects the elements with the text, `drop` those to leave out. Without `main`, the extractor finds it."""

    name: str
    version: str
    hosts: tuple[str, ...] = ()
    main: str = ""
    drop: tuple[str, ...] = ()
    least_characters: int = LEAST_CHARACTERS

    @property
    def id(self) -> str:
        return f"{self.name}@{self.version}"


GENERAL = Profile("general", "1")


class Profiles:
    def __init__(self, profiles: Sequence[Profile] = ()) -> None:
        self._by_host = {host: each for each in profiles for host in each.hosts}

    def of(self, url: str) -> Profile:
        """The profile of the page's host, else of the nearest `*.domain` above it, else the general one."""
        host = urlsplit(url).hostname or ""
        if host in self._by_host:
            return self._by_host[host]
        labels = host.split(".")
        for start in range(1, len(labels)):
            found = self._by_host.get("*." + ".".join(labels[start:]))
            if found is not None:
                return found
        return GENERAL


def load(file: Path = FILE) -> Profiles:
    """The profiles of the file; none if there is no file. Raises WrongSettings, which names the entry and the rule."""
    try:
        document = file.read_bytes()
    except FileNotFoundError:
        return Profiles()
    try:
        return Profiles(parse(document))
    except InvalidInput as error:
        raise WrongSettings(f"config/{file.name}: {error}") from None


def parse(document: bytes) -> list[Profile]:
    """Raises InvalidInput that names the line, the field and what is allowed."""
    found: list[Profile] = []
    for entry in read_entries(document, "profiles", ", ".join(FIELDS)):
        profile = _profile(entry.fields, f"profiles, line {entry.line}")
        if any(each.name == profile.name for each in (*found, GENERAL)):
            raise InvalidInput(f"profiles, line {entry.line}: id", f"{profile.name} is there already")
        taken = {host for each in found for host in each.hosts}.intersection(profile.hosts)
        if taken:
            raise InvalidInput(f"profiles, line {entry.line}: hosts", f"{min(taken)} is in another profile already")
        found.append(profile)
    return found


def _profile(fields: Mapping[str, Any], where: str) -> Profile:
    for field in fields:
        if field not in FIELDS:
            raise InvalidInput(f"{where}: {field}", f"no such field; there are {', '.join(FIELDS)}")
    name, version = fields.get("id"), fields.get("version")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(f"{where}: id", "must be 1 to 40 small letters, digits, _ or -")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InvalidInput(f"{where}: version", "must be a whole number from 1; raise it with each change")
    least = fields.get("least_characters", LEAST_CHARACTERS)
    if not isinstance(least, int) or isinstance(least, bool) or not 1 <= least <= 10_000:
        raise InvalidInput(f"{where}: least_characters", "must be a whole number from 1 to 10,000")
    hosts = _texts(fields.get("hosts"), f"{where}: hosts", _HOST, "a list of hosts in small letters, or *.example.org")
    if not hosts:
        raise InvalidInput(f"{where}: hosts", "must name at least one host")
    selector = "CSS selectors of at most 200 characters"
    drop = _texts(fields.get("drop", []), f"{where}: drop", _SELECTOR, f"a list of {selector}")
    main = _texts([fields["main"]] if fields.get("main") else [], f"{where}: main", _SELECTOR, f"one of {selector}")
    _check_selectors((*drop, *main), where)
    return Profile(name, str(version), hosts, "".join(main), drop, least)


def _texts(value: Any, field: str, form: re.Pattern[str], allowed: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) and form.fullmatch(each) for each in value):
        raise InvalidInput(field, f"must be {allowed}")
    return tuple(value)


def _check_selectors(selectors: Sequence[str], where: str) -> None:
    """Refuses what the extractor cannot read. It is loaded only if there are selectors."""
    if not selectors:
        return
    from resiliparse.parse.html import HTMLTree

    document: Any = HTMLTree.parse("<p>").document
    for each in selectors:
        try:
            document.query_selector(each)
        except Exception:  # the extractor has no error of its own for this
            raise InvalidInput(where, f"{each!r} is not a CSS selector") from None
