"""How the text of a page is found: the general profile, and profiles of sites from config/extraction.yaml.

A profile has a name and a version, which are stored with each text: a change of a profile must come with another
version, so that texts that were made differently can be told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints

from models.errors import InvalidInput
from models.request import Request
from services.yaml_lists import load_entries

FILE = Path(__file__).resolve().parents[2] / "config" / "extraction.yaml"
MIN_CHARACTERS = 250
"""A page with less text has none: its text was not found, or it is a notice."""


def _selector(text: str) -> str:
    """Refuses what the extractor cannot read. It is loaded only if there are selectors."""
    from resiliparse.parse.html import HTMLTree

    document: Any = HTMLTree.parse("<p>").document
    try:
        document.query_selector(text)
    except Exception:  # the extractor has no error of its own for this
        raise ValueError(f"{text!r} is not a CSS selector") from None
    return text


Selector = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f{}<]{1,200}$"), AfterValidator(_selector)]


class Profile(Request):
    """How the pages of a site are read, as it stands in the file.

    `main` selects the elements with the text, `drop` those to leave out. Without `main`, the extractor finds it.
    """

    id: Annotated[str, StringConstraints(pattern="^[a-z0-9][a-z0-9_-]{0,39}$")]
    version: Annotated[int, Field(strict=True, ge=1)]
    hosts: tuple[Annotated[str, StringConstraints(pattern=r"^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*$")], ...] = Field(
        min_length=1
    )
    main: Selector | None = None
    drop: tuple[Selector, ...] = ()
    least_characters: Annotated[int, Field(strict=True, ge=1, le=10_000)] = MIN_CHARACTERS

    @property
    def id_and_version(self) -> str:
        return f"{self.id}@{self.version}"


GENERAL = Profile.model_construct(id="general", version=1, hosts=())


class Profiles:
    """The profiles by their hosts. Raises InvalidInput if two have one id or one host."""

    def __init__(self, profiles: Sequence[Profile] = ()) -> None:
        hosts = [(host, each) for each in profiles for host in each.hosts]
        self._by_host = dict(hosts)
        if len(self._by_host) < len(hosts) or len({each.id for each in (GENERAL, *profiles)}) <= len(profiles):
            raise InvalidInput("profiles", "must each have an id and hosts of its own; the id general is taken")

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
    """The profiles of the file; none if there is no file. Raises WrongSettings, which names the field and the rule."""
    return load_entries(file, "profiles", Profile, lambda found: Profiles([Profile.checked(each) for each in found]))
