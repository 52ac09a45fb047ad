"""The file format of the embedded analyzer's table of words and weights. scripts/sentiment/train.py writes the table.

One line per word or phrase: the word, its valence in three word lists (general, market, product), its roles, and its
own weight for each sentiment. Lines that begin with `=` have the weights of signals (embedded.py), the line `!version`
has the version. All numbers are whole hundredths, so that the same training gives the same bytes.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

(
    NEGATOR,
    BOOSTER,
    DAMPENER,
    CONTRAST,
    UP,
    DOWN,
    BETTER_WHEN_MORE,
    WORSE_WHEN_MORE,
    FIRST_PERSON,
    SECOND_PERSON,
    MODAL,
) = (1 << bit for bit in range(11))
SHIPPED = Path(__file__).with_name("sentiment_table.tsv.gz")
UNIT = 100.0

Weights = tuple[float, float, float]
"""The weights for negative, neutral and positive, in this order."""


class Word(NamedTuple):
    """An entry of the table. Without a valence in a word list, the number is 0."""

    general: float = 0.0
    market: float = 0.0
    product: float = 0.0
    roles: int = 0
    weights: Weights | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """`words` contains phrases too. `phrases` finds them: by first word, the words that follow it, longest first.

    The same text judged with the same `version` gives the same judgement.
    """

    version: str
    words: Mapping[str, Word]
    phrases: Mapping[str, tuple[tuple[tuple[str, ...], Word], ...]]
    signals: Mapping[str, Weights]


def unpacked(file: Path) -> str:
    """The text of a compressed file: so stored, a new training is no difference of 94,000 lines."""
    return gzip.decompress(file.read_bytes()).decode("utf-8")


def packed(text: str) -> bytes:
    """What `unpacked` reads."""
    return gzip.compress(text.encode("utf-8"), mtime=0)


def make_table(version: str, entries: Mapping[str, Word], signals: Mapping[str, Weights]) -> Table:
    """`entries` are by word or phrase, the words of a phrase separated by one space."""
    phrases: dict[str, list[tuple[tuple[str, ...], Word]]] = {}
    for text, word in entries.items():
        first, *rest = text.split(" ")
        if rest:
            phrases.setdefault(first, []).append((tuple(rest), word))
    longest_first = {first: tuple(sorted(found, key=lambda each: -len(each[0]))) for first, found in phrases.items()}
    return Table(version, dict(entries), longest_first, dict(signals))


def parse_table(text: str) -> Table:
    version = ""
    entries: dict[str, Word] = {}
    signals: dict[str, Weights] = {}
    for line in text.removesuffix("\n").split("\n"):
        name, *fields = line.split("\t")
        if name == "!version":
            (version,) = fields
        elif name.startswith("="):
            signals[name[1:]] = _weights(fields)
        else:
            general, market, product, roles = (int(each or 0) for each in (*fields, "", "", "", "")[:4])
            own = _weights(fields[4:]) if fields[4:] else None
            entries[name] = Word(general / UNIT, market / UNIT, product / UNIT, roles, own)
    return make_table(version, entries, signals)


def format_table(version: str, entries: Mapping[str, Word], signals: Mapping[str, Weights]) -> str:
    """The text that `parse_table` reads, sorted by code points."""
    lines = [f"!version\t{version}"]
    lines += ["\t".join([f"={name}", *map(_hundredths, signals[name])]) for name in sorted(signals)]
    for text in sorted(entries):
        word = entries[text]
        values = [_hundredths(word.general), _hundredths(word.market), _hundredths(word.product)]
        weights = map(_hundredths, word.weights or ())
        lines.append("\t".join([text, *values, str(word.roles or ""), *weights]).rstrip("\t"))
    return "\n".join(lines) + "\n"


@cache
def shipped_table() -> Table:
    return parse_table(unpacked(SHIPPED))


def _hundredths(value: float) -> str:
    return str(round(value * UNIT) or "")


def _weights(fields: list[str]) -> Weights:
    negative, neutral, positive = (int(each or 0) / UNIT for each in (*fields, "", "", "")[:3])
    return negative, neutral, positive
