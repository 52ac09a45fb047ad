"""Multinomial logistic regression, pulled towards zero. Standard library only, and the same numbers on each machine.

No sums by `sum`: from Python 3.12 on, it adds numbers more exactly than before.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

LABELS = 3


@dataclass(frozen=True, slots=True)
class Row:
    """One example: how much it counts, its label, and its features by number with their values."""

    weight: float
    label: int
    features: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Descent:
    epochs: int = 12
    rate: float = 0.12
    pull: float = 10.0
    averaged: int = 4
    """The weights are the means of those after the last so many epochs."""
    seed: int = 7


def learn(rows: Sequence[Row], size: int, descent: Descent) -> list[list[float]]:
    """By label, the weight of each of `size` features. Feature 0 is the constant, which nothing pulls.

    Stochastic descent with a step for each weight (AdaGrad). The pull of a feature is spread over its rows.
    """
    uses = [0] * size
    for row in rows:
        for feature in row.features:
            uses[feature] += 1
    pull = [descent.pull / max(1, count) for count in uses]
    pull[0] = 0.0
    weights = [[0.0] * size for _ in range(LABELS)]
    steps = [[1.0] * size for _ in range(LABELS)]
    means = [[0.0] * size for _ in range(LABELS)]
    order = list(range(len(rows)))
    shuffle = random.Random(descent.seed)  # noqa: S311 - no secret: an order
    for epoch in range(descent.epochs):
        shuffle.shuffle(order)
        for number in order:
            _step(rows[number], weights, steps, pull, descent.rate)
        if epoch >= descent.epochs - descent.averaged:
            for mean, now in zip(means, weights, strict=True):
                for index, value in enumerate(now):
                    mean[index] += value / descent.averaged
    return means


def _step(row: Row, weights: list[list[float]], steps: list[list[float]], pull: Sequence[float], rate: float) -> None:
    sqrt = math.sqrt
    chances = softmax([logit(row, each) for each in weights])
    pairs = tuple(zip(row.features, row.values, strict=True))
    for label in range(LABELS):
        error = row.weight * (chances[label] - (row.label == label))
        own, seen = weights[label], steps[label]
        for feature, value in pairs:
            slope = error * value + pull[feature] * own[feature]
            seen[feature] += slope * slope
            own[feature] -= rate * slope / sqrt(seen[feature])


def logit(row: Row, weights: Sequence[float]) -> float:
    total = 0.0
    for feature, value in zip(row.features, row.values, strict=True):
        total += weights[feature] * value
    return total


def softmax(logits: Sequence[float]) -> list[float]:
    top = max(logits)
    powers = [math.exp(each - top) for each in logits]
    total = 0.0
    for power in powers:
        total += power
    return [power / total for power in powers]
