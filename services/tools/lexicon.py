"""What the shipped lists say of names and of the words beside them. The lists are in the folder `words`. No I/O after
the import.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from models.tool import normalize_name

_FOLDER = Path(__file__).with_name("words")

Group = Literal["seldom", "capital", "word", "letter"]
"""How often a name is something else: seldom; seldom if capitalised; often; it is one letter."""


@dataclass(frozen=True, slots=True)
class Sense:
    """What the lists say of an ambiguous name. In `own_phrases` the name is meant. `other_phrases` contain the name and
    mean something else; `other_topics` are phrases near which it means something else; `commands` are words after it
    that make a command of it."""

    group: Group
    is_language: bool = False
    is_given_name: bool = False
    is_surname: bool = False
    own_phrases: re.Pattern[str] | None = None
    other_phrases: re.Pattern[str] | None = None
    other_topics: re.Pattern[str] | None = None
    commands: frozenset[str] = frozenset()


def sections_of(file: Path) -> dict[str, list[str]]:
    """The lines of each section of a list, without comments."""
    found: dict[str, list[str]] = {"": []}
    section = found[""]
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            section = found.setdefault(line[1:-1], [])
        elif line and not line.startswith("#"):
            section.append(line)
    return found


def _words(lines: list[str]) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


def _by_name(lines: list[str]) -> dict[str, tuple[str, ...]]:
    """The phrases of each name: `name: phrase, phrase`, in one line or several."""
    found: dict[str, tuple[str, ...]] = {}
    for name, _, phrases in (line.partition(": ") for line in lines):
        listed = (phrase.strip(" '") for phrase in phrases.split(","))
        found[name] = (*found.get(name, ()), *(phrase for phrase in listed if phrase))
    return found


_NAMES = sections_of(_FOLDER / "names.txt")
_GROUPS: Mapping[Group, frozenset[str]] = {
    "seldom": _words(_NAMES["seldom"]),
    "capital": _words(_NAMES["capital"]),
    "word": _words(_NAMES["word"]),
}
COMMON = _words(sections_of(_FOLDER / "common.txt")[""]) | _GROUPS["word"]
"""Common English words."""
_GIVEN = _words(_NAMES["given name"])
_SURNAMES = _words(_NAMES["surname"])
_LANGUAGES = _words(_NAMES["language"])
_NOT_MEANT = _by_name(_NAMES["not meant"])
_MEANT = _by_name(_NAMES["meant"])
_COMMANDS = _by_name(_NAMES["command"])

ACRONYMS = _words(_NAMES["acronym"])
"""Words in capitals that are seldom tickers."""
CUES: Mapping[str, frozenset[str]] = {
    cue: _words(lines) for cue, lines in sections_of(_FOLDER / "cues.txt").items() if cue
}
"""Words beside a name, by what they say."""
KNOWN = _words(_NAMES["known"]) | _GROUPS["seldom"] | _GROUPS["capital"] | _LANGUAGES
"""Names of tools and companies, ambiguous or not."""


@functools.lru_cache(maxsize=8192)
def sense_of(plain: str) -> Sense | None:
    """What the lists say of a normalized name; None for a name that is nothing else."""
    group = _group_of(plain)
    if group is None:
        return None
    phrases = _NOT_MEANT.get(plain, ())
    name = re.compile(rf"(?<![a-z0-9]){re.escape(plain)}(?![a-z0-9])")
    return Sense(
        group,
        is_language=plain in _LANGUAGES or len(plain) == 1,
        is_given_name=plain in _GIVEN or plain in CUES["given name"],
        is_surname=plain in _SURNAMES,
        own_phrases=_pattern(iter(_MEANT.get(plain, ()))),
        other_phrases=_pattern(each for each in phrases if name.search(each)),
        other_topics=_pattern(each for each in phrases if not name.search(each)),
        commands=frozenset(_COMMANDS.get(plain, ())),
    )


def _group_of(plain: str) -> Group | None:
    if len(plain) == 1:
        return "letter" if plain.isalpha() else None
    for group, names in _GROUPS.items():
        if plain in names:
            return group
    if plain in COMMON:
        return "word"
    return "capital" if plain in CUES["given name"] | _GIVEN else None


def _pattern(phrases: Iterator[str]) -> re.Pattern[str] | None:
    """Finds the phrases in normalized text. Between their words, a hyphen may stand for a space."""
    each = ["[ -]".join(map(re.escape, normalize_name(phrase).split())) for phrase in phrases]
    words = [rf"(?<!\w){one}(?!\w)" if one.isascii() else one for one in each]
    return re.compile("|".join(sorted(words, key=len, reverse=True))) if words else None


def is_common_word(plain: str) -> bool:
    return plain in COMMON


def is_listed(plain: str) -> bool:
    """Whether a normalized name is one of the listed ambiguous names, and not only a common word or a first name."""
    return len(plain) == 1 or any(plain in names for names in _GROUPS.values())
