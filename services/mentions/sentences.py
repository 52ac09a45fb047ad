"""Where the sentences of a text are, and which of them name something. Knows places only, and judges nothing."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """Characters `start` to `end` of a text, without the last."""

    start: int
    end: int


_END = re.compile(
    r"(?<![.!?\u2026])[.!?\u2026]+[\"'\u201d\u2019)\]]*(?=\s|$)|[\u3002\uff01\uff1f]+|\n\s*\n|\n(?=\s*[-*\u2022])"
)
_SPACE = re.compile(r"\s*")
_ABBREVIATED = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|sr|jr|inc|corp|co|ltd|vs|no|nos|vol|fig|approx|est|dept|gov|sen|rep|gen|u\.s|u\.k|e\.g|i\.e"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)|\b[A-Z])$",
    re.I,
)
_LONGEST_ABBREVIATION = 8


def split_sentences(text: str, whole: Iterable[Span] = ()) -> list[Span]:
    """The sentences in order, without the space around them. No sentence ends inside one of `whole`, such as a name
    with a full stop or an exclamation mark in it. An abbreviation or a small letter after a full stop goes on."""
    kept = sorted(whole)
    starts = [span.start for span in kept]
    found: list[Span] = []
    start = _skip_space(text, 0)
    for match in _END.finditer(text):
        stop = match.end()
        if match.start() < start or _inside(stop, kept, starts) or _goes_on(text, match):
            continue
        end = stop - len(text[start:stop]) + len(text[start:stop].rstrip())
        if end > start:
            found.append(Span(start, end))
        start = _skip_space(text, stop)
    end = len(text.rstrip())
    if end > start:
        found.append(Span(start, end))
    return found


def naming(sentences: Sequence[Span], names: Iterable[Span]) -> list[Span]:
    """The sentences in which one of `names` begins."""
    starts = [sentence.start for sentence in sentences]
    places = {bisect_right(starts, name.start) - 1 for name in names}
    return [sentences[place] for place in sorted(places) if place >= 0]


def _goes_on(text: str, match: re.Match[str]) -> bool:
    if not match[0].startswith("."):
        return False
    place = _skip_space(text, match.end())
    following = text[place : place + 1]
    if following.islower():
        return True
    before = text[max(0, match.start() - _LONGEST_ABBREVIATION) : match.start()]
    return bool(match[0] == "." and following and _ABBREVIATED.search(before))


def _inside(place: int, kept: Sequence[Span], starts: Sequence[int]) -> bool:
    nearest = bisect_right(starts, place - 1) - 1
    return nearest >= 0 and kept[nearest].start < place < kept[nearest].end


def _skip_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place
