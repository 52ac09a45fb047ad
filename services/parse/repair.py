"""What feedparser does to every text and link that it hands out, so that both readers hand out the same."""

from __future__ import annotations

import re
from contextlib import suppress
from urllib.parse import urljoin

_CP1252 = {
    byte: bytes([byte]).decode("cp1252") for byte in range(0x80, 0xA0) if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}
is_plain_url = re.compile(
    r"https?://[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,4})?/[!-\"$-:<->@-~]*(?:\?[!-\"$-:<-~]+)?"
).fullmatch
"""Whether a URL is sure to come out of all that follows as it is."""
is_plain_id = re.compile(r"(?:tag|urn):[A-Za-z0-9.,:_-][A-Za-z0-9/.,:_-]*").fullmatch
is_token = re.compile("[!-~]+").fullmatch
_EXTRA_SLASHES = re.compile(r"^([A-Za-z][A-Za-z0-9+-.]*://)/*")
_LOST_AMPERSAND = re.compile("&([A-Za-z0-9_]+);")


def repaired(text: str | None) -> str:
    """An element's text, stripped; UTF-8 that was taken for Latin-1 and Windows-1252 characters set right."""
    if not text:
        return ""
    text = text.strip()
    # Both mistakes leave characters from U+0080 to U+00BF behind, whose UTF-8 begins with this byte, and no other's.
    if text.isascii() or b"\xc2" not in text.encode():
        return text
    with suppress(UnicodeError):
        text = text.encode("iso-8859-1").decode()
    return text.translate(_CP1252)


def resolved(base: str, link: str) -> str:
    """An absolute URL as it is, a relative one against the document's own."""
    if is_plain_url(link) or is_plain_id(link):
        return link
    try:
        return urljoin(base, _EXTRA_SLASHES.sub(r"\1", link))
    except ValueError:
        return ""


def element_link(base: str, text: str | None) -> str:
    """The link that is an element's text; `?a=1&b;=2` is what careless decoders make of `?a=1&b=2`."""
    link = text.strip() if text else ""
    if link and not is_plain_url(link):
        link = repaired(resolved(base, link))
    if "&" in link and ";" in link:
        link = _LOST_AMPERSAND.sub(r"&\1", link.replace("&amp;", "&"))
    return link
