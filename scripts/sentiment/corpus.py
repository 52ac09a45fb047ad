"""What the tool model is trained from: labelled headlines, in which each tool has a label of its own.

Our own labels and sentences lie beside this module. SEntFiN's headlines lie beside the project, in DATA. What people
said of mentions comes from an app.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scripts.sentiment.learning import Weight
from services.tools.matching import Span

HERE = Path(__file__).parent
HEADLINES = HERE / "labels" / "headlines.tsv.gz"
MORE = HERE / "labels" / "more.tsv.gz"
WRITTEN = HERE / "labels" / "written.tsv.gz"
TAUGHT = HERE / "labels" / "taught.tsv.gz"
TEMPLATES = HERE / "templates.txt"
DATA = HERE.parent.parent.parent / "shared" / "data"
TONES = "tone_by_entity_sentfin.tsv"
WHOLE_TONES = "sentiment_sentfin.tsv"
LABELS = {"negative": 0, "neutral": 1, "positive": 2, "n": 0, "0": 1, "p": 2}
"""The number of each label. Without one ("x"), the tool is named and not judged."""
OTHER_TOOLS = "other tools"
"""The name of all tools of a correction but the one that it is about."""
SENTENCES_OF_TEMPLATE = 6
_SEED = 1
_MAX_FOUND = 2
_CHOICE = re.compile(r"\[([^\]]*)\]")
_CAPITALS = re.compile(r"(?:[A-Z][\w&.]*(?: |$))+")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text, the places of its names, and the label of each tool, by name. If a model labelled it, `chances` has the
    probabilities of negative and of positive for each tool, and the labels are the most probable ones."""

    text: str
    names: Mapping[str, tuple[Span, ...]]
    labels: Mapping[str, int]
    is_test: bool = False
    chances: Mapping[str, Weight] = field(default_factory=dict)


def headlines() -> list[Labelled]:
    """Our own labelled headlines, the held-out third too."""
    return list(_rows(HEADLINES))


def more_headlines() -> list[Labelled]:
    """Our own headlines that were labelled once. None of them is held out."""
    return list(_rows(MORE))


def written() -> list[Labelled]:
    """Headlines of our own for rare kinds of news."""
    return list(_rows(WRITTEN))


def _rows(file: Path) -> Iterator[Labelled]:
    with gzip.open(file, "rt", encoding="utf-8", newline="\n") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            text, names = row["headline"], row["tools"].split(" | ")
            labels = {name: LABELS[each] for name, each in zip(names, row["labels"], strict=True) if each in LABELS}
            yield Labelled(text, {name: places(text, name) for name in names}, labels, bool(row.get("test")))


def taught() -> list[Labelled]:
    """Headlines that a larger model labelled, with probabilities in percent."""
    found = []
    with gzip.open(TAUGHT, "rt", encoding="utf-8", newline="\n") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            text, names = row["headline"], row["tools"].split(" | ")
            pairs = [each.split(" ") for each in row["chances"].split(" | ")]
            chances = {
                name: (int(negative) / 100, int(positive) / 100)
                for name, (negative, positive) in zip(names, pairs, strict=True)
            }
            labels = {name: _most_probable(*each) for name, each in chances.items()}
            found.append(Labelled(text, {name: places(text, name) for name in names}, labels, chances=chances))
    return found


def _most_probable(negative: float, positive: float) -> int:
    if max(negative, positive) <= 1 - negative - positive:
        return LABELS["neutral"]
    return LABELS["negative" if negative >= positive else "positive"]


def templates() -> list[Labelled]:
    """Sentences of our own, made from templates: the same ones each time."""
    return list(_sentences(random.Random(_SEED)))  # noqa: S311 - no secret: a choice of words


def _sentences(choice: random.Random) -> Iterator[Labelled]:
    seen = set()
    for line in TEMPLATES.read_text(encoding="utf-8").splitlines():
        letters, _, template = line.partition("\t")
        if not template or line.startswith("#"):
            continue
        for _ in range(SENTENCES_OF_TEMPLATE):
            text = _CHOICE.sub(lambda match: choice.choice(match[1].split("|")), template)
            text = re.sub(r"\s+", " ", text).strip()
            if text not in seen:
                seen.add(text)
                names = {slot: places(text, slot) for slot in ("{A}", "{B}", "{C}")[: len(letters)]}
                yield Labelled(text, names, {slot: LABELS[each] for slot, each in zip(names, letters, strict=True)})


def tones(data: Path) -> list[Labelled]:
    """SEntFiN's headlines whose entities differ in tone."""
    rows: dict[str, dict[str, int]] = {}
    for line in (data / TONES).read_text(encoding="utf-8").splitlines():
        text, *entities = line.split("\t")
        pairs = (each.rsplit("=", 1) for each in entities)
        rows.setdefault(text, {}).update({name: LABELS[label] for name, label in pairs if places(text, name)})
    return [_labelled(text, labels) for text, labels in rows.items() if labels]


def whole_tones(data: Path, entities: set[str]) -> list[Labelled]:
    """SEntFiN's headlines whose entities share a label: those of them that are known, or the longest name in
    capitals."""
    found = []
    for line in (data / WHOLE_TONES).read_text(encoding="utf-8").splitlines():
        label, _, text = line.partition("\t")
        known = [each for each in sorted(entities) if len(each) > 2 and _has_word(text, each)]
        longest = [each for each in known if not any(each != other and each in other for other in known)]
        if not longest:
            capitals = [each.strip() for each in _CAPITALS.findall(text) if len(each.strip()) > 2]
            longest = [max(capitals, key=len)] if capitals else []
        if longest:
            found.append(_labelled(text, dict.fromkeys(longest[:_MAX_FOUND], LABELS[label])))
    return found


def corrections(file: Path) -> list[Labelled]:
    """What people said of mentions, as the app exports it (docs/api.md, labelled data): those with a sentiment and one
    passage. Of a verdict on several sentences, nobody said which of them it is about."""
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        text, tool, label = row["text"], row["tool_id"], row["label"]
        if label not in LABELS or not row["names"] or "\n" in text:
            continue
        names = {tool: tuple(Span(*each) for each in row["names"])}
        if row["other_names"]:
            names[OTHER_TOOLS] = tuple(Span(*each) for each in row["other_names"])
        found.append(Labelled(text, names, {tool: LABELS[label]}))
    return found


def places(text: str, name: str) -> tuple[Span, ...]:
    """Where `text` has the name, as a word if it has it as a word."""
    pattern = re.escape(name)
    found = [Span(*match.span()) for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.I)]
    if not found:
        start = text.lower().find(name.lower())
        found = [Span(start, start + len(name))] if start >= 0 else []
    return tuple(found)


def _has_word(text: str, name: str) -> bool:
    return name in text and bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text))


def _labelled(text: str, labels: Mapping[str, int]) -> Labelled:
    return Labelled(text, {name: places(text, name) for name in labels}, dict(labels))
