"""How likely a text is in each language, by the byte n-grams in it. Deterministic, offline, and without state but the
table, which is read from languages.bin at the first text.

The table is made from py3langid's model by scripts/language_table.py: naive Bayes over the longest known n-gram at each
position. Scripts that only one language uses are told apart before, in language.py.
"""

from __future__ import annotations

import json
import math
import struct
import unicodedata
import zlib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple, cast

LONGEST_TEXT = 1_000
"""Bytes that are read: a longer text is not told better."""
LONGEST_NGRAM = 5
_COUNTS = tuple(round(16 * math.log1p(count)) for count in range(LONGEST_TEXT))
"""The weight of an n-gram by its number of occurrences, in sixteenths."""
_LANE = 4
"""Bytes of a weight in a row, so that the sum of all rows of a text fits."""


class _Table(NamedTuple):
    """The table of n-grams."""

    languages: tuple[str, ...]
    unit: float
    rows: dict[bytes, int]
    weights: bytes


def likelihoods(text: str) -> dict[str, float]:
    """The shares of the languages, which sum to 1; empty if no n-gram of the text is known.

    The logarithms are divided by the square root of the text's length, since neighbouring n-grams are not independent.
    """
    table = _table()
    text = text[: 4 * LONGEST_TEXT]  # composed, it is shorter; 100,000 combining marks in a row take seconds
    data = unicodedata.normalize("NFC", text.lower() if text.isupper() else text).encode("utf-8", "ignore")
    data = data[:LONGEST_TEXT]
    counts = _counts(data, table.rows)
    if not counts:
        return {}
    # One addition of large integers adds a row of weights: four bytes for each language.
    size, weights = _LANE * len(table.languages), table.weights
    total = 0
    for row, count in counts.items():
        total += _COUNTS[count] * int.from_bytes(weights[row * size : (row + 1) * size], "little")
    sums = struct.unpack(f"<{len(table.languages)}I", total.to_bytes(size, "little"))
    scale = math.sqrt(len(data))
    logs = [each * table.unit / scale for each in sums]
    top = max(logs)
    exponents = [math.exp(each - top) for each in logs]
    whole = sum(exponents)
    return {language: each / whole for language, each in zip(table.languages, exponents, strict=True)}


def _counts(data: bytes, rows: dict[bytes, int]) -> Counter[int]:
    """How often each known n-gram is the longest one that ends at some byte."""
    found: list[int | None] = []
    get = rows.get
    padded = bytes(LONGEST_NGRAM - 2) + data
    for start in range(len(padded) - LONGEST_NGRAM + 1):
        end = start + LONGEST_NGRAM
        row = get(padded[start:end])
        if row is None:
            row = get(padded[start + 1 : end])
            if row is None:
                row = get(padded[start + 2 : end])
                if row is None:
                    row = get(padded[start + 3 : end])
        found.append(row)
    counts = Counter(found)
    del counts[None]
    return cast(Counter[int], counts)


@cache
def _table() -> _Table:
    plain = zlib.decompress(Path(__file__).with_name("languages.bin").read_bytes())
    line, _, rest = plain.partition(b"\n")
    head = json.loads(line)
    rows: dict[bytes, int] = {}
    at = 0
    for length, count in enumerate(head["lengths"]):
        for _ in range(count):
            rows[rest[at : at + length]] = len(rows)
            at += length
    size = _LANE * len(head["languages"])
    weights = bytearray(size * len(rows))
    for index in range(len(head["languages"])):
        weights[_LANE * index :: size] = rest[at + index * len(rows) : at + (index + 1) * len(rows)]
    unit = 1 / (16 * head["steps"])
    return _Table(tuple(head["languages"]), unit, rows, bytes(weights))
