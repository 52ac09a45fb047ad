"""The file format of the table with which a tool is judged. scripts/sentiment/train.py writes the table.

One line per feature (signals.py): its name, and what it adds to the logits of negative and of positive, in hundredths;
the logit of neutral is 0. Features that begin with "joint" are those of the second judgement of a tool of several.
Lines that begin with `!` have the version, the hashes of what the table was trained from and the temperature, lines
that begin with `&` the classes of a word or phrase.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from services.mentions.analyzers.table import unpacked

SHIPPED = Path(__file__).with_name("tool_table.tsv.gz")
_UNIT = 100.0
_SHOWN = 40

Weight = tuple[float, float]
"""For negative and positive."""


@dataclass(frozen=True, slots=True)
class ToolTable:
    """`inputs` are the hashes of the files that the table was trained from, by name. Logits are divided by
    `temperature`, so that the probabilities are calibrated."""

    version: str
    temperature: float
    inputs: Mapping[str, str]
    classes: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, Weight]


def parse_tool_table(text: str) -> ToolTable:
    """Raises ValueError for another text, and for a table with a temperature that is not above 0."""
    version, temperature = "", 1.0
    inputs: dict[str, str] = {}
    classes: dict[str, tuple[str, ...]] = {}
    weights: dict[str, Weight] = {}
    for line in text.removesuffix("\n").split("\n"):
        if line.find("\t") < 1:
            raise ValueError(f"not a line of the table: {line[:_SHOWN]!r}")
        name, first, rest = (*line.split("\t"), "")[:3]
        if name[0] == "!":
            if name == "!version":
                version = first
            elif name == "!temperature":
                temperature = int(first) / _UNIT
            else:
                inputs[first] = rest
        elif name[0] == "&":
            classes[name[1:]] = tuple(first.split(" "))
        else:
            weights[name[1:]] = (int(first or 0) / _UNIT, int(rest or 0) / _UNIT)
    if temperature <= 0:
        raise ValueError(f"the temperature of the table must be above 0, not {temperature}")
    return ToolTable(version, temperature, inputs, classes, weights)


def format_tool_table(table: ToolTable) -> str:
    """The text that `parse_tool_table` reads, sorted by code points. Weights below half a hundredth are left out."""
    lines = [f"!version\t{table.version}", f"!temperature\t{round(table.temperature * _UNIT)}"]
    lines += [f"!input\t{name}\t{value}" for name, value in sorted(table.inputs.items())]
    lines += [f"&{word}\t{' '.join(classes)}" for word, classes in sorted(table.classes.items())]
    for name, weight in sorted(table.weights.items()):
        negative, positive = (str(round(each * _UNIT) or "") for each in weight)
        if negative or positive:
            lines.append(f" {name}\t{negative}\t{positive}".removesuffix("\t"))
    return "\n".join(lines) + "\n"


@cache
def shipped_tool_table() -> ToolTable:
    return parse_tool_table(unpacked(SHIPPED))
