"""Pairs of headlines by what they are, from headlines.txt."""

from __future__ import annotations

from pathlib import Path

PAIRS: dict[str, list[tuple[str, ...]]] = {}
for _line in Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines():
    if _line.startswith("["):
        PAIRS[_line.strip("[]")] = []
    elif _line and not _line.startswith("#"):
        list(PAIRS.values())[-1].append(tuple(_line.split("\t")))
