"""How well the embedded analyzer judges what a text says in general, beside plain VADER on the same texts.

Each labelled set is judged by a table that was trained without it (leave one set out), through the same code that
ships. The last row does so for all sets about software development at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.quality.figures import LABELS, Said, accuracy, macro_f1, vader
from scripts.sentiment.general import Labelled, Plan, build, known_words, read_sets, training_examples
from services.mentions.analyzers.general import judge
from services.mentions.analyzers.tables import WordTable, parse_word_table, shipped_words

Judge = Callable[[str], int]


def ours(table: WordTable) -> Judge:
    return lambda text: LABELS.index(judge(text, table).sentiment)


def figures(rows: Sequence[Labelled], judged: Judge) -> tuple[float, float]:
    """Macro-F1 over the labels that the set has, and accuracy."""
    said = [Said(text, LABELS.index(label), judged(text)) for label, text in rows]
    return macro_f1(said), accuracy(said)


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


def show(data: Path, unseen: Path | None) -> None:
    plain = vader()
    sets = read_sets(data)
    known = known_words()
    trained = training_examples(sets, known)

    def without(*held: str) -> Judge:
        return ours(
            parse_word_table(build({name: trained[name] for name in trained if name not in held}, known, Plan()))
        )

    print("\nWhat texts say in general, each set judged without having been trained on:")
    compare(sets, {name: without(name) for name in sets}, plain)
    development = {name: rows for name, rows in sets.items() if name.startswith("dev_")}
    if development:
        print("\nAll sets about software development left out together:")
        unaware = without(*development)
        compare(development, dict.fromkeys(development, unaware), plain)
    if unseen:
        print("\nThe shipped table on sets of another folder:")
        others = read_sets(unseen)
        compare(others, dict.fromkeys(others, ours(shipped_words())), plain)
