"""One name, or any phrase, between its boundaries in folded text, in any script. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from services.tools.folding import HANGUL, KATAKANA, MARKS, RUNNING, UNSPACED

_WORD = rf"[^\W{UNSPACED}]|[{MARKS}]"
_KOREAN_ENDINGS = (
    "은|는|이|가|을|를|의|에|에서|에게|와|과|도|로|으로|만|까지|부터|보다|처럼|이나|나|라는|이라는|란|측|사|들|이다"
)
_APOSTROPHES = "'\u2019"
_PLAIN_AFTER = frozenset(" ,;!?)")


@dataclass(frozen=True, slots=True)
class Phrase:
    """`plain` is normalised (models.tool.normalize_name)."""

    plain: str
    left: str
    right: str

    @classmethod
    def of(cls, plain: str) -> Phrase:
        return cls(plain, _left(plain), _right(plain))

    def spots(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it stands in folded text."""
        plain, length = self.plain, len(self.plain)
        start = text.find(plain)
        while start >= 0:
            end = start + length
            begins = not start or text[start - 1] == " " or _edge(self.left).match(text, start)
            if begins and (end == len(text) or text[end] in _PLAIN_AFTER or _edge(self.right).match(text, end)):
                yield start, end
            start = text.find(plain, start + 1)

    def is_in(self, text: str) -> bool:
        return any(True for _ in self.spots(text))


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
        # A version may follow at once: C++20.
        return rf"(?!(?!\d)(?:{_WORD})|[+#])"
    if len(plain) == 1:
        return rf"(?!{_WORD}|[&\-{_APOSTROPHES}+#]|\.\w)"
    return rf"(?!{_WORD}|[+#]+(?!\w)|\.[^\W\d])"


def _one_of_words(more: str) -> str:
    return rf"[^\W{UNSPACED}]|[{MARKS}{re.escape(more)}]"


def _is_word(character: str) -> bool:
    return bool(re.match(r"\w", character)) or bool(re.match(f"[{MARKS}]", character))
