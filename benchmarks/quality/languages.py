"""How well the languages of headlines are recognised: our own headlines about software, full of names of products.

    python3 -m benchmarks.quality.languages

languages.tsv was written for this project. docs/adr/0025-languages.md has the figures of larger sets.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from services.parse.language import choose, evidence_of  # noqa: E402

WANTED = ("de", "fr", "es", "pt", "ja", "zh")
"""Languages that are to be recognised at a precision of 0.95."""
UNSPACED = frozenset({"ja", "zh"})
FEWEST_WORDS = 5
ROUNDS = 20


class Headline(NamedTuple):
    language: str
    text: str

    @property
    def words(self) -> int:
        return len(self.text) // 2 if self.language in UNSPACED else len(self.text.split())


def headlines() -> list[Headline]:
    lines = Path(__file__).with_suffix(".tsv").read_text("utf-8").splitlines()[1:]
    return [Headline(*line.split("\t")) for line in lines]


class Measured(NamedTuple):
    """`english` is the share of English headlines that are recognised, `lost` the share that is taken for another
    language; `taken` is the share of headlines in other languages that are taken for English. `by_language`: precision
    and recall."""

    headlines: int
    english: float
    lost: float
    taken: float
    by_language: Mapping[str, tuple[float, float]]


def measure(
    given: Sequence[Headline],
    declared: Callable[[str], str] = lambda language: "",
    history: Callable[[str], Mapping[str, int]] = lambda language: {},
) -> Measured:
    pairs = Counter[tuple[str, str]]()
    for each in given:
        found = choose(evidence_of(each.text, ""), declared(each.language), history(each.language))
        pairs[each.language, found] += 1

    def share(part: Callable[[str, str], bool], whole: Callable[[str, str], bool]) -> float:
        total = sum(count for pair, count in pairs.items() if whole(*pair))
        return sum(count for pair, count in pairs.items() if whole(*pair) and part(*pair)) / total if total else 1.0

    return Measured(
        len(given),
        share(lambda _, found: found == "en", lambda language, _: language == "en"),
        share(lambda _, found: found not in ("en", "und"), lambda language, _: language == "en"),
        share(lambda _, found: found == "en", lambda language, _: language != "en"),
        {wanted: _precision_and_recall(pairs, wanted) for wanted in WANTED},
    )


def _precision_and_recall(pairs: Counter[tuple[str, str]], wanted: str) -> tuple[float, float]:
    found = sum(count for (_, each), count in pairs.items() if each == wanted)
    there = sum(count for (each, _), count in pairs.items() if each == wanted)
    right = pairs[wanted, wanted]
    return right / found if found else 1.0, right / there if there else 1.0


def microseconds(given: Sequence[Headline]) -> float:
    """The time of one decision, without declaration and history."""
    begun = time.perf_counter()
    for _ in range(ROUNDS):
        for each in given:
            choose(evidence_of(each.text, ""), "", {})
    return (time.perf_counter() - begun) / (ROUNDS * len(given)) * 1e6


def report() -> None:
    known = headlines()
    long = [each for each in known if each.words >= FEWEST_WORDS]
    short = [
        Headline(each.language, " ".join(each.text.split()[:3])) for each in known if each.language not in UNSPACED
    ]
    print("Languages of headlines: English recognised, English taken for another language, another taken for English;")
    print("precision and recall of each language.\n")
    print(f"{'':38}    n  English  lost  taken  " + "  ".join(f"{each:^11}" for each in WANTED))
    for name, measured in (
        ("five words and more", measure(long)),
        ("- whose feed declares English", measure(long, declared=lambda language: "en")),
        ("first three words", measure(short)),
        ("- whose feed declares their language", measure(short, declared=lambda language: language)),
        ("- whose feed was in their language", measure(short, history=lambda language: {language: 50})),
    ):
        by_language = "  ".join(f"{precision:.3f} {recall:.3f}" for precision, recall in measured.by_language.values())
        print(
            f"{name:38} {measured.headlines:4}    {measured.english:.3f} {measured.lost:.3f}  {measured.taken:.3f}  "
            f"{by_language}"
        )
    print(f"\n{microseconds(long):.0f} microseconds a headline")


if __name__ == "__main__":
    report()
