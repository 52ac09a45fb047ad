"""The words of headlines and leads, as they are compared: folded, without marks, numbers in one spelling. Pure."""

from __future__ import annotations

import re
import unicodedata
import zlib

_TOKEN = re.compile(r"[^\W_]+(?:[.,:](?=\d)\d+)*(?:['\u2019][^\W\d_]+)*|[%$\u20ac\u00a3]")
_UNSPACED = re.compile("([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+)")
_POSSESSIVE = re.compile("['\u2019]s$|['\u2019]")
_MARKS = re.compile("[\u0300-\u036f\u0483-\u0487\u0610-\u061a\u064b-\u065f]")
_THOUSANDS = re.compile(r",(?=\d{3}(?!\d))")


def folded(text: str) -> str:
    """Lower case, compatibility forms and accents replaced by plain letters."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", _MARKS.sub("", text))


def words_of(text: str) -> list[str]:
    """The words of a text. Scripts without spaces between words give pairs of neighbouring letters."""
    found: list[str] = []
    for token in _TOKEN.findall(folded(text)):
        if token.isascii() and token.isalpha():
            found.append(token)
        elif token[0].isdigit():
            found.append(_THOUSANDS.sub("", token))
        elif _UNSPACED.search(token):
            for part in _UNSPACED.split(token):
                if _UNSPACED.fullmatch(part):
                    found += [part[at : at + 2] for at in range(max(len(part) - 1, 1))]
                elif part:
                    found.append(part)
        else:
            found.append(_POSSESSIVE.sub("", token))
    return found


def is_unspaced(word: str) -> bool:
    """Whether it is of a script without spaces between words."""
    return _UNSPACED.fullmatch(word) is not None


def hashed(text: str) -> int:
    """32 bits that are the same in every process."""
    return hashed_bytes(text.encode())


def hashed_bytes(data: bytes) -> int:
    return zlib.crc32(data) * 0x9E3779B1 & 0xFFFFFFFF
