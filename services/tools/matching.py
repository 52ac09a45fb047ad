"""Text in the form in which names are compared, and finding a phrase in such text, in any script.

Folding makes case, compatibility forms and runs of spaces alike, and keeps the way back to places in the original.
What a match means is for detector.py to decide.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

HANGUL = "\u1100-\u11ff\uac00-\ud7a3"
KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff"
RUNNING = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u309f\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Scripts without spaces, in which a name may begin and end anywhere: Thai, Lao, Burmese, Khmer, Hiragana, Han."""
UNSPACED = RUNNING + KATAKANA + HANGUL

# Vowel signs and the like: Python's \w leaves them out, but they belong to their word.
MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a4d\u0a81-\u0acd"
    "\u0b01-\u0b4d\u0b82-\u0bcd\u0c00-\u0c4d\u0c81-\u0ccd\u0d00-\u0d4d\u0d82-\u0ddf"
)

_SPACED_WORD = re.compile(rf"[^\W{UNSPACED}]+")
_UNSPACED_RUN = re.compile(rf"[{UNSPACED}]+")
_ASCII_WORDS = "".join(chr(n).lower() if chr(n).isalnum() or chr(n) == "_" else " " for n in range(128))
# ASCII without marks is one cluster, so that a single ellipsis or hard space does not make a thousand clusters.
_CLUSTER = re.compile(rf"[\x00-\x7f]+(?![{MARKS}])|.[{MARKS}]*", re.S)
_URL = re.compile(r"https?://\S+", re.I)
_SPACES = re.compile(r"\s+")
_ODD_ASCII_SPACES = ("\n", "  ", "\t", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f")
# NFKC turns all other kinds of spaces into plain ones.
_ODD_SPACES = (*_ODD_ASCII_SPACES, "\x85", "\u1680", "\u2028", "\u2029")


class Span(NamedTuple):
    """The characters of a text from `start` up to, not including, `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Folded:
    """`origins[n]` is the place in `original` of the folded character n; None if the places are the same in both."""

    original: str
    text: str
    origins: Sequence[int] | None

    def place(self, start: int, end: int) -> Span:
        """The same span in the original. It ends right behind its last character, so that no space is included."""
        if self.origins is None:
            return Span(start, end)
        last = self.origins[end - 1]
        return Span(self.origins[start], last + max(1, self.origins[end] - last))


def without_urls(text: str) -> str:
    """With blanks in place of each URL: a name in a path, or in the link of a share button, is no mention."""
    return _URL.sub(lambda found: " " * len(found[0]), text) if "://" in text else text


def fold(original: str) -> Folded:
    """The text without its URLs, folded as models.tool.normalize_name folds a name."""
    bare = without_urls(original)
    if original.isascii():
        text = bare.lower()
        return _squeezed(original, text, None) if _has_any(_ODD_ASCII_SPACES, text) else Folded(original, text, None)
    text, origins = bare.casefold(), None
    if len(text) != len(original) or not unicodedata.is_normalized("NFKC", bare):
        text, origins = _normalized(bare)
    return _squeezed(original, text, origins) if _has_any(_ODD_SPACES, text) else Folded(original, text, origins)


def _has_any(parts: Iterable[str], text: str) -> bool:
    """Faster than one regular expression for all parts."""
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
    """With one space for each run of spaces of any kind, as in names."""
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
    """Whether some of the text is in a script that does not separate all words by spaces."""
    return _UNSPACED_RUN.search(text) is not None


def tokens(folded: str, *, unspaced: bool = True) -> set[str]:
    """The words of the text: a name whose words are not all among them cannot be in the text.

    Of scripts without spaces, if `unspaced`: every character, and every two adjacent ones.
    """
    if folded.isascii():
        return set(folded.translate(_ASCII_WORDS).split())
    found = set(_SPACED_WORD.findall(folded))
    for run in _UNSPACED_RUN.findall(folded) if unspaced else ():
        found.update(run)
        found.update(run[n : n + 2] for n in range(len(run) - 1))
    return found


_WORD = rf"[^\W{UNSPACED}]|[{MARKS}]"
_KOREAN_ENDINGS = (
    "은|는|이|가|을|를|의|에|에서|에게|와|과|도|로|으로|만|까지|부터|보다|처럼|이나|나|라는|이라는|란|측|사|들|이다"
)
_APOSTROPHES = "'\u2019"
_PLAIN_AFTER = frozenset(" ,;!?)")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A name, or any other phrase, with the patterns of what may stand before and after it.

    `plain` is normalised by models.tool.normalize_name.
    """

    plain: str
    left: str
    right: str

    @classmethod
    def of(cls, plain: str) -> Phrase:
        return cls(plain, _left(plain), _right(plain))

    def occurrences(self, text: str) -> Iterator[tuple[int, int]]:
        """The spans of the phrase in folded text."""
        plain, length = self.plain, len(self.plain)
        start = text.find(plain)
        while start >= 0:
            end = start + length
            begins = not start or text[start - 1] == " " or _edge(self.left).match(text, start)
            if begins and (end == len(text) or text[end] in _PLAIN_AFTER or _edge(self.right).match(text, end)):
                yield start, end
            start = text.find(plain, start + 1)

    def is_in(self, text: str) -> bool:
        return any(True for _ in self.occurrences(text))


@functools.lru_cache(maxsize=64)
def _edge(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _left(plain: str) -> str:
    first = plain[0]
    if not first.isascii():
        if re.match(f"[{RUNNING}]", first):
            return ""
        for script in (KATAKANA, HANGUL):
            if re.match(f"[{script}]", first):
                return f"(?<![{script}])"
    if len(plain) == 1:
        return rf"(?<!{_one_of_words('&.')})(?<!\w[{_APOSTROPHES}\-])"
    # Not within a domain, an address, or a longer dotted name.
    return rf"(?<!{_one_of_words('' if _is_word(first) else '.')})(?<!\w[.@])"


def _right(plain: str) -> str:
    last = plain[-1]
    if not last.isascii():
        if re.match(f"[{RUNNING}]", last):
            return ""
        if re.match(f"[{KATAKANA}]", last):
            return f"(?![{KATAKANA}])"
        if re.match(f"[{HANGUL}]", last):
            return f"(?=(?:{_KOREAN_ENDINGS})?(?![{HANGUL}]))"
    if not _is_word(last):
        # A version may follow directly: C++20.
        return rf"(?!(?!\d)(?:{_WORD})|[+#])"
    if len(plain) == 1:
        return rf"(?!{_WORD}|[&\-{_APOSTROPHES}+#]|\.\w)"
    return rf"(?!{_WORD}|[+#]+(?!\w)|\.[^\W\d])"


def _one_of_words(more: str) -> str:
    return rf"[^\W{UNSPACED}]|[{MARKS}{re.escape(more)}]"


def _is_word(character: str) -> bool:
    return bool(re.match(r"\w", character)) or bool(re.match(f"[{MARKS}]", character))
