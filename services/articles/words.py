"""The words by which articles are found, and what a search asks for. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from models.article import Article
from models.errors import InvalidInput
from services.parse.words import words_of
from services.ports import Document

LONGEST_SEARCH = 200
MOST_WORDS = 20
"""Words of a search: each is a condition of a query."""


@dataclass(frozen=True, slots=True)
class TextSearch:
    """What a text asks for: all `words` occur, and each of `phrases` as it is written."""

    words: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()

    def accepts(self, *texts: str | None) -> bool:
        """Whether each phrase is in one of the texts, which have all words."""
        if not self.phrases:
            return True
        read = [words_of(text) for text in texts if text]
        return all(any(_has(words, phrase) for words in read) for phrase in self.phrases)


NO_SEARCH = TextSearch()


def article_words(article: Article) -> tuple[str, ...]:
    """The words of the article's headlines and of its canonical text, each once, sorted."""
    texts = (article.headline, article.canonical.headline, article.text_for_analysis or "")
    return all_words(texts)


def all_words(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({word for text in texts for word in words_of(text)}))


def accepts(search: TextSearch, document: Document) -> bool:
    """Whether a stored article that has all words of the search has its phrases."""
    if not search.phrases:
        return True
    canonical = document.get("canonical")
    reading = canonical.get("headline") if isinstance(canonical, dict) else None
    texts = (document.get("headline"), reading, document.get("text_for_analysis"))
    return search.accepts(*(each for each in texts if isinstance(each, str)))


def text_search(text: str) -> TextSearch:
    """What is between quotation marks is a phrase. Raises InvalidInput for a text that has no word, or too many."""
    if not 1 <= len(text) <= LONGEST_SEARCH:
        raise InvalidInput("text", f"1 to {LONGEST_SEARCH} characters")
    parts = text.replace("\u201c", '"').replace("\u201d", '"').split('"')
    words = dict.fromkeys(word for part in parts for word in words_of(part))
    if not 1 <= len(words) <= MOST_WORDS:
        raise InvalidInput("text", f"1 to {MOST_WORDS} words")
    # Before the first quotation mark and behind each second one are words; a last mark alone begins no phrase.
    quoted = (tuple(words_of(part)) for part in parts[1 : len(parts) - 1 : 2])
    return TextSearch(tuple(words), tuple(dict.fromkeys(phrase for phrase in quoted if len(phrase) > 1)))


def _has(words: Sequence[str], phrase: tuple[str, ...]) -> bool:
    """Whether the words of the phrase follow each other."""
    size = len(phrase)
    return any(tuple(words[start : start + size]) == phrase for start in range(len(words) - size + 1))
