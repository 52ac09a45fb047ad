"""The prose of an article: its headline and text, with all else replaced by spaces of the same length. Pure.

Names of publishers, bylines, invitations to read, share or subscribe, code and stack traces say nothing about a tool.
Since the length stays, a place in the prose is the same place in the headline or text. Observations keep all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple
from urllib.parse import urlsplit

from models.article import Article
from services.articles.identity import normalize_headline
from services.mentions.not_prose import NOT_PROSE
from services.parse.text import FENCE, is_publisher, publisher_key

LONGEST_PUBLISHER = 60
MOST_PUBLISHERS = 2
"""How many names are removed from one end of a headline: `… - Reuters | CNBC`."""
CODE_SYMBOLS = 0.04
"""The least share of symbols in code. Some feeds put their whole text into <pre>: that is prose."""
FEWEST_WORDS_OF_PROSE = 8

_SEPARATOR = re.compile(r"\s+(?:[-\u2010-\u2015|\u00b7\u2022\u00bb]|::)\s+")
_PREFIX = re.compile(r"(?P<name>[^:|\u2013\u2014]{2,60}?)(?P<separator>:\s+|\s+(?:[-\u2010-\u2015|\u00bb]|::)\s+)")
_SYMBOL = re.compile(r"[{}()\[\];=<>_$|\\#*/&~^]|--|::")


class Prose(NamedTuple):
    headline: str
    text: str


def prose_of(article: Article, full_text: str | None = None) -> Prose:
    """The prose of the canonical reading, with `full_text` instead of the feed's text if there is one. The article is
    identified by its first headline without publishers' names, so that headline tells a name that only its feed's title
    has."""
    reading = article.canonical
    publishers = {reading.publisher, *(each.source_name for each in article.source_attribution.values())}
    identifying = article.normalized_headline if reading.headline == article.headline else ""
    text = (article.text_for_analysis or "") if full_text is None else full_text
    return prose_of_reading(reading.headline, text, publishers, reading.url, identifying)


def prose_of_reading(
    headline: str, text: str, publishers: Iterable[str | None], url: str, normalized_headline: str
) -> Prose:
    """The prose of one source's headline and text; for the other arguments see `headline_prose`."""
    return Prose(headline_prose(headline, publishers, url, normalized_headline), text_prose(text))


def headline_prose(
    headline: str, publishers: Iterable[str | None] = (), url: str = "", normalized_headline: str = ""
) -> str:
    """The headline without publishers' names at its ends. `publishers` are those of the article, `url` is its address.

    `normalized_headline` is the one that identifies the article, without the name and title of the feed: what it lacks
    at the end is such a name.
    """
    own = {publisher_key(each) for each in publishers if each} | _site_names(url)
    own.discard("")
    end, start = len(headline), 0
    for _ in range(MOST_PUBLISHERS):
        tail = _last(headline, end)
        if tail is None:
            break
        name = headline[tail.end() : end]
        is_title = bool(normalized_headline) and normalize_headline(headline[: tail.start()]) == normalized_headline
        if not is_title and not _is_own_or_known(name, own):
            break
        end = tail.start()
    for _ in range(MOST_PUBLISHERS):
        head = _PREFIX.match(headline, start, end)
        if head is None or not _is_prefix(head["name"], head["separator"]):
            break
        start = head.end()
    if not any(character.isalnum() for character in headline[start:end]):
        return headline
    return " " * start + headline[start:end] + " " * (len(headline) - end)


def text_prose(text: str) -> str:
    """The text without all that is not its prose."""
    text = _without_fences(text)
    for each in NOT_PROSE:
        if each.is_possible(text):
            text = each.pattern.sub(_blank, text)
    return text


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _last(headline: str, end: int) -> re.Match[str] | None:
    found = list(_SEPARATOR.finditer(headline, 0, end))
    return found[-1] if found else None


def _is_own_or_known(name: str, own: Collection[str]) -> bool:
    return len(name) <= LONGEST_PUBLISHER and (publisher_key(name) in own or is_publisher(name))


def _is_prefix(name: str, separator: str) -> bool:
    """Whether a headline begins with a publisher. `GitLab: ...` in GitLab's own feed names the product, and
    `Axios: ...` may be about a library: so only well-known names count, and before a colon only those of several words
    or in capitals."""
    return is_publisher(name) and (" " in name or name.isupper() or not separator.startswith(":"))


def _site_names(url: str) -> set[str]:
    """The name of the site in an address: `techcrunch` of `https://www.techcrunch.com/2026/…`."""
    try:
        labels = (urlsplit(url).hostname or "").split(".")
    except ValueError:
        return set()
    names = [each for each in labels[:-1] if each not in ("co", "com", "org", "net")][-1:]
    return {publisher_key(form) for each in names for form in (each, each.removeprefix("the"))}


def _without_fences(text: str) -> str:
    """Blanks code between fences, which stand for <pre>. A fence without its end is one that was cut off."""
    if FENCE not in text:
        return text
    parts = text.split(FENCE)
    parts[1::2] = [" " * len(each) if _is_code(each) else each for each in parts[1::2]]
    return (" " * len(FENCE)).join(parts)


def _is_code(block: str) -> bool:
    few = len(block.split()) < FEWEST_WORDS_OF_PROSE
    return few or len(_SYMBOL.findall(block)) >= CODE_SYMBOLS * len(block)
