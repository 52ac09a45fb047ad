"""Trains the table with which a tool is judged (services/mentions/analyzers/tool_table.json.gz).

The model is multinomial logistic regression over the features of features.py. In a text with several tools, a second
and much smaller one goes over what the first says of each of them, learned from what it says of texts that it was not
trained on. The parameters were chosen by cross-validation on the headlines that are not held out (`cross_validate`).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from sys import intern

from scripts.sentiment import corpus
from scripts.sentiment.corpus import Labelled
from scripts.sentiment.general import forms
from scripts.sentiment.learning import Descent, Row, Weight, format_table, learn, softmax
from services.mentions.analyzers.embedded import ToolJudge, vocabulary
from services.mentions.analyzers.features import features_of, joint_figures, word_features
from services.mentions.analyzers.port import Passage
from services.mentions.analyzers.tables import ToolTable, WordTable

CLASSES = Path(__file__).with_name("classes.txt")
VERSION = "2"
"""Of the rules in tokens.py and features.py, to be raised with them; the table's own content is added to it."""
LABELS = 3
FOLDS = 5
UNSEEN = 0
"""The part of the cross-validation of which the model that labelled taught.tsv has seen nothing."""
PARTS = 3
"""Each part of the texts is judged by weights that the others gave, for the second judgement to learn from."""
_MIN_USES = 5
_MIN_WEIGHT = 0.03
"""Weights that are smaller are not shipped."""
_TEMPERATURES = [each / 100 for each in range(60, 201, 5)]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much each set counts, and how much more a rare label counts than a frequent one: by its rarity to the power
    of `rarity`."""

    sets: Mapping[str, float]
    rarity: float = 0.6
    differing: float = 1.0
    """How much more a tool counts in a text whose tools differ in tone."""
    descent: Descent = field(default_factory=lambda: Descent(epochs=6, rate=0.06, pull=5.0, averaged=3))


JOINT = Plan({}, rarity=0.5, differing=1.8, descent=Descent(epochs=8, rate=0.06))
"""Of the second judgement. The sets count as in the plan of the first."""


PLAN = Plan(
    {
        "headlines": 1.0,
        "more": 1.0,
        "taught": 0.5,
        "written": 0.5,
        "corrections": 1.0,
        "templates": 1.0,
        "tones": 7.0,
        "whole_tones": 2.0,
    }
)


@dataclass(frozen=True, slots=True)
class Example:
    """A tool in a text, with its features and their values. `chances` are of negative and of positive, if the label is
    not certain."""

    text: str
    tool: str
    label: int
    features: Mapping[str, float]
    chances: Weight | None = None

    @property
    def wanted(self) -> Weight:
        return self.chances or (float(self.label == 0), float(self.label == LABELS - 1))


Examples = Mapping[str, Sequence[Example]]
"""By set."""


def read_classes(text: str) -> dict[str, tuple[str, ...]]:
    """The classes of each word and phrase."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    section = ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[] ")
        elif line and not line.startswith("#"):
            for entry in line.split():
                for word in forms(entry):
                    if section not in found[word]:
                        found[word].append(section)
    return {word: tuple(each) for word, each in found.items()}


def training_sets(data: Path, corrections: Path | None = None) -> dict[str, list[Labelled]]:
    """All that the table is trained from: nothing of the held-out third."""
    tones, headlines = corpus.tones(data), corpus.headlines()
    entities = {name for each in tones for name in each.labels}
    held_out = {each.text for each in headlines if each.is_test}
    corrected = corpus.corrections(corrections) if corrections is not None else []
    more = {"corrections": [each for each in corrected if each.text not in held_out]} if corrected else {}
    return {
        **more,
        "headlines": [each for each in headlines if not each.is_test],
        "more": corpus.more_headlines(),
        "taught": corpus.taught(),
        "written": corpus.written(),
        "templates": corpus.templates(),
        "tones": tones,
        "whole_tones": corpus.whole_tones(data, entities),
    }


def examples(rows: Sequence[Labelled], words: WordTable, classes: Mapping[str, tuple[str, ...]]) -> list[Example]:
    judge = ToolJudge(words, ToolTable("", 1.0, {}, classes, {}))
    known = vocabulary(words, classes)
    found = []
    for row in rows:
        reading = judge.read(Passage(row.text, row.names))
        for tool, label in row.labels.items():
            own = features_of(reading, tool)
            features: defaultdict[str, float] = defaultdict(float)
            for word, place in own.placed:
                for feature in word_features(word, place, known.classes_of(word)):
                    features[intern(feature)] += 1.0
            features.update(dict.fromkeys(map(intern, own.patterns), 1.0))
            features.update(own.figures)
            found.append(Example(row.text, tool, label, dict(sorted(features.items())), row.chances.get(tool)))
    return found


def fit(sets: Examples, plan: Plan) -> dict[str, Weight]:
    """The weight of each feature that at least five examples have, relative to neutral."""
    rows: list[tuple[Example, float]] = []
    for name in sorted(sets):
        rows += zip(sets[name], _weights(sets[name], plan.sets[name], plan), strict=True)
    return _fit(rows, "constant", plan.descent)


def _fit(rows: Sequence[tuple[Example, float]], constant: str, descent: Descent) -> dict[str, Weight]:
    uses = Counter(feature for example, _ in rows for feature in example.features)
    names = [constant, *sorted(name for name, count in uses.items() if count >= _MIN_USES)]
    numbers = {name: number for number, name in enumerate(names)}
    known = [_row(example, weight, numbers) for example, weight in rows]
    return dict(zip(names, learn(known, len(names), descent), strict=True))


@dataclass(frozen=True, slots=True)
class Model:
    """The weights of both judgements, and the temperature of the first."""

    weights: Mapping[str, Weight]
    temperature: float


def fit_both(sets: Examples, plan: Plan) -> Model:
    """The second judgement learns from what the first says of texts that it was not trained on."""
    apart: dict[str, list[tuple[Example, Weight]]] = {name: [] for name in sets}
    for part in range(PARTS):
        rest = {name: [each for each in rows if part_of(each.text) != part] for name, rows in sets.items()}
        weights = fit(rest, plan)
        for name, own in sets.items():
            apart[name] += [(each, logits(each, weights)) for each in own if part_of(each.text) == part]
    measured = apart.get("headlines") or [pair for pairs in apart.values() for pair in pairs]
    temperature = temperature_of([(each, chances_of(own)) for each, own in measured])
    rows: list[tuple[Example, float]] = []
    for name in sorted(sets):
        several = [each for text in _texts(apart[name]) if len(text) > 1 for each in _joint_examples(text, temperature)]
        rows += zip(several, _weights(several, plan.sets[name], JOINT), strict=True)
    joint = _fit(rows, "joint", JOINT.descent) if rows else {}
    return Model({**fit(sets, plan), **joint}, temperature)


def _texts(pairs: Sequence[tuple[Example, Weight]]) -> list[list[tuple[Example, Weight]]]:
    found: defaultdict[str, list[tuple[Example, Weight]]] = defaultdict(list)
    for example, own in pairs:
        found[example.text].append((example, own))
    return list(found.values())


def _joint_examples(text: Sequence[tuple[Example, Weight]], temperature: float) -> list[Example]:
    """The tools of a text, with the figures of the second judgement."""
    cooled = [(negative / temperature, positive / temperature) for _, (negative, positive) in text]
    chances = [chances_of(each) for each in cooled]
    return [
        Example(
            example.text,
            example.tool,
            example.label,
            joint_figures(cooled[place], chances[place], chances[:place] + chances[place + 1 :]),
            example.chances,
        )
        for place, (example, _) in enumerate(text)
    ]


def _weights(rows: Sequence[Example], share: float, plan: Plan) -> list[float]:
    labels = Counter(each.label for each in rows)
    tones: defaultdict[str, set[int]] = defaultdict(set)
    for each in rows:
        tones[each.text].add(each.label)
    return [
        share
        * math.pow(len(rows) / LABELS / labels[each.label], plan.rarity)
        * (plan.differing if len(tones[each.text]) > 1 else 1.0)
        for each in rows
    ]


def _row(example: Example, weight: float, numbers: Mapping[str, int]) -> Row:
    known = [(numbers[name], value) for name, value in example.features.items() if name in numbers]
    return Row(weight, example.wanted, (0, *(each for each, _ in known)), (1.0, *(value for _, value in known)))


def logits(example: Example, weights: Mapping[str, Weight], constant: str = "constant") -> Weight:
    """Of negative and positive."""
    negative, positive = weights.get(constant, (0.0, 0.0))
    for name, value in example.features.items():
        known = weights.get(name)
        if known:
            negative += value * known[0]
            positive += value * known[1]
    return negative, positive


def chances_of(own: Weight) -> list[float]:
    return softmax([own[0], 0.0, own[1]])


Judged = tuple[Example, list[float]]
"""With the probabilities of negative, neutral and positive."""


def judged(rows: Sequence[Example], model: Model) -> list[Judged]:
    found: list[Judged] = []
    for text in _texts([(each, logits(each, model.weights)) for each in rows]):
        if len(text) > 1:
            joint = _joint_examples(text, model.temperature)
            found += [
                (example, chances_of(logits(each, model.weights, "joint")))
                for each, (example, _) in zip(joint, text, strict=True)
            ]
        else:
            ((example, (negative, positive)),) = text
            found.append((example, chances_of((negative / model.temperature, positive / model.temperature))))
    return found


def cross_validate(
    sets: Examples, plan: Plan, judge: Sequence[str] = ("headlines",), folds: Sequence[int] = range(FOLDS)
) -> dict[str, list[Judged]]:
    """The examples of the sets `judge`, each judged by weights that were learned without its text."""
    found: dict[str, list[Judged]] = {name: [] for name in judge}
    for fold in folds:
        rest = {name: [each for each in rows if fold_of(each.text) != fold] for name, rows in sets.items()}
        model = fit_both(rest, plan)
        for name in judge:
            found[name] += judged([each for each in sets[name] if fold_of(each.text) == fold], model)
    return found


def fold_of(text: str) -> int:
    return sha256(text.encode()).digest()[1] % FOLDS


def part_of(text: str) -> int:
    return sha256(text.encode()).digest()[2] % PARTS


def temperature_of(pairs: Sequence[Judged]) -> float:
    """The temperature with which the probabilities fit the labels best."""
    return min(_TEMPERATURES, key=lambda temperature: _surprise(pairs, temperature))


def _surprise(pairs: Sequence[Judged], temperature: float) -> float:
    total = 0.0
    for example, chances in pairs:
        powers = softmax([math.log(each) / temperature for each in chances])
        total -= math.log(powers[example.label])
    return round(total, 6)


def build(sets: Examples, classes: Mapping[str, tuple[str, ...]], inputs: Mapping[str, str], plan: Plan) -> str:
    """The table's text."""
    model = fit_both(sets, plan)
    temperature = model.temperature
    weights = {name: weight for name, weight in model.weights.items() if max(map(abs, weight)) >= _MIN_WEIGHT}
    table = ToolTable("", temperature, inputs, classes, weights)
    return format_table(replace(table, version=f"{VERSION}-{sha256(format_table(table).encode()).hexdigest()[:8]}"))
