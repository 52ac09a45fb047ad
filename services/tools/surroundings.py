"""One occurrence of a name with the words of its sentence, and what their case says. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from services.tools.lexicon import CUES
from services.tools.matching import UNSPACED, has_unspaced

BESIDE = 100
"""How many characters before and after a name belong to its sentence at most."""
MAX_CAPITALISED = 0.7
"""From this share of capitalised words, a text is in headline case, and a capital says little."""

MIN_FOREIGN = 2
"""From this number of small words of another language, a sentence is not English."""

_FOREIGN = CUES["another language"]
_TOKEN = re.compile(
    rf"(?:Mr|Mrs|Ms|Dr|St|Sen|Rep|Gov|vs|Inc|Prof)\.|\d[\w.,%]*|[^\W\d_{UNSPACED}](?:[\w'\u2019+#]|[.\-](?=\w))*"
    rf"|`|[^\w\s]|[{UNSPACED}]"
)
_ABBREVIATED = "".join(rf"(?<!\b{each})" for each in ("Mr", "Ms", "Mrs", "Dr", "St", "vs", r"U\.S", "Sen", "Rep"))
_SENTENCE_END = re.compile(rf"{_ABBREVIATED}[.!?]['\"\u201d\u2019)]*\s+(?=[\"\u201c\u2018'(]?[A-Z0-9`])|\x00|\n")
_BEFORE_SENTENCE = frozenset('.!?:-|"([;`\u2013\u2014\u2018\u201c\u2022\u00bb')
_POSSESSIVE = ("'s", "\u2019s")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """An occurrence of `name`, as `written`. `left` and `right` are the text beside it within its sentence, `before`
    and `after` the words and signs in them, the nearest first."""

    name: str
    written: str
    left: str
    right: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    is_headline_case: bool
    is_foreign: bool
    is_all_capitals: bool

    @classmethod
    def of(cls, name: str, text: str, start: int, end: int) -> Surroundings:
        left, right = text[max(0, start - BESIDE) : start], text[end : end + BESIDE]
        for sentence_end in _SENTENCE_END.finditer(left):
            begins = sentence_end.end()
            left = " " * begins + left[begins:]
        over = _SENTENCE_END.search(right)
        right = right[: over.start() + 1] if over else right
        before = _TOKEN.findall(left)
        after = _TOKEN.findall(right[2:] if right.startswith(_POSSESSIVE) else right)
        # The first word of the sentence has a capital anyway.
        words = [word for word in (*before[1:], *after) if len(word) > 3 and word[0].isalpha()]
        capitalised = sum(word[0].isupper() for word in words)
        is_foreign = sum(word.lower() in _FOREIGN for word in (*before, *after)) >= MIN_FOREIGN
        longer = [word for word in (*before, *after) if len(word) > 2 and word[0].isalpha()]
        upper = sum(word.isupper() for word in longer)
        return cls(
            name,
            text[start:end],
            left,
            right,
            tuple(reversed(before)),
            tuple(after),
            # German capitalises all nouns; between Chinese characters, each Latin word is a name.
            is_headline_case=capitalised >= 1
            and capitalised >= MAX_CAPITALISED * len(words)
            and not is_foreign
            and not has_unspaced(left + right),
            is_foreign=is_foreign,
            is_all_capitals=upper >= 1 and upper >= MAX_CAPITALISED * len(longer),
        )

    @property
    def is_lower(self) -> bool:
        return self.written.islower()

    @property
    def is_possessive(self) -> bool:
        return self.right.startswith(_POSSESSIVE)

    @property
    def begins(self) -> bool:
        """Whether it begins a sentence, so that a capital says nothing."""
        return not self.before or self.before[0] in _BEFORE_SENTENCE

    @property
    def is_plain_capital(self) -> bool:
        """Whether its capital is that of a name: within a sentence whose other words are in lower case."""
        return not (self.is_lower or self.begins or self.is_headline_case or self.is_all_capitals)

    def previous(self, n: int = 0) -> str:
        """The word before it in lower case; with `n`, a word further away."""
        return _plain(self.before, n)

    def next(self, n: int = 0) -> str:
        return _plain(self.after, n)


def _plain(words: tuple[str, ...], n: int) -> str:
    return words[n].lower().replace("\u2019", "'") if n < len(words) else ""
