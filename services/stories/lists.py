"""The word lists of words.txt. No I/O after the import."""

from __future__ import annotations

from pathlib import Path


def _sections() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    section: list[str] = []
    for line in Path(__file__).with_name("words.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            section = found.setdefault(line[1:-1], [])
        elif line and not line.startswith("#"):
            section.append(line)
    return found


def _words(section: str) -> frozenset[str]:
    return frozenset(" ".join(_SECTIONS[section]).split())


def _numbered(section: str) -> dict[str, str]:
    """The number of each word. Each line begins with the number."""
    lines = (line.split() for line in _SECTIONS[section])
    return {word: number for number, *words in lines for word in words}


_SECTIONS = _sections()

FUNCTION_WORDS = _words("function")
SERIES_WORDS = _words("series")
GENRES = _words("genre")
NUMBERS = _numbered("number")
MONTHS = _numbered("month")
WEEKDAYS = _numbered("weekday")
ALSO_WORDS = _words("also words")
TIMES = _words("time")
NUMBERED = _words("numbered")
PARTS = _words("part")
NOTICES = tuple(line.strip('"') for line in _SECTIONS["notice"])
COUNTING = _words("counting")
MARKET_WORDS = _words("market")
UP = _words("up")
DOWN = _words("down")
DIGESTS = tuple(each for line in _SECTIONS["digest"] for each in line.split("|"))
NEGATIONS = _words("negation")
OPPOSITES = tuple(tuple(frozenset(side.split()) for side in line.split("|")) for line in _SECTIONS["opposite"])
