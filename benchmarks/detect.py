"""How fast tools are found in text: 1,000 tools of 5 names each, 1,000 texts of 1,000 characters.

    .venv/bin/python benchmarks/detect.py

Printed beside it: one compiled alternation of all names, and the floor that any Python code stands on, which is
splitting each text into the set of its words. Texts are made of the dictionary below, Zipf-like, with names put in.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from models.tool import Tool
from services.tools.detector import Detector
from services.tools.matching import tokens
from tests.documents import NOW

TOOLS, NAMES, TEXTS, CHARACTERS = 1_000, 5, 1_000, 1_000
SEED = 20260221
_SYLLABLES = "ka ri to mo ne sha vel dor quin bra lum fen ost tar wex pil zan gre hol mi".split()  # noqa: SIM905
_ACCENTED = "é ü ñ ø ą ł".split()  # noqa: SIM905


def word(chance: random.Random) -> str:
    return "".join(chance.choice(_SYLLABLES) for _ in range(chance.choice((1, 2, 2, 3, 3, 4))))


def catalog(chance: random.Random) -> list[Tool]:
    taken: set[str] = set()
    found = []
    for number in range(TOOLS):
        names: list[str] = []
        while len(names) < NAMES:
            name = " ".join(word(chance).capitalize() + "x" for _ in range(chance.choice((1, 1, 2, 2, 3))))
            if len(name) > 5 and name.casefold() not in taken:
                taken.add(name.casefold())
                names.append(name)
        tool_id = f"00000000-0000-4000-8000-{number:012d}"
        found.append(
            Tool(created_at=NOW, updated_at=NOW, tool_id=tool_id, primary_name=names[0], aliases=tuple(names[1:]))
        )
    return found


def texts(chance: random.Random, tools: list[Tool], named: int, accents: bool, end: str = "") -> list[str]:
    vocabulary = list({word(chance) + word(chance)[:2] for _ in range(8_000)})
    weights = [1 / (rank + 2) for rank in range(len(vocabulary))]
    found = []
    for _ in range(TEXTS):
        words = chance.choices(vocabulary, weights, k=170)
        if accents:
            words = [each + chance.choice(_ACCENTED) if chance.random() < 0.1 else each for each in words]
        for _ in range(named):
            words.insert(chance.randrange(120), chance.choice(chance.choice(tools).names))
        text = " ".join(words)[: CHARACTERS - len(end)] + end
        found.append(text.ljust(CHARACTERS, "."))
    return found


def rate(run: Callable[[str], object], corpus: list[str]) -> float:
    """Megabytes (millions of characters) a second of processor time, the best of five."""
    best = min(_timed(run, corpus) for _ in range(5))
    return sum(map(len, corpus)) / best / 1e6


def _timed(run: Callable[[str], object], corpus: list[str]) -> float:
    started = time.process_time()
    for text in corpus:
        run(text)
    return time.process_time() - started


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    chance = random.Random(SEED)
    tools = catalog(chance)
    started = time.process_time()
    detector = Detector(tools)
    built = time.process_time() - started
    alternation = re.compile(
        r"\b(?:" + "|".join(sorted((re.escape(n) for t in tools for n in t.names), key=len, reverse=True)) + r")\b",
        re.I,
    )
    print(f"{TOOLS:,} tools of {NAMES} names, {TEXTS:,} texts of {CHARACTERS:,} characters; built in {built:.2f} s")
    print(f"{'texts':34}{'detector':>12}{'words only':>12}{'regex':>12}   MB/s")
    for title, named, accents, end in (
        ("no name in them", 0, False, ""),
        ("one name in each", 1, False, ""),
        ("three names in each", 3, False, ""),
        ("three names, a tenth accented", 3, True, ""),
        ("three names, an ellipsis", 3, False, "…"),
        ("three names, accents, an ellipsis", 3, True, "…"),
    ):
        corpus = texts(chance, tools, named, accents, end)
        found = sum(len(detector.find(text)) for text in corpus)
        figures = [
            rate(detector.find, corpus),
            rate(lambda text: tokens(text.casefold()), corpus),
            rate(alternation.findall, corpus[:20]),
        ]
        print(f"{title:34}" + "".join(f"{each:12.1f}" for each in figures) + f"   {found:,} tools found")


if __name__ == "__main__":
    main()
