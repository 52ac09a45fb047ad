"""Multinomial logistic regression, pulled towards zero. Standard library only, and the same numbers on each machine.

Tables are written with two decimals in each number, so that the same training gives the same bytes.

No sums by `sum`: from Python 3.12 on, it adds numbers more exactly than before.
"""

from __future__ import annotations

import gzip
import json
import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from services.mentions.analyzers.tables import ToolTable, WordTable

_DECIMALS = 2

Weight = tuple[float, float]
"""What a feature adds to the logits of negative and of positive. The logit of neutral is 0."""


@dataclass(frozen=True, slots=True)
class Row:
    """One example: how much it counts, the probabilities of negative and of positive that it should get, and its
    features by number with their values."""

    weight: float
    wanted: Weight
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


@dataclass(frozen=True, slots=True)
class _State:
    """By feature: both weights, the sums of their squared slopes, and the pull."""

    negative: list[float]
    positive: list[float]
    steps_of_negative: list[float]
    steps_of_positive: list[float]
    pull: list[float]


def learn(rows: Sequence[Row], size: int, descent: Descent) -> list[Weight]:
    """The weight of each of `size` features. Feature 0 is the constant, which nothing pulls.

    Stochastic descent with a step for each weight (AdaGrad). The pull of a feature is spread over its rows.
    """
    uses = [0] * size
    for row in rows:
        for feature in row.features:
            uses[feature] += 1
    pull = [descent.pull / max(1, count) for count in uses]
    pull[0] = 0.0
    state = _State([0.0] * size, [0.0] * size, [1.0] * size, [1.0] * size, pull)
    negative, positive = [0.0] * size, [0.0] * size
    order = list(range(len(rows)))
    shuffle = random.Random(descent.seed)  # noqa: S311 - no secret: an order
    for epoch in range(descent.epochs):
        shuffle.shuffle(order)
        for number in order:
            _step(rows[number], state, descent.rate)
        if epoch >= descent.epochs - descent.averaged:
            for mean, now in ((negative, state.negative), (positive, state.positive)):
                for index, value in enumerate(now):
                    mean[index] += value / descent.averaged
    return list(zip(negative, positive, strict=True))


def _step(row: Row, state: _State, rate: float) -> None:
    sqrt = math.sqrt
    negative, positive, pulls = state.negative, state.positive, state.pull
    steps_of_negative, steps_of_positive = state.steps_of_negative, state.steps_of_positive
    logit_of_negative = logit_of_positive = 0.0
    for feature, value in zip(row.features, row.values, strict=True):
        logit_of_negative += negative[feature] * value
        logit_of_positive += positive[feature] * value
    chances = softmax((logit_of_negative, 0.0, logit_of_positive))
    error_of_negative = row.weight * (chances[0] - row.wanted[0])
    error_of_positive = row.weight * (chances[2] - row.wanted[1])
    for feature, value in zip(row.features, row.values, strict=True):
        pull = pulls[feature]
        weight = negative[feature]
        slope = error_of_negative * value + pull * weight
        steps = steps_of_negative[feature] + slope * slope
        steps_of_negative[feature] = steps
        negative[feature] = weight - rate * slope / sqrt(steps)
        weight = positive[feature]
        slope = error_of_positive * value + pull * weight
        steps = steps_of_positive[feature] + slope * slope
        steps_of_positive[feature] = steps
        positive[feature] = weight - rate * slope / sqrt(steps)


def softmax(logits: Sequence[float]) -> list[float]:
    top = max(logits)
    powers = [math.exp(each - top) for each in logits]
    total = 0.0
    for power in powers:
        total += power
    return [power / total for power in powers]


def format_table(table: WordTable | ToolTable) -> str:
    return json.dumps(_rounded(asdict(table)), ensure_ascii=False, sort_keys=True, indent=0)


def packed(text: str) -> bytes:
    """What services.mentions.analyzers.tables.unpacked reads."""
    return gzip.compress(text.encode("utf-8"), mtime=0)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DECIMALS) + 0.0  # and not -0.0
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, (list, tuple)) else value
