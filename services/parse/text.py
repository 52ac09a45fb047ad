"""HTML to plain text: for headlines, and for what is shown or scored. Never a sanitiser: what comes out is text.

Every function is linear in its input, whatever the input is: texts come from strangers.
"""

from __future__ import annotations

import html.entities
import re
from functools import lru_cache

_BLOCK_NAMES = (
    "address article aside blockquote br caption center dd details dialog div dl dt fieldset figcaption figure footer "
    "form h1 h2 h3 h4 h5 h6 header hr legend li main menu nav ol option p pre section select summary table tbody td "
    "tfoot th thead tr ul video audio iframe img"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_INVISIBLE_NAMES = "applet audio head iframe noembed noscript object script select style svg template textarea video"
_INVISIBLE = {name: re.compile(rf"</{name}\b", re.IGNORECASE) for name in _INVISIBLE_NAMES.split()}
"""Elements whose content is no prose; without an end tag all that follows is theirs, as browsers have it."""

_TAG_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9]*")
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
"""All that feedparser takes for HTML in a nominally plain title."""

# A tag whose attributes hold no < or > within their quotes ends at the first >.
_PLAIN_TAG = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]*)(?:>|(?=[\s/])[^<>\"']*(?:(?:\"[^\"<>]*\"|'[^'<>]*')[^<>\"']*)*>)")


class _Plain(dict[str, str]):
    """What stands in the place of a tag that nearly all markup consists of; anything else is read tag by tag."""

    def __missing__(self, name: str) -> str:
        return self.get(name.lower(), "<")


_PLAIN = _Plain({name: " " if name in _BLOCKS else "" for name in _FORMATTING - _INVISIBLE.keys()})

MAX_HTML = 1_000_000
ROUNDS = 3
"""How often text that is markup once more after unescaping is read again: publishers escape twice, seldom thrice."""


def html_to_text(source: str) -> str:
    """The words of a piece of HTML on one line: tags, comments, scripts and styles gone, entities read.

    Tags between blocks separate words; tags within a line do not. Markup that never ends is dropped to the end.
    """
    source = source[:MAX_HTML]
    if "<" in source:
        pieces = _PLAIN_TAG.split(source)  # text, a tag's name, text, …
        pieces[1::2] = map(_PLAIN.__getitem__, pieces[1::2])
        for between in range(2, len(pieces) - 1, 2):
            if not pieces[between] and pieces[between - 1] == " " == pieces[between + 1]:
                pieces[between - 1] = ""  # one space is enough, and looking for two takes longer than this
        plain = "".join(pieces)
        source = plain if "<" not in plain else _without_tags(source)
    return one_line(unescape(source))


def headline_text(title: str, *, is_html: bool) -> str:
    """A title as plain text on one line, also if its publisher escaped it twice.

    A title that says it is plain text is taken at its word, unless it reads like HTML (`looks_like_html`); but no
    headline is meant to show `&amp;`.
    """
    for _ in range(ROUNDS):
        if "<" not in title and "&" not in title:
            break
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
    """Whether text that is nominally plain is HTML after all; errs towards "no", as feedparser's own guess does.

    An end tag or an entity must be there, and all that is there must be known.
    """
    if not _CLOSED_TAG.search(text) and not _ENTITY.search(text):
        return False
    if any(name.lower() not in _FORMATTING for name in _ANY_TAG.findall(text)):
        return False
    return all(_character(entity) is not None for entity in _ENTITY.findall(text))


def unescape(text: str) -> str:
    """Character references read once. Only those that end in `;`: `?a=1&copy=2` stays what it is."""
    if "&" not in text:
        return text
    return _ENTITY.sub(_read, text)


def one_line(text: str) -> str:
    """White space of any kind collapsed to single spaces; control characters and lone surrogates gone."""
    if text.isprintable():  # so there is no other white space than spaces
        while "  " in text:
            text = text.replace("  ", " ")
        return text.strip(" ")
    return " ".join(_CONTROL.sub("", text).split())


def _read(entity: re.Match[str]) -> str:
    return _character(entity[0]) or entity[0]


@lru_cache(maxsize=1024)
def _character(entity: str) -> str | None:
    name = entity[1:]
    if name.startswith("#"):
        number = int(name[2:-1], 16) if name[1] in "xX" else int(name[1:-1])
        if 0x80 <= number <= 0x9F:  # what Windows-1252 has there is meant, in browsers too
            return bytes([number]).decode("cp1252", "ignore")
        valid = number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF
        return chr(number) if valid else "\ufffd"
    return html.entities.html5.get(name)


def _without_tags(source: str) -> str:
    kept: list[str] = []
    position, length = 0, len(source)
    while position < length:
        start = source.find("<", position)
        if start < 0:
            kept.append(source[position:])
            break
        kept.append(source[position:start])
        position, gap = _skip_markup(source, start)
        kept.append(gap)
    return "".join(kept)


def _skip_markup(source: str, start: int) -> tuple[int, str]:
    """Where the markup at `start` ends, and what stands in its place."""
    following = source[start + 1 : start + 2]
    if following in ("!", "?"):
        ending = "-->" if source.startswith("<!--", start) else ">"
        end = source.find(ending, start + 2)
        return (end + len(ending) if end >= 0 else len(source)), ""
    name_at = start + 2 if following == "/" else start + 1
    match = _TAG_NAME.match(source, name_at)
    if match is None:
        return start + 1, "<"
    name = match[0].lower()
    end = _tag_end(source, match.end())
    invisible = _INVISIBLE.get(name) if following != "/" and source[end - 2 : end] != "/>" else None
    if invisible is not None:
        closing = invisible.search(source, end)
        end = _tag_end(source, closing.end()) if closing else len(source)
        return end, " "
    return end, " " if name in _BLOCKS else ""


def _tag_end(source: str, position: int) -> int:
    """Behind the `>` that ends a tag; one within quotes does not, if the quotes close before the next `<`."""
    end = source.find(">", position)
    if end < 0:
        return len(source)
    for quote in "\"'":
        if source.count(quote, position, end) % 2:
            following = source.find("<", end)
            closing = source.find(quote, end, following if following >= 0 else len(source))
            behind = source.find(">", closing) if closing >= 0 else -1
            if behind >= 0:
                return behind + 1
    return end + 1
