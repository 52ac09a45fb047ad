"""Normalizes text as names are normalized, and finds phrases in normalized text, in any script.

Case, compatibility forms and runs of spaces become alike; each span can be mapped back to the original.
detector.py decides which matches count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

HANGUL = "\u1100-\u11ff\uac00-\ud7a3"
KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff"
RUNNING = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u309f\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Scripts without spaces, in which a name may begin and end anywhere: Thai, Lao, Burmese, Khmer, Hiragana, Han."""
UNSPACED = f"{RUNNING}{KATAKANA}{HANGUL}"

# Combining marks such as vowel signs. They belong to their word, but Python's \w does not match them.
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
class NormalizedText:
    """A text that is normalised for the search.

    `origins[n]` is the index in `original` of the character n of `text`; None if both have the same indexes.
    """

    original: str
    text: str
    origins: Sequence[int] | None

    def original_span(self, start: int, end: int) -> Span:
        """The span in the original of a span in `text`. It ends with the last character, without spaces after it."""
        if self.origins is None:
            return Span(start, end)
        last = self.origins[end - 1]
        return Span(self.origins[start], last + max(1, self.origins[end] - last))


def without_urls(text: str) -> str:
    """The text with spaces in place of each URL: a name in a URL is not a mention."""
    return _URL.sub(lambda found: " " * len(found[0]), text) if "://" in text else text


def normalize(original: str) -> NormalizedText:
    """The text without its URLs, normalized as models.tool.normalize_name normalizes a name."""
    bare = without_urls(original)
    is_ascii = original.isascii()
    text, origins = bare.lower() if is_ascii else bare.casefold(), None
    if not is_ascii and (len(text) != len(original) or not unicodedata.is_normalized("NFKC", bare)):
        text, origins = _casefolded(bare)
    # These searches are faster than one regular expression.
    if any(space in text for space in (_ODD_ASCII_SPACES if is_ascii else _ODD_SPACES)):
        text, origins = _squeezed(text, origins)
    return NormalizedText(original, text, origins)


def _casefolded(bare: str) -> tuple[str, list[int]]:
    parts: list[str] = []
    origins: list[int] = []
    for cluster in _CLUSTER.finditer(bare):
        if cluster[0].isascii():
            parts.append(cluster[0].lower())
            origins += range(*cluster.span())
            continue
        normalized = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", cluster[0]).casefold())
        parts.append(normalized)
        origins += [cluster.start()] * len(normalized)
    origins.append(len(bare))
    return "".join(parts), origins


def _squeezed(text: str, origins: Sequence[int] | None) -> tuple[str, list[int]]:
    """The text with one space for each run of spaces of any kind, as in names."""
    origins = origins if origins is not None else range(len(text) + 1)
    kept: list[int] = []
    parts: list[str] = []
    start = 0
    for run in _SPACES.finditer(text):
        parts += (text[start : run.start()], " ")
        kept.extend(origins[start : run.start() + 1])
        start = run.end()
    parts.append(text[start:])
    kept.extend(origins[start:])
    return "".join(parts), kept


def has_unspaced(text: str) -> bool:
    """Whether some of the text is in a script that does not separate all words by spaces."""
    return _UNSPACED_RUN.search(text) is not None


def tokens(text: str, *, unspaced: bool = True) -> set[str]:
    """The words of the text: a name whose words are not all among them cannot be in the text.

    With `unspaced`, also every character and every two adjacent characters of scripts without spaces.
    """
    if text.isascii():
        return set(text.translate(_ASCII_WORDS).split())
    found = set(_SPACED_WORD.findall(text))
    for run in _UNSPACED_RUN.findall(text) if unspaced else ():
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

    `plain` is normalized by models.tool.normalize_name.
    """

    plain: str
    left: re.Pattern[str]
    right: re.Pattern[str]

    @classmethod
    def of(cls, plain: str) -> Phrase:
        return cls(plain, re.compile(_left(plain)), re.compile(_right(plain)))

    def occurrences(self, text: str) -> Iterator[tuple[int, int]]:
        """The spans of the phrase in normalized text."""
        plain, length = self.plain, len(self.plain)
        start = text.find(plain)
        while start >= 0:
            end = start + length
            begins = not start or text[start - 1] == " " or self.left.match(text, start)
            if begins and (end == len(text) or text[end] in _PLAIN_AFTER or self.right.match(text, end)):
                yield start, end
            start = text.find(plain, start + 1)

    def is_in(self, text: str) -> bool:
        return any(True for _ in self.occurrences(text))


def _left(plain: str) -> str:
    first = plain[0]
    script = _unspaced_script(first)
    if script:
        return "" if script == RUNNING else f"(?<![{script}])"
    if len(plain) == 1:
        return rf"(?<!{_one_of_words('&.')})(?<!\w[{_APOSTROPHES}\-])"
    # Not within a domain, an address, or a longer dotted name.
    return rf"(?<!{_one_of_words('' if _is_word(first) else '.')})(?<!\w[.@])"


def _right(plain: str) -> str:
    last = plain[-1]
    script = _unspaced_script(last)
    if script:
        particle = rf"(?:{_KOREAN_ENDINGS})?" if script == HANGUL else ""
        return "" if script == RUNNING else f"(?={particle}(?![{script}]))"
    if not _is_word(last):
        # A version may follow directly: C++20.
        return rf"(?!(?!\d)(?:{_WORD})|[+#])"
    if len(plain) == 1:
        return rf"(?!{_WORD}|[&\-{_APOSTROPHES}+#]|\.\w)"
    return rf"(?!{_WORD}|[+#]+(?!\w)|\.[^\W\d])"


def _unspaced_script(character: str) -> str:
    """The script without spaces to which the character belongs, if any."""
    scripts = () if character.isascii() else (RUNNING, KATAKANA, HANGUL)
    return next((script for script in scripts if re.match(f"[{script}]", character)), "")


def _one_of_words(more: str) -> str:
    return rf"[^\W{UNSPACED}]|[{MARKS}{re.escape(more)}]"


def _is_word(character: str) -> bool:
    return re.match(rf"\w|[{MARKS}]", character) is not None
