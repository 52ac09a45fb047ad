"""Language tags as feeds write them (`de-AT`, `pt_BR`, `eng`), as primary subtags of BCP 47."""

from __future__ import annotations

import re
from functools import lru_cache

_TAG = re.compile(r"\s*([A-Za-z]{2,3})(?:[-_][A-Za-z0-9-_]*)?\s*")
_NOT_A_LANGUAGE = frozenset({"und", "mul", "zxx", "mis"})
_SAME = {
    "nb": "no",
    "nn": "no",
    "iw": "he",
    "in": "id",
    "cmn": "zh",
    "jp": "ja",
    "cn": "zh",
    "ara": "ar",
    "chi": "zh",
    "deu": "de",
    "dut": "nl",
    "eng": "en",
    "fra": "fr",
    "fre": "fr",
    "ger": "de",
    "ita": "it",
    "jpn": "ja",
    "kor": "ko",
    "nld": "nl",
    "pol": "pl",
    "por": "pt",
    "rus": "ru",
    "spa": "es",
    "swe": "sv",
    "tur": "tr",
    "zho": "zh",
}
"""Other tags of a language: both forms of Norwegian, withdrawn tags, tags of three letters, and countries that feeds
write instead of their language."""


@lru_cache(maxsize=1024)
def primary_subtag(tag: str) -> str:
    """The language of a tag, empty if it names none."""
    found = _TAG.fullmatch(tag) if len(tag) <= 100 else None
    subtag = found[1].lower() if found is not None else ""
    return "" if subtag in _NOT_A_LANGUAGE else _SAME.get(subtag, subtag)
