"""Text to tokens: words, numbers and names, with the clause of each. Which tool a name means is kept beside the tokens.

The characters of a name are never read, so that the name of a tool is no opinion about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from services.tools.matching import Span

NAME = "\ue000"
"""The token of a name."""
_CONNECTING_WORDS = (
    "as while but despite after amid amidst when because although though whereas since following until before if yet"
    " even"
)
CONNECTORS = frozenset(_CONNECTING_WORDS.split())
"""Words that begin a clause."""
_BREAKS = frozenset([";", ":", ",", "|", "(", ")", ".", "?", "!", "-", "–", "—", '"'])  # noqa: RUF001
_KEPT_BREAKS = frozenset('?!"')
_PIECE = re.compile(
    r"https?://\S+|www\.\S+|[\ue000-\uf8ff]|'s\b|[^\W\d_]+(?:['-][^\W\d_]+)*|[$€£]?\d[\d.,]*(?:[a-z]+\b|%)?"
    r"|[!?.,;:|()\"]|(?<=\s)[-–—](?=\s)|—|\+\+?|#"  # noqa: RUF001
)
_STAND_INS = re.compile("[\ue000-\uf8ff]+")
_YEAR = re.compile(r"(?:19|20)\d\d")
_MAX_NAMES = 6000  # as many as there are characters to stand for them

Phrases = Mapping[str, Sequence[tuple[str, ...]]]
"""By first word, the other words of each phrase, longest first."""


@dataclass(slots=True)
class Tokens:
    """The tokens of a text. `names` are the tools of each name by the index of its token. `connectors` are the words or
    signs that begin each clause, by its number; None for the first."""

    words: list[str] = field(default_factory=list)
    clauses: list[int] = field(default_factory=list)
    names: dict[int, frozenset[str]] = field(default_factory=dict)
    connectors: list[str | None] = field(default_factory=lambda: [None])


def phrases_of(entries: Iterable[str]) -> Phrases:
    """Those of `entries` that have more than one word."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for entry in entries:
        first, *rest = entry.split(" ")
        if rest:
            found.setdefault(first, []).append(tuple(rest))
    return {first: tuple(sorted(each, key=lambda rest: (-len(rest), rest))) for first, each in found.items()}


def length_of_phrase(pieces: Sequence[str], index: int, phrases: Phrases) -> int:
    """How many pieces the longest phrase has that begins here; 1 if none does."""
    for rest in phrases.get(pieces[index], ()):
        if tuple(pieces[index + 1 : index + 1 + len(rest)]) == rest:
            return 1 + len(rest)
    return 1


def read_tokens(text: str, names: Mapping[str, Sequence[Span]], phrases: Phrases) -> Tokens:
    masked, tools = _masked(text, names)
    pieces = _PIECE.findall(masked)
    tokens = Tokens()
    words, clauses = tokens.words, tokens.clauses
    clause = index = 0
    last = len(pieces)
    while index < last:
        piece = pieces[index]
        index += 1
        first = piece[0]
        if first >= NAME and first <= "\uf8ff":
            tokens.names[len(words)] = tools[ord(first) - ord(NAME)]
            piece = NAME
        elif piece in _BREAKS:
            if piece in _KEPT_BREAKS:
                words.append(piece)
                clauses.append(clause)
            clause += 1
            tokens.connectors.append(piece)
            continue
        elif piece in CONNECTORS:
            clause += 1
            tokens.connectors.append(piece)
        elif first in "$€£" or first.isdigit():
            piece = _number(piece)
        elif piece in phrases:
            end = index - 1 + length_of_phrase(pieces, index - 1, phrases)
            piece = " ".join(pieces[index - 1 : end])
            index = end
        elif "://" in piece or piece.startswith("www."):
            continue
        words.append(piece)
        clauses.append(clause)
    return tokens


def _masked(text: str, names: Mapping[str, Sequence[Span]]) -> tuple[str, list[frozenset[str]]]:
    """The text in lower case with one character for each name, and the tools of each. Overlapping names are one."""
    spans = sorted((start, end, tool) for tool, each in names.items() for start, end in each)[:_MAX_NAMES]
    parts: list[str] = []
    tools: list[frozenset[str]] = []
    last = -1
    for start, end, tool in spans:
        if start < last:
            tools[-1] |= {tool}
        else:
            parts += (_STAND_INS.sub(" ", text[max(last, 0) : start]), " ", chr(ord(NAME) + len(tools)), " ")
            tools.append(frozenset((tool,)))
        last = max(last, end)
    parts.append(_STAND_INS.sub(" ", text[max(last, 0) :]))
    return "".join(parts).lower().replace("\u2019", "'"), tools


def _number(piece: str) -> str:
    if piece[0] in "$€£":
        return "<money>"
    if piece[-1] == "%":
        return "<percent>"
    if _YEAR.fullmatch(piece):
        return "<year>"
    if piece[-1] == "x":
        return "<times>"
    return "<version>" if "." in piece[:-1] else "<number>"
