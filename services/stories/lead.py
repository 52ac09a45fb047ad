"""The lead of an article: the first words of its text that are the article's own. Pure.

Texts often begin with the headline, an agency's line, a menu, or a notice about cookies, subscriptions or scripts. Two
articles that share only those are not alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from services.parse.words import words_of
from services.stories.headline import stem
from services.stories.terms import FUNCTION_WORDS, NOTICES

MOST_WORDS = 100
"""The words of a lead that are compared."""
FEWEST_WORDS = 6
"""A shorter lead says too little."""
READ = 900
"""Characters at the start of a text that are read to find the lead; further ones if the lead does not begin there."""
READ_FURTHER = 3_000

_WINDOW = 12
"""Words that are looked at together to tell prose from a menu."""
_MOST_CAPITALS = 7
"""In a window of prose. In a menu, nearly every word begins with a capital."""

_AGENCY = re.compile(r"\s*[A-Z\u00c0-\u00de][^\n(]{1,40}\((?:[A-Z][\w./ ]{1,20})\)\s*[-\u2013\u2014]+\s*")
"""Such as "LONDON, May 28 (Reuters) - "."""
_SHARING = re.compile(
    r"\b(?:share|tweet|pin|send)(?: (?:this|it))?(?: (?:article|story|post|page))? (?:on|via|to|by|with) "
    r"(?:facebook|twitter|x|linkedin|reddit|whatsapp|pinterest|telegram|bluesky|threads|flipboard|e-?mail)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?\u2026\u3002\uff01\uff1f])\s*(?=\S)|\s{2,}|\s[|\u2022\u00b7\u00bb\u203a]\s")
_CASED_WORD = re.compile(r"[^\W_]+(?:['\u2019.,-][^\W_]+)*")
_IN_NOTICES = frozenset(stem(max(words_of(notice), key=len)) for notice in NOTICES)
"""A word of each notice: most texts have none of them."""


def lead_of(text: str, headline: Sequence[str]) -> list[str]:
    """The words of the lead, without a repetition of the headline's words before it. Empty if the text has none."""
    text = _without_agency(text)
    words = words_of(text[:READ])
    if not _IN_NOTICES.isdisjoint(map(stem, words)) or _is_menu(text[:READ]):
        words = words_of(_without_menu(_without_notices(_without_menu(text[:READ_FURTHER])))[:READ])
    if len(headline) > 2 and words[: len(headline)] == list(headline):
        words = words[len(headline) :]
    return words[:MOST_WORDS] if len(words) >= FEWEST_WORDS else []


def _without_agency(text: str) -> str:
    line = _AGENCY.match(text)
    return text if line is None else text[line.end() :]


def _without_notices(text: str) -> str:
    """Without the sentences that ask for consent, a subscription, a login or scripts."""
    if not _is_notice(text):
        return text
    sentences = _SENTENCE_END.split(_SHARING.sub("", text))
    return ". ".join(each for each in sentences if not _is_notice(each))


def _is_notice(text: str) -> bool:
    return any(map(text.lower().__contains__, NOTICES))


def _is_menu(text: str) -> bool:
    return sum(each[0][0].isupper() for each in islice(_CASED_WORD.finditer(text), _WINDOW)) > _MOST_CAPITALS


def _without_menu(text: str) -> str:
    """From where prose begins. Menus, titles and names before it have a capital at nearly every word."""
    if not _is_menu(text):
        return text
    found = list(_CASED_WORD.finditer(text))
    capital = [each[0][0].isupper() for each in found]
    for at in range(1, len(found) - _WINDOW + 1):
        begins = capital[at] and not capital[at + 1]
        if begins and sum(capital[at : at + _WINDOW]) <= _MOST_CAPITALS and _has_function_word(found, at):
            return text[found[at].start() :]
    return ""


def _has_function_word(found: Sequence[re.Match[str]], at: int) -> bool:
    return any(each[0] in FUNCTION_WORDS for each in found[at : at + _WINDOW])
