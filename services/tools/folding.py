"""Text as names are compared in it: case and compatibility forms folded, with the way back to the original's places.

Also the scripts in which words are told apart otherwise than by spaces.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

HANGUL = "\u1100-\u11ff\uac00-\ud7a3"
KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff"
RUNNING = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u309f\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Scripts without spaces, in which a name may begin and end anywhere: Thai, Lao, Burmese, Khmer, Hiragana, Han."""
UNSPACED = RUNNING + KATAKANA + HANGUL

# Python's \w leaves out vowel signs and the like, which belong to the word all the same.
MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a4d\u0a81-\u0acd"
    "\u0b01-\u0b4d\u0b82-\u0bcd\u0c00-\u0c4d\u0c81-\u0ccd\u0d00-\u0d4d\u0d82-\u0ddf"
)

_SPACED_WORD = re.compile(rf"[^\W{UNSPACED}]+")
_UNSPACED_RUN = re.compile(rf"[{UNSPACED}]+")
_ASCII_WORDS = "".join(chr(n).lower() if chr(n).isalnum() or chr(n) == "_" else " " for n in range(128))
# ASCII that bears no marks folds as a whole, so that one ellipsis or hard space does not make a thousand clusters.
_CLUSTER = re.compile(rf"[\x00-\x7f]+(?![{MARKS}])|.[{MARKS}]*", re.S)
_URL = re.compile(r"https?://\S+", re.I)
_SPACES = re.compile(r"\s+")
_ODD_ASCII_SPACES = ("\n", "  ", "\t", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f")
# Of the others, NFKC makes plain spaces.
_ODD_SPACES = (*_ODD_ASCII_SPACES, "\x85", "\u1680", "\u2028", "\u2029")


@dataclass(frozen=True, slots=True)
class Folded:
    """`origins[n]` is where in `original` the folded character n came from; None if both have the same places."""

    original: str
    text: str
    origins: Sequence[int] | None

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where in the original that is. An end is behind its last character, so that no space is taken in."""
        if self.origins is None:
            return start, end
        return self.origins[start], self.origins[end - 1] + max(1, self.origins[end] - self.origins[end - 1])


def without_urls(text: str) -> str:
    """With blanks in their places: a name in a path, or in what a button shares, says nothing about what is said."""
    return _URL.sub(lambda found: " " * len(found[0]), text) if "://" in text else text


def fold(original: str) -> Folded:
    bare = without_urls(original)
    if original.isascii():
        text = bare.lower()
        return _squeezed(original, text, None) if _has_any(_ODD_ASCII_SPACES, text) else Folded(original, text, None)
    text, origins = bare.casefold(), None
    if len(text) != len(original) or not unicodedata.is_normalized("NFKC", bare):
        text, origins = _normalized(bare)
    return _squeezed(original, text, origins) if _has_any(_ODD_SPACES, text) else Folded(original, text, origins)


def _has_any(parts: Iterable[str], text: str) -> bool:
    """Quicker than one regular expression for all."""
    return any(part in text for part in parts)


def _normalized(bare: str) -> tuple[str, list[int]]:
    parts: list[str] = []
    origins: list[int] = []
    for cluster in _CLUSTER.finditer(bare):
        if cluster[0].isascii():
            parts.append(cluster[0].lower())
            origins += range(*cluster.span())
            continue
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", cluster[0]).casefold())
        parts.append(folded)
        origins += [cluster.start()] * len(folded)
    origins.append(len(bare))
    return "".join(parts), origins


def _squeezed(original: str, text: str, origins: Sequence[int] | None) -> Folded:
    """With one space for each run of spaces of any kind, as names have them."""
    places = origins if origins is not None else range(len(text) + 1)
    kept: list[int] = []
    parts: list[str] = []
    at = 0
    for run in _SPACES.finditer(text):
        parts += (text[at : run.start()], " ")
        kept.extend(places[at : run.start() + 1])
        at = run.end()
    parts.append(text[at:])
    kept.extend(places[at:])
    return Folded(original, "".join(parts), kept)


def has_unspaced(text: str) -> bool:
    """Whether some of it is in a script whose words are not told apart by spaces alone."""
    return _UNSPACED_RUN.search(text) is not None


def tokens(folded: str, *, unspaced: bool = True) -> set[str]:
    """The words in it, by which it shows cheaply which names cannot be there.

    Of scripts without spaces, if `unspaced`: every character, and every two that stand together.
    """
    if folded.isascii():
        return set(folded.translate(_ASCII_WORDS).split())
    found = set(_SPACED_WORD.findall(folded))
    for run in _UNSPACED_RUN.findall(folded) if unspaced else ():
        found.update(run)
        found.update(run[n : n + 2] for n in range(len(run) - 1))
    return found
