"""What makes two headlines the same: normalising, the dedup key, and the ids that follow from them.

The removal of a trailing publisher's name, and when a headline is too weak to stand alone, are for ingestion to decide.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from datetime import date

_ASCII_DROPPED = re.compile(r"[^a-z0-9\s]+")
_DROPPED = re.compile(r"[^\w\s]|_")
_MAY_BE_MARK = re.compile("[\u0300-\u1fff\u20d0-\U0010ffff]")
_VARIATION_SELECTORS = range(0xFE00, 0xFE10)


def normalize_headline(headline: str) -> str:
    """Lower case, letters and digits of any script, single spaces. Empty if nothing of that kind is there.

    Marks stay with the letter that they change: Hindi without its vowel signs would be another text.
    """
    if headline.isascii():
        return " ".join(_ASCII_DROPPED.sub("", headline.lower()).split())
    headline = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", headline).lower())
    if not _MAY_BE_MARK.search(headline):  # Western European: in one go, and twice as quick
        return " ".join(_DROPPED.sub("", headline).split())
    kept: list[str] = []
    for character in headline:
        if character.isalnum() or (_is_mark(character) and kept and kept[-1] != " "):
            kept.append(character)
        elif character.isspace():
            kept.append(" ")
    return " ".join(unicodedata.normalize("NFKC", "".join(kept)).split())


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Mc") and ord(character) not in _VARIATION_SELECTORS


def dedup_key(normalized_headline: str, day: date, url: str | None = None) -> str:
    """`sha256(normalized_headline|YYYY-MM-DD)[:32]`; a URL is taken in where the headline alone says too little."""
    text = f"{normalized_headline}|{day.isoformat()[:10]}"
    return hashlib.sha256((f"{text}|{url}" if url else text).encode()).hexdigest()[:32]


def source_id(key: str) -> str:
    """The article's id across all sources."""
    return f"dedup:{key}"


def content_hash(url: str, published: str) -> str:
    """The specification's hash of one entry; `published` as ISO 8601, or whatever the source said, or nothing."""
    return hashlib.sha256(f"{url}|{published}".encode()).hexdigest()
