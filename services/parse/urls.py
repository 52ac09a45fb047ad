"""Normalizes URLs, to compare pages, and resolves the links of feeds.

Normalizing removes only differences that practically never separate two pages: scheme, case of the host, default ports,
fragments, tracking parameters, ids of sessions, cache busters, the order of parameters, percent-encoding, a last slash.
Paths keep their case. A normalized URL is not for fetching: it may not exist.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote_to_bytes, urljoin, urlsplit

from services.parse.text import repaired

_TRACKING = re.compile(
    r"utm_.*|at_(?:medium|campaign|link_.*|format|ptr_.*|bbc_team|custom\d)|mc_[ce]id|pk_.*|mtm_.*|matomo_.*|piwik_.*|"
    r"hsa_.*|_hs(?:enc|mi)|__hs(?:sc|tc|fp)|hsctatracking|vero_(?:id|conv)|oly_(?:enc|anon)_id|"
    r"fb(?:clid|_.*)|gclid|gclsrc|dclid|gbraid|wbraid|msclkid|yclid|ymclid|twclid|ttclid|li_fat_id|igsh(?:id)?|"
    r"s_?cid|ncid|ocid|cmpid|icid|mkt_tok|mkwid|ftag|xtor|smid|smtyp|wt[._]mc(?:_id)?|wt\.rss_.*|_ga|_gl|"
    r"guce_.*|guccounter|spm|_openstat|trk(?:campaign)?|recip_id|mbid|cndid|sr_share",
    re.IGNORECASE,
)
_SESSION = re.compile(
    r"jsessionid|phpsess(?:id)?|phpsid|aspsessionid[a-z]{8}|asp\.net_sessionid|sess(?:ion)?_?id|oscsid|zenid|cfid|cftoken|"
    r"cache_?buster|no_?cache",
    re.IGNORECASE,
)
_SESSION_PAIR = re.compile(
    r"(?:s|sid|sess|session)=(?:[0-9a-f]{32}|(?=(?:[a-z]*[0-9]){3})(?=[0-9a-f]*[g-z])[a-z0-9]{22,64})|"
    r"(?:_|_dc|cb|rnd|rand|random)=(?:0?\.)?[0-9]{6,}",
    re.IGNORECASE,
)
"""Names that may mean a page too: the value shows that they do not."""
_SESSION_NAMES = "jsessionid|phpsess(?:id)?|sess(?:ion)?_?id|sid|oscsid|zenid|cfid|cftoken"
_SESSION_IN_PATH = re.compile(rf";(?:{_SESSION_NAMES})=[^/;]*|(?<=/)\(S\([a-z0-9]{{24}}\)\)(?:/|$)", re.IGNORECASE)
_SESSION_BEHIND_SEMICOLON = re.compile(rf";(?:{_SESSION_NAMES})=[^;&]*", re.IGNORECASE)

_RSS_MARKS = frozenset({"ref", "source", "src", "from", "via", "partner", "mod", "feed", "output", "format", "rss"})
_RSS_VALUES = frozenset({"rss", "rss20", "rss2", "feed", "rssfeed", "atom", "rss_feed"})

_UNRESERVED = "-._~"
_PATH_SAFE = "/!$&'()*+,;=:@" + _UNRESERVED
_QUERY_SAFE = "/?!$'()*,;:@=" + _UNRESERVED
_ESCAPE = re.compile("%[0-9A-Fa-f]{2}|%")
_HOST = re.compile("[a-z0-9._~%-]+")
_DEFAULT_PORTS = (80, 443)
_USUAL = re.compile(r"https?://([a-z0-9-]+(?:\.[a-z0-9-]+)+)((?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*)/?")
"""Matches nearly all URLs. Normalizing them changes only the scheme and a last slash."""


is_plain_url = re.compile(
    r"https?://[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,4})?/[!-\"$-:<->@-~]*(?:\?[!-\"$-:<-~]+)?"
).fullmatch
"""Matches URLs that resolving and repairing do not change."""
is_plain_id = re.compile(r"(?:tag|urn):[A-Za-z0-9.,:_-][A-Za-z0-9/.,:_-]*").fullmatch
_FEED_SCHEME = re.compile(r"feed:(//)?", re.IGNORECASE)
_WEB_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_EXTRA_SLASHES = re.compile(r"^([A-Za-z][A-Za-z0-9+-.]*://)/*")
_LOST_AMPERSAND = re.compile("&([A-Za-z0-9_]+);")


def resolved(base: str, link: str) -> str:
    """The link as an absolute URL, a relative link resolved against `base`, as feedparser does it."""
    if is_plain_url(link) or is_plain_id(link):
        return link
    try:
        return urljoin(base, _EXTRA_SLASHES.sub(r"\1", link))
    except ValueError:
        return ""


def element_link(base: str, text: str | None) -> str:
    """The link in an element's text. `?a=1&b;=2` comes from decoders that misread `?a=1&b=2`."""
    link = text.strip() if text else ""
    if link and not is_plain_url(link):
        link = repaired(resolved(base, link))
    if "&" in link and ";" in link:
        link = _LOST_AMPERSAND.sub(r"&\1", link.replace("&amp;", "&"))
    return link


def without_feed_scheme(url: str) -> str:
    """The web address in `feed:https://…` or `feed://…`, which means http; any other URL as it is."""
    found = _FEED_SCHEME.match(url)
    if found is None:
        return url
    rest = url[found.end() :]
    return rest if found[1] is None or _WEB_SCHEME.match(rest) else f"http://{rest}"


def link_of(url: str) -> str:
    """The normalized URL; the URL itself if it cannot be normalized."""
    try:
        return normalize_url(url)
    except ValueError:
        return url


def normalize_url(url: str) -> str:
    """One spelling for all URLs of a page. Normalizing again changes nothing. Raises ValueError without a host."""
    usual = _USUAL.fullmatch(url)
    if usual is not None:
        return f"https://{usual[1]}{usual[2] or '/'}"
    parts = urlsplit(url.strip())
    host = _host(parts.hostname or "")
    if not host:
        raise ValueError("a URL without a host identifies no page")
    port = parts.port
    authority = host if port is None or port in _DEFAULT_PORTS else f"{host}:{port}"
    path = _encoded(parts.path, _PATH_SAFE)
    if ";" in path or "(" in path:
        path = _SESSION_IN_PATH.sub("", path)
    path = _without_dots(path).rstrip("/") or "/"
    query = _query(parts.query)
    # A single-page application has its path behind "#!".
    fragment = f"#{_encoded(parts.fragment, _QUERY_SAFE + '&+')}" if parts.fragment.startswith("!") else ""
    return f"https://{authority}{path}{'?' if query else ''}{query}{fragment}"


def without_session(identity: str) -> str:
    """An entry's own id without the id of a session. Only URLs have one; all else stays as its source wrote it."""
    if not identity.startswith(("http://", "https://")) or not ("=" in identity or "(" in identity):
        return identity
    address, mark, fragment = identity.partition("#")
    path, question, query = address.partition("?")
    kept_path = _SESSION_IN_PATH.sub("", path)
    pairs = _SESSION_BEHIND_SEMICOLON.sub("", query).split("&")
    kept = "&".join(pair for pair in pairs if not _is_session(pair))
    if kept_path == path and kept == query:
        return identity
    return f"{kept_path}{question if kept else ''}{kept}{mark}{fragment}"


def _is_session(pair: str) -> bool:
    return _SESSION.fullmatch(pair.partition("=")[0]) is not None or _SESSION_PAIR.fullmatch(pair) is not None


def _host(host: str) -> str:
    host = host.lower()
    if ":" in host:
        return f"[{host}]"
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii").lower()
        except UnicodeError:
            host = _encoded(host, _UNRESERVED).lower()
    host = host.rstrip(".")
    return host if _HOST.fullmatch(host) else ""


def _query(query: str) -> str:
    kept = []
    if ";" in query:
        query = _SESSION_BEHIND_SEMICOLON.sub("", query)
    for pair in _encoded(query, _QUERY_SAFE + "&+").split("&"):
        name, _, value = pair.partition("=")
        if not pair or _TRACKING.fullmatch(name) or _is_session(pair):
            continue
        if name.lower() in _RSS_MARKS and value.lower() in _RSS_VALUES:
            continue
        kept.append(pair)
    # Sorted by name only: `a=2&a=1` may be another page than `a=1&a=2`.
    kept.sort(key=lambda pair: pair.partition("=")[0])
    return "&".join(kept)


def _encoded(text: str, safe: str) -> str:
    """Each character in one spelling: unreserved characters plain, reserved ones as they are, all others as %XX."""
    if text.isalnum() and text.isascii():
        return text
    return quote(_ESCAPE.sub(_escaped, text), safe=safe + "%", errors="replace")


def _escaped(escape: re.Match[str]) -> str:
    if escape[0] == "%":
        return "%25"
    character = unquote_to_bytes(escape[0])
    plain = character.isalnum() or character in (b"-", b".", b"_", b"~")
    return character.decode("ascii") if plain else escape[0].upper()


def _without_dots(path: str) -> str:
    if "/." not in path:
        return path
    kept: list[str] = []
    for segment in path.split("/")[1:]:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    return "/" + "/".join(kept)
