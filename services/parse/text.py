"""Plain text: HTML to text, headlines, publishers' names at the end of headlines, and words as they are compared.

Not a sanitiser of HTML. Every function takes time linear in its input, since texts are not trusted.
"""

from __future__ import annotations

import html
import html.entities
import re
import unicodedata
import zlib
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

_BLOCK_NAMES = (
    "address article aside blockquote br caption center dd details dialog div dl dt fieldset figcaption figure footer "
    "form h1 h2 h3 h4 h5 h6 header hr legend li main menu nav ol option p pre section select summary table tbody td "
    "tfoot th thead tr ul video audio iframe img"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_INVISIBLE = "applet|audio|head|iframe|noembed|noscript|object|script|select|style|svg|template|textarea|video"
"""Elements whose content is not shown as text. Without an end tag, the content extends to the end of the document, as
in browsers."""

_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_CLOSED_TAG = re.compile(r"</([a-zA-Z][a-zA-Z0-9]*)>")
_ANY_TAG = re.compile(r"</?(\w+)")
_INLINE_NAMES = (
    "a abbr acronym area b bdo big blink button canvas cite code col colgroup command datagrid datalist del dfn dir em "
    "event-source font i input ins kbd keygen label m map mark meter multicol nextid noscript optgroup output progress "
    "q s samp small sound source spacer span strike strong sub sup textarea time tt u var wbr"
)
_FORMATTING = _BLOCKS.union(_INLINE_NAMES.split())
"""The elements by which feedparser recognizes HTML in a title that is declared as plain text."""

_TAG_END = r"""(?>(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+>|[^>]*+(?:>|\Z))"""
"""A tag ends at the first `>` that is not within quotes; of quotes that are not closed before the next `<`, at the
first `>`."""
_MARKUP = re.compile(
    rf"<(?:!(?=--)(?:.*?-->|.*)|[!?][^>]*+(?:>|\Z)"
    rf"|({_INVISIBLE})(?![a-z0-9]){_TAG_END}(?<!/>)(?:.*?</\1\b{_TAG_END}|.*)"
    rf"|/?([a-z][a-z0-9]*+){_TAG_END})",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
"""A comment, an element that is not shown, or a tag, which the second group names."""


class _Gaps(dict[str | None, str]):
    """The text that replaces a tag, by its name: nothing for most."""

    def __missing__(self, name: str | None) -> str:
        return self.get(name.lower(), "") if name else ""


FENCE = "```"
"""Stands for the start and the end of <pre>, as in Markdown, so that code is known in the plain text."""
_GAPS = _Gaps({name: f" {FENCE} " if name == "pre" else " " for name in _BLOCKS})

MAX_HTML = 1_000_000
ROUNDS = 3
"""How often a title is unescaped: some publishers escape it two or three times."""


def html_to_text(source: str) -> str:
    """The text of HTML on one line, without tags, comments, scripts and styles, and with entities decoded.

    Tags of blocks separate words, those of <pre> become fences; inline tags leave nothing. Markup without an end is
    dropped.
    """
    source = source[:MAX_HTML]
    if "<" in source:
        pieces = _MARKUP.split(source)  # text, the name of what is not shown, the name of a tag, text, …
        pieces[1::3] = [" " if name else "" for name in pieces[1::3]]
        pieces[2::3] = map(_GAPS.__getitem__, pieces[2::3])
        source = "".join(pieces)
    return one_line(unescape(source))


def headline_text(title: str, *, is_html: bool) -> str:
    """A title as plain text on one line, even if its publisher escaped it twice.

    A title that is declared as plain text is treated as such, unless it looks like HTML; but entities are always
    decoded, since a headline with a literal `&amp;` is a mistake of its publisher.
    """
    if "<" not in title and "&" not in title:
        return one_line(title)
    for _ in range(ROUNDS):
        if is_html or looks_like_html(title):
            title = html_to_text(title)
            is_html = False
            continue
        unescaped = unescape(title)
        if unescaped == title:
            break
        title = unescaped
    return one_line(title)


def looks_like_html(text: str) -> bool:
    """Whether text that is declared as plain is HTML after all, by feedparser's rule: it has an end tag or an entity,
    and all its tags and entities are known."""
    if not _CLOSED_TAG.search(text) and not _ENTITY.search(text):
        return False
    if any(name.lower() not in _FORMATTING for name in _ANY_TAG.findall(text)):
        return False
    return all(_character(entity) is not None for entity in _ENTITY.findall(text))


def unescape(text: str) -> str:
    """Decodes character references once; only those that end in `;`, so that `?a=1&copy=2` stays as it is."""
    if "&" not in text:
        return text
    return _ENTITY.sub(_decode, text)


def one_line(text: str) -> str:
    """White space of any kind becomes single spaces; control characters and lone surrogates are removed."""
    if text.isprintable():  # so its only white space is spaces
        while "  " in text:
            text = text.replace("  ", " ")
        return text.strip(" ")
    return " ".join(_CONTROL.sub("", text).split())


def _decode(entity: re.Match[str]) -> str:
    character = _character(entity[0])
    return entity[0] if character is None else character


@lru_cache(maxsize=1024)
def _character(entity: str) -> str | None:
    return html.unescape(entity) if entity[1] == "#" else html.entities.html5.get(entity[1:])


_CP1252 = {
    byte: bytes([byte]).decode("cp1252") for byte in range(0x80, 0xA0) if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}


def repaired(text: str | None) -> str:
    """The text of an XML element as feedparser returns it: stripped, UTF-8 that was read as Latin-1 decoded again, and
    Windows-1252 characters corrected."""
    if not text:
        return ""
    text = text.strip()
    # Both mistakes leave characters from U+0080 to U+00BF. Only the UTF-8 of these begins with this byte.
    if text.isascii() or b"\xc2" not in text.encode():
        return text
    with suppress(UnicodeError):
        text = text.encode("iso-8859-1").decode()
    return text.translate(_CP1252)


_SEPARATORS = frozenset(
    ["-", "\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2015", "|", "\u00b7", "\u2022", "::"]
)
_LONGEST_NAME = 60
_DOMAIN = re.compile(
    r"(?:www\.)?([a-z0-9-]+(?:\.[a-z0-9-]+)*?)\.(?:(?:com?|org|net)\.[a-z]{2}|com|org|net|info|news|[a-z]{2})"
)
_NOT_NAME = re.compile(r"[\W_]+")


def strip_publisher(headline: str, names: Iterable[str | None] = ()) -> str:
    """`headline` without a publisher's name at its end ("… - Reuters", "… | CNBC"), so that copies are found.

    Only one of `names` or a well-known name is removed: any other tail may be part of the headline proper. Names are
    compared without case, punctuation, a leading "the" and a domain's ending: "Reuters", "reuters.com" and "The
    Reuters" are equal. At least one word is left. Two names at most are removed: "… - Reuters | CNBC".
    """
    if _SEPARATORS.isdisjoint(headline.split(" ")):
        return headline
    own: set[str] | None = None
    for _ in range(2):
        head, tail = _last_tail(headline)
        if not tail or len(tail) > _LONGEST_NAME:
            break
        key = publisher_key(tail)
        if key not in _PUBLISHERS:
            own = {publisher_key(name) for name in names if name} if own is None else own
            if not key or key not in own:
                break
        if not any(character.isalnum() for character in head):
            break
        headline = head
    return headline


def _last_tail(headline: str) -> tuple[str, str]:
    words = headline.split(" ")
    for at in range(len(words) - 2, 0, -1):
        if words[at] in _SEPARATORS:
            return " ".join(words[:at]).rstrip(), " ".join(words[at + 1 :]).strip()
    return headline, ""


def is_publisher(name: str) -> bool:
    """Whether the name is a well-known publisher's."""
    return publisher_key(name) in _PUBLISHERS


def publisher_key(name: str) -> str:
    """What equal names of a publisher have in common."""
    name = name.casefold().strip()
    domain = _DOMAIN.fullmatch(name)
    if domain is not None:
        name = domain[1]
    return _NOT_NAME.sub("", name.removeprefix("the "))


_PUBLISHERS = frozenset(map(publisher_key, Path(__file__).with_name("publishers.txt").read_text("utf-8").splitlines()))


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
    return zlib.crc32(text.encode()) * 0x9E3779B1 & 0xFFFFFFFF
