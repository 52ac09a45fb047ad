"""Figures of judgements: macro-F1, confusion, reliability, and texts whose tools differ in tone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

LABELS = ("negative", "neutral", "positive")
_BINS = 5


@dataclass(frozen=True, slots=True)
class Said:
    """What was said about a tool in a text: the label it has, and the one it was given with a probability."""

    text: str
    label: int
    given: int
    score: float = 0.0


def macro_f1(said: Sequence[Said]) -> float:
    """Over the labels that occur."""
    return fmean(f1(said, label) for label in range(len(LABELS)) if any(each.label == label for each in said))


def f1(said: Sequence[Said], label: int) -> float:
    right = sum(each.label == each.given == label for each in said)
    all_of_it = sum(each.label == label for each in said) + sum(each.given == label for each in said)
    return 2 * right / all_of_it if all_of_it else 0.0


def accuracy(said: Sequence[Said]) -> float:
    return fmean(each.label == each.given for each in said)


def differing(said: Sequence[Said]) -> tuple[int, int]:
    """Of the texts whose tools differ in tone: those with all tools right, and all."""
    texts: dict[str, list[Said]] = {}
    for each in said:
        texts.setdefault(each.text, []).append(each)
    mixed = [each for each in texts.values() if len({one.label for one in each}) > 1]
    return sum(all(one.label == one.given for one in each) for each in mixed), len(mixed)


def show_confusion(said: Sequence[Said]) -> None:
    counts = Counter((each.label, each.given) for each in said)
    print(f"{'labelled':>12}{'judged negative':>18}{'neutral':>10}{'positive':>10}{'F1':>8}")
    for label, name in enumerate(LABELS):
        row = [counts[label, given] for given in range(len(LABELS))]
        print(f"{name:>12}{row[0]:18}{row[1]:10}{row[2]:10}{f1(said, label):8.3f}")


def show_reliability(said: Sequence[Said]) -> None:
    """How often the labels of each probability are right."""
    print(f"{'score':>12}{'judgements':>12}{'mean score':>12}{'right':>8}")
    error = 0.0
    for number in range(_BINS):
        low, high = 1 / 3 + number * 2 / 3 / _BINS, 1 / 3 + (number + 1) * 2 / 3 / _BINS
        inside = [each for each in said if low <= each.score < high or (number == _BINS - 1 and each.score >= high)]
        if inside:
            mean, right = fmean(each.score for each in inside), accuracy(inside)
            error += abs(mean - right) * len(inside) / len(said)
            print(f"{low:7.2f}-{high:.2f}{len(inside):12}{mean:12.3f}{right:8.3f}")
    print(f"expected calibration error {error:.3f}")


def vader() -> Callable[[str], int]:
    """The label of a text, with the thresholds that VADER's authors name."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    analyzer: Any = SentimentIntensityAnalyzer()

    def judged(text: str) -> int:
        compound = analyzer.polarity_scores(text)["compound"]
        return 2 if compound >= 0.05 else 0 if compound <= -0.05 else 1

    return judged
