"""A program of its own: reads a page from stdin and writes as JSON what is on it: text, headings, links, marks.

It runs in a process that can be ended: no parser of HTML bounds its own time. A tag with 100,000 attributes takes
resiliparse 15 seconds, readability 30 and trafilatura 60. It imports nothing of the app, so that it starts fast, and
decides nothing: services/documents/judging.py does. docs/adr/0038-documents.md has the measurements.

stdin is a line of JSON (`charset`, `main`, `drop`) and the bytes of the page.
"""

from __future__ import annotations

import codecs
import json
import sys
import unicodedata
from contextlib import suppress
from typing import Any

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding
from resiliparse.parse.html import HTMLTree

CPU_SECONDS = 4
MEMORY_BYTES = 1_000_000_000
MAX_TEXT = 200_000
MAX_FIELD = 500
"""Characters of a title or a heading."""
MAX_URL = 2_000

DROPPED = (
    *("figcaption", "amp-consent", "amp-sidebar", "[role=dialog]", "[aria-hidden=true]"),
    *(".author-bio", ".byline", ".newsletter", ".related", ".share-buttons", ".sharedaddy", ".comments-area"),
)
"""Left out on every site: beside the text, not of it."""

PAYWALL = (
    *("[class*=paywall]", "[id*=paywall]", "[data-paywall]", "[class*=piano-offer]", "[class*=subscriber-only]"),
    *("[class*=metered-content]", "[class*=regwall]"),
)
CONSENT = (
    *("form[action*=consent]", "[class*=consent-page]", "[id*=consent-page]", "#CybotCookiebotDialog"),
    *("[class*=cmp-container]", "[id*=sp_message_container]", "[id*=onetrust]", "[id*=cookie-banner]"),
)

_MARKED = ("article", "main", "[itemprop=articleBody]", ".entry-content")


def main() -> None:
    _limit()
    head, _, body = sys.stdin.buffer.read().partition(b"\n")
    sys.stdout.write(json.dumps(read_page(body, **json.loads(head))))


def read_page(body: bytes, charset: str = "", main: str = "", drop: list[str] | None = None) -> dict[str, Any]:
    """What is on the page. `main` is the selector of the text; empty: the main content is found by the extractor."""
    encoding, text = decoded(body, charset)
    tree = HTMLTree.parse(text)
    root: Any = tree.document
    found: dict[str, Any] = {
        "encoding": encoding,
        "title": _cut(tree.title),
        "headings": [_cut(each.text) for each in root.query_selector_all("h1, h2")[:10]],
        "base": "",
        "canonical": "",
        "amphtml": "",
        "meta": {},
        "shape": _shape(tree),
        "free": not _is_marked_not_free(root),
        "paywall": _matches(root, PAYWALL),
        "consent": _matches(root, CONSENT),
    }
    if (base := root.query_selector("base[href]")) is not None:
        found["base"] = (base.getattr("href") or "")[:MAX_URL]
    for link in root.query_selector_all("link[rel][href]")[:200]:
        for name in {"canonical", "amphtml"}.intersection((link.getattr("rel") or "").lower().split()):
            found[name] = found[name] or (link.getattr("href") or "").strip()[:MAX_URL]
    for meta in root.query_selector_all("meta[content]")[:200]:
        name = (meta.getattr("name") or meta.getattr("property") or meta.getattr("http-equiv") or "").strip().lower()
        if name:
            found["meta"].setdefault(name[:60], _cut(meta.getattr("content")))
    found["main_found"], found["text"] = _text(tree, main, [*DROPPED, *(drop or ())])
    return found


def decoded(body: bytes, charset: str) -> tuple[str, str]:
    """The page as text, and the encoding that it was read in. Servers and pages name wrong ones: what is valid UTF-8 is
    UTF-8."""
    for named in (json.detect_encoding(body), charset, detect_encoding(body, from_html_meta=True) or ""):
        with suppress(LookupError, UnicodeError):
            name = codecs.lookup(named).name
            return name, body.decode(name)
    name = detect_encoding(body) or "utf-8"
    return name, bytes_to_str(body, name, errors="replace")


def _text(tree: Any, main: str, dropped: list[str]) -> tuple[bool, str]:
    """Whether the profile's selector was found, and the text: one paragraph in a line."""
    options = {"alt_texts": False, "links": False, "form_fields": False, "noscript": False, "list_bullets": False}
    if not main:
        text = extract_plain_text(tree, main_content=True, comments=False, skip_elements=dropped, **options)
        return True, _composed(text)
    parts = [each.outer_html for each in tree.document.query_selector_all(main)[:50]]
    part = HTMLTree.parse("".join(parts))
    return bool(parts), _composed(extract_plain_text(part, main_content=False, skip_elements=dropped, **options))


def _composed(text: str) -> str:
    """In the form NFC. Done here, since 200,000 combining marks in a row take 20 seconds."""
    return unicodedata.normalize("NFC", text[:MAX_TEXT])


def _shape(tree: Any) -> str:
    """What the pages of one site have in common: its generator, its kinds of metadata, the classes of its body."""
    root, names = tree.document, set[str]()
    for meta in root.query_selector_all("meta")[:200]:
        names.add((meta.getattr("name") or meta.getattr("property") or "").lower()[:60])
    generator = root.query_selector("meta[name=generator]")
    makes = (generator.getattr("content") or "").split()[:1] if generator is not None else []
    marks = [each for each in _MARKED if root.query_selector(each) is not None]
    return " ".join([*makes, *sorted(names - {""}), *marks])


def _is_marked_not_free(root: Any) -> bool:
    """Whether the page says in its structured data that its text is not free."""
    for script in root.query_selector_all("script[type='application/ld+json']")[:20]:
        text = "".join((script.text or "")[:200_000].split()).lower()
        if '"isaccessibleforfree":false' in text or '"isaccessibleforfree":"false"' in text:
            return True
    return False


def _matches(root: Any, selectors: tuple[str, ...]) -> bool:
    return any(root.query_selector(each) is not None for each in selectors)


def _cut(text: str | None) -> str:
    return " ".join((text or "").split())[:MAX_FIELD]


def _limit() -> None:
    """Bounds time and memory of this process, where the system can."""
    try:
        import resource
    except ImportError:  # Windows: the caller ends the process
        return
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


if __name__ == "__main__":
    main()
