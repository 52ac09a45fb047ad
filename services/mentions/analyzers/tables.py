"""The tables of the embedded analyzer: compressed JSON, which scripts/sentiment/train.py writes."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field, TypeAdapter

from services.mentions.analyzers.tokens import Phrases, phrases_of

WORD_TABLE = Path(__file__).with_name("word_table.json.gz")
TOOL_TABLE = Path(__file__).with_name("tool_table.json.gz")

Weights = tuple[float, float, float]
"""The weights for negative, neutral and positive, in this order."""
Weight = tuple[float, float]
"""What is added to the logits of negative and of positive; the logit of neutral is 0."""
Shared = AfterValidator(cache(lambda value: value))
"""Equal values become one object: of 100,000 rounded weights and words, 5,000 differ."""


class Role:
    """What a word does to those near it, or says of the text. A word may have several."""

    NEGATOR = 1
    BOOSTER = 2
    DAMPENER = 4
    CONTRAST = 8
    UP = 16
    DOWN = 32
    BETTER_WHEN_MORE = 64
    WORSE_WHEN_MORE = 128
    FIRST_PERSON = 256
    SECOND_PERSON = 512
    MODAL = 1024


class Word(NamedTuple):
    """An entry of the word table: a word or phrase, with its valence in three word lists, its roles, and its own weight
    for each sentiment."""

    general: float = 0.0
    market: float = 0.0
    product: float = 0.0
    roles: int = 0
    weights: Weights | None = None


@dataclass(frozen=True)
class WordTable:
    """What a text is judged with in general (general.py). `words` contains phrases too, `features` the weights
    of other features.

    The same text judged with the same `version` gives the same judgement.
    """

    version: str
    words: Mapping[str, Annotated[Word, Shared]]
    features: Mapping[str, Weights]

    @cached_property
    def phrases(self) -> Phrases:
        return phrases_of(self.words)


@dataclass(frozen=True)
class ToolTable:
    """What a tool is judged with: the weight of each feature (features.py). Features that begin with "joint" are those
    of the second judgement of a tool of several.

    `inputs` are the hashes of the files that the table was trained from, by name, `classes` those of a word or phrase.
    Logits are divided by `temperature`, so that the probabilities are calibrated.
    """

    version: str
    temperature: Annotated[float, Field(gt=0)]
    inputs: Mapping[str, str]
    classes: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, Annotated[Weight, Shared]]


_WORD_TABLE = TypeAdapter(WordTable)
_TOOL_TABLE = TypeAdapter(ToolTable)


def unpacked(file: Path) -> str:
    """The text of a compressed file: so stored, a new training is no difference of 94,000 lines."""
    return gzip.decompress(file.read_bytes()).decode("utf-8")


def parse_word_table(text: str) -> WordTable:
    return _WORD_TABLE.validate_json(text)


def parse_tool_table(text: str) -> ToolTable:
    """Raises ValueError for another text."""
    return _TOOL_TABLE.validate_json(text)


@cache
def shipped_words() -> WordTable:
    return parse_word_table(unpacked(WORD_TABLE))


@cache
def shipped_tools() -> ToolTable:
    return parse_tool_table(unpacked(TOOL_TABLE))
