"""Trains the table with which a text is judged in general (services/mentions/analyzers/word_table.json.gz).

It reads `sentiment_*.tsv` files, `label<TAB>text` a line, of which none of the text is shipped: what leaves here is
words and numbers. The general word list is that of the vaderSentiment package (development only); the other lists are
our own, in words.txt, and so are the texts of examples.tsv. Only sets with a permissive licence go in:
docs/adr/0011-sentiment.md names them.

The model is multinomial logistic regression, pulled towards zero and stopped early, since it will meet other texts than
these.
"""

from __future__ import annotations

import importlib.resources
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from scripts.sentiment.learning import format_table
from services.mentions.analyzers import tables as form
from services.mentions.analyzers.general import read_features
from services.mentions.analyzers.tables import Weights, Word, WordTable

WORDS = Path(__file__).with_name("words.txt")
EXAMPLES = Path(__file__).with_name("examples.tsv")
VERSION = "1"
"""Of the rules in general.py, to be raised with them; the table's own content is added to it."""
LABELS = ("negative", "neutral", "positive")
ROLES = {
    "negator": form.Role.NEGATOR,
    "booster": form.Role.BOOSTER,
    "dampener": form.Role.DAMPENER,
    "contrast": form.Role.CONTRAST,
    "up": form.Role.UP,
    "down": form.Role.DOWN,
    "good_when_more": form.Role.BETTER_WHEN_MORE,
    "bad_when_more": form.Role.WORSE_WHEN_MORE,
    "first_person": form.Role.FIRST_PERSON,
    "second_person": form.Role.SECOND_PERSON,
    "modal": form.Role.MODAL,
}

Labelled = tuple[str, str]
"""Label and text."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The parameters of the training. Chosen by leaving out one whole set at a time, see benchmarks/answers.py."""

    epochs: int = 12
    rate: float = 0.25
    pull: float = 1.5
    word_scale: float = 0.2
    least_texts: int = 3
    least_sets: int = 2
    typical_set: int = 600
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Example:
    label: int
    features: tuple[tuple[str, float], ...]
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Model:
    features: dict[str, Weights]
    words: dict[str, Weights]


def read_sets(folder: Path) -> dict[str, list[Labelled]]:
    """The labelled sets of a folder, by name."""
    if not any(folder.glob("sentiment_*.tsv")):
        raise SystemExit(f"{folder}: no files sentiment_*.tsv")
    return {file.stem.removeprefix("sentiment_"): read_set(file) for file in sorted(folder.glob("sentiment_*.tsv"))}


def read_set(file: Path) -> list[Labelled]:
    rows = [line.split("\t", 1) for line in file.read_text(encoding="utf-8").splitlines() if "\t" in line]
    wrong = {label for label, _ in rows} - set(LABELS)
    if wrong:
        raise SystemExit(f"{file.name}: unknown labels {sorted(wrong)}")
    return [(label, text) for label, text in rows]


def read_words(own: str, general: Mapping[str, float]) -> dict[str, Word]:
    """The valences and roles of each word, from the word lists, before any training."""
    found: dict[str, Word] = {word: Word(general=valence) for word, valence in general.items()}
    section: list[str] = []
    for line in own.splitlines():
        if line.startswith("["):
            section = line.strip("[] ").split()
        elif line and not line.startswith("#"):
            for entry in line.split():
                for word in forms(entry):
                    found[word] = _marked(found.get(word, Word()), section)
    return found


def _marked(word: Word, section: Sequence[str]) -> Word:
    name, *strength = section
    if name in ROLES:
        return word._replace(roles=word.roles | ROLES[name])
    if name == "market":
        return word._replace(market=float(strength[0]))
    if name == "product":
        return word._replace(product=float(strength[0]))
    return word._replace(general=0.0)


def forms(entry: str) -> list[str]:
    """`surge/v` has four forms, `prize/n` two, anything else itself; `_` joins the words of a phrase."""
    stem, _, rest = entry.replace("_", " ").partition("/")
    kind, tail = rest[:1], rest[1:]
    vowel_before = len(stem) > 1 and stem[-2] in "aeiou"
    if not kind:
        return [stem]
    if stem.endswith("y") and not vowel_before:
        plural, past = f"{stem[:-1]}ies", f"{stem[:-1]}ied"
    else:
        plural = stem + ("es" if stem.endswith(("s", "sh", "ch", "x", "z")) else "s")
        past = stem + ("d" if stem.endswith("e") else "ed")
    if kind == "n":
        return [stem + tail, plural + tail]
    root = stem[:-1] if stem.endswith("e") else stem
    if re.fullmatch(r"[^aeiou]*[aeiou][bdgmnprt]", stem):
        past, root = f"{stem}{stem[-1]}ed", stem + stem[-1]
    return [each + tail for each in (stem, plural, past, f"{root}ing")]


def general_words() -> dict[str, float]:
    """Valences of vaderSentiment's word list, its faces, and its emoji by what their names say."""
    package = importlib.resources.files("vaderSentiment")
    rows = [line.split("\t") for line in (package / "vader_lexicon.txt").read_text(encoding="utf-8").splitlines()]
    valences = {row[0].lower(): float(row[1]) for row in rows if len(row) > 1 and not row[0].startswith(("=", "!"))}
    emoji: dict[str, float] = {}
    for line in (package / "emoji_utf8_lexicon.txt").read_text(encoding="utf-8").splitlines():
        sign, _, name = line.partition("\t")
        valence = sum(valences.get(word, 0.0) for word in name.split())
        if len(sign) == 1 and valence:
            emoji[sign] = valence
    return valences | emoji


def examples(rows: Iterable[Labelled], words: WordTable) -> list[Example]:
    found = []
    for label, text in rows:
        own = read_features(text, words)
        features = (("constant", 1.0), *sorted(own.figures.items()))
        found.append(Example(LABELS.index(label), features, frozenset(own.words)))
    return found


def train(sets: Mapping[str, Sequence[Example]], plan: Plan) -> Model:
    """The sets count by the root of their size, and the labels of each by the root of how rare they are."""
    vocabulary = _vocabulary(sets, plan)
    rows: list[tuple[float, int, list[tuple[str, float]]]] = []
    for name in sorted(sets):
        each = sets[name]
        labels = Counter(example.label for example in each)
        for example in each:
            rare = math.sqrt(len(each) / 3 / labels[example.label])
            weight = math.sqrt(plan.typical_set / len(each)) * rare
            features = [*example.features]
            features += [(f"~{word}", plan.word_scale) for word in sorted(example.words & vocabulary)]
            rows.append((weight, example.label, features))
    weights = _descend(rows, plan)
    scaled = plan.word_scale
    return Model(
        {name: (a, b, c) for name, (a, b, c) in weights.items() if not name.startswith("~")},
        {name[1:]: (a * scaled, b * scaled, c * scaled) for name, (a, b, c) in weights.items() if name[0] == "~"},
    )


def _vocabulary(sets: Mapping[str, Sequence[Example]], plan: Plan) -> frozenset[str]:
    """Words that more than one set uses: what a single one has is most often about its topics, not its mood."""
    texts: Counter[str] = Counter()
    homes: defaultdict[str, set[str]] = defaultdict(set)
    for name, each in sets.items():
        for example in each:
            texts.update(example.words)
            for word in example.words:
                homes[word].add(name)
    return frozenset(
        word for word, count in texts.items() if count >= plan.least_texts and len(homes[word]) >= plan.least_sets
    )


def _descend(rows: list[tuple[float, int, list[tuple[str, float]]]], plan: Plan) -> dict[str, list[float]]:
    """Stochastic descent with a step for each feature (AdaGrad); the pull of each is spread over its texts."""
    uses = Counter(name for _, _, features in rows for name, _ in features)
    weights: dict[str, list[float]] = {name: [0.0, 0.0, 0.0] for name in sorted(uses)}
    seen: dict[str, list[float]] = {name: [1.0, 1.0, 1.0] for name in uses}
    pull = {name: 0.0 if name == "constant" else plan.pull / count for name, count in uses.items()}
    order = list(range(len(rows)))
    shuffle = random.Random(plan.seed)  # noqa: S311 - no secret: an order
    for _ in range(plan.epochs):
        shuffle.shuffle(order)
        for number in order:
            weight, label, features = rows[number]
            chances = _chances(features, weights)
            errors = [weight * (chance - (index == label)) for index, chance in enumerate(chances)]
            for name, value in features:
                own, steps, back = weights[name], seen[name], pull[name]
                for index in range(3):
                    slope = errors[index] * value + back * own[index]
                    steps[index] += slope * slope
                    own[index] -= plan.rate * slope / math.sqrt(steps[index])
    return weights


def _chances(features: Sequence[tuple[str, float]], weights: Mapping[str, Sequence[float]]) -> list[float]:
    a = b = c = 0.0
    for name, value in features:
        own = weights[name]
        a += own[0] * value
        b += own[1] * value
        c += own[2] * value
    top = max(a, b, c)
    powers = [math.exp(a - top), math.exp(b - top), math.exp(c - top)]
    total = sum(powers)
    return [power / total for power in powers]


def known_words() -> dict[str, Word]:
    return read_words(WORDS.read_text(encoding="utf-8"), general_words())


def training_examples(sets: Mapping[str, Sequence[Labelled]], known: Mapping[str, Word]) -> dict[str, list[Example]]:
    """Of the sets and of our own."""
    words = WordTable(VERSION, known, {})
    return {name: examples(rows, words) for name, rows in {**sets, "own": read_set(EXAMPLES)}.items()}


def build(sets: Mapping[str, Sequence[Example]], known: Mapping[str, Word], plan: Plan) -> str:
    """The table's text."""
    model = train(sets, plan)
    # A phrase without valence is kept: it keeps its words from being counted.
    entries = {word: each for word, each in known.items() if " " in word or any(each[:4])}
    for word, weights in model.words.items():
        entries[word] = known.get(word, Word())._replace(weights=weights)
    table = WordTable("", entries, model.features)
    return format_table(replace(table, version=f"{VERSION}-{sha256(format_table(table).encode()).hexdigest()[:8]}"))
