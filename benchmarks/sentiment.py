"""How well and how fast the embedded analyzer judges, beside plain VADER on the same texts in the same run.

    python3 -m benchmarks.sentiment [DATA] [--unseen FOLDER] [--check]

Each labelled set in DATA is judged by a table that was trained without it (leave one set out), through the same code
that ships. The last row does so for all sets about software development at once. `--unseen` judges the sets of another
folder with the shipped table as it is: they must not be among what it was trained on. `--check` says whether the
shipped table is what training on DATA gives. Not a test: it prints, and judges nothing but by the figures.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.train_sentiment import DATA, LABELS, Labelled, Plan, build, known_words, read_sets, training_examples
from services.mentions.analyzers.embedded import judge
from services.mentions.analyzers.table import SHIPPED, Table, parse_table, shipped_table

Judge = Callable[[str], str]


def vader() -> Judge:
    """With the thresholds that its authors name."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    analyzer: Any = SentimentIntensityAnalyzer()

    def judged(text: str) -> str:
        compound = analyzer.polarity_scores(text)["compound"]
        return "positive" if compound >= 0.05 else "negative" if compound <= -0.05 else "neutral"

    return judged


def ours(table: Table) -> Judge:
    return lambda text: judge(text, table).sentiment


def figures(rows: Sequence[Labelled], judged: Judge) -> tuple[float, float]:
    """Macro-F1 over the labels that the set has, and accuracy."""
    pairs = [(label, judged(text)) for label, text in rows]
    scores = []
    for label in LABELS:
        right = sum(given == said == label for given, said in pairs)
        given_or_said = sum(given == label for given, _ in pairs) + sum(said == label for _, said in pairs)
        if any(given == label for given, _ in pairs):
            scores.append(2 * right / given_or_said)
    return fmean(scores), sum(given == said for given, said in pairs) / len(pairs)


def texts_a_second(rows: Sequence[Labelled], judged: Judge) -> float:
    """The best of five, since the machine has other work."""
    best = 0.0
    for _ in range(5):
        start = time.perf_counter()
        for _, text in rows:
            judged(text)
        best = max(best, len(rows) / (time.perf_counter() - start))
    return best


def compare(sets: Mapping[str, Sequence[Labelled]], judges: Mapping[str, Judge], plain: Judge) -> None:
    print(f"{'set':30}{'rows':>6}{'VADER F1':>10}{'acc':>7}{'ours F1':>10}{'acc':>7}{'gain F1':>9}")
    gains, plains, own = [], [], []
    for name, rows in sets.items():
        (plain_f1, plain_accuracy), (f1, accuracy) = figures(rows, plain), figures(rows, judges[name])
        gains.append(f1 - plain_f1)
        plains.append(plain_f1)
        own.append(f1)
        each = f"{plain_f1:10.3f}{plain_accuracy:7.3f}{f1:10.3f}{accuracy:7.3f}{f1 - plain_f1:+9.3f}"
        print(f"{name:30}{len(rows):6}{each}")
    print(f"{'mean':36}{fmean(plains):10.3f}{'':7}{fmean(own):10.3f}{'':7}{fmean(gains):+9.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="?", type=Path, default=DATA)
    parser.add_argument("--unseen", type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    plain = vader()
    sets = read_sets(arguments.data)
    known = known_words()
    trained = training_examples(sets, known)

    def without(*held: str) -> Judge:
        return ours(parse_table(build({name: trained[name] for name in trained if name not in held}, known, Plan())))

    print("Each set judged without having been trained on:")
    compare(sets, {name: without(name) for name in sets}, plain)
    development = {name: rows for name, rows in sets.items() if name.startswith("dev_")}
    if development:
        print("\nAll sets about software development left out together:")
        unaware = without(*development)
        compare(development, dict.fromkeys(development, unaware), plain)
    shipped = ours(shipped_table())
    if arguments.unseen:
        print("\nThe shipped table on sets of another folder:")
        unseen = read_sets(arguments.unseen)
        compare(unseen, dict.fromkeys(unseen, shipped), plain)
    print("\nTexts a second, one thread, shipped table:")
    for name, rows in sets.items():
        length = fmean(len(text) for _, text in rows)
        print(
            f"{name:30}{length:6.0f} characters   VADER {texts_a_second(rows, plain):9,.0f}"
            f"   ours {texts_a_second(rows, shipped):9,.0f}"
        )
    print(f"\n{SHIPPED.name}: {SHIPPED.stat().st_size:,} bytes, version {shipped_table().version}")
    if arguments.check:
        same = build(trained, known, Plan()) == SHIPPED.read_text(encoding="utf-8")
        print("The shipped table is what training gives." if same else "The shipped table is NOT what training gives.")
        raise SystemExit(not same)


if __name__ == "__main__":
    main()
