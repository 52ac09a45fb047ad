"""Who published an entry: one id for all outlets of an owner. Pure.

    publisher_id(url, named, named_url, headline, text) -> "reuters.com"

The id is a domain: that of the owner if publisher_owners.txt lists the outlet, else the registrable domain of the site.
On platforms where everybody publishes, the id has the account: `someone.substack.com`, `github.com/someone`. Where
links name no account (a video), the page of the feed may name it: `names_account`, `lacks_account`.

A publisher that the source names (RSS `<source>`, a news API) comes first: by the URL that the source gives for it, by
a name that publisher_owners.txt lists, or by a name that is a domain. Then comes the site of the link. An aggregator or
a link shortener is no publisher: its entries are published by the site that they link to, or that ends the headline.
What is not known stays unknown: None. A portal (Yahoo, MSN) is the publisher of what names no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from publicsuffixlist import PublicSuffixList

from services.parse.text import publisher_key

_BEFORE_ACCOUNT = re.compile(
    "feeds?|rss|users?|u|c|channels?|r|groups|g|pages|view|site|people|profile|s|company|in|authors|pub|projects?|show"
)
_NO_ACCOUNT = re.compile(
    r"watch|shorts|embed|live|playlist|results|status|i|intent|hashtag|p|reel|posts?|story|stories|share|videos?|"
    r"events|search|tags?|t|topics|articles?|home|inbox|notes|episode|comments|gallery|\d{5,}|"
    r".*\.(?:xml|rss|atom|php|html?)"
)
_LINKED = frozenset({"url", "u", "q", "target", "link", "to", "redirect", "dest", "destination", "goto", "r", "href"})
_LINK_IN_PATH = re.compile(r"/(https?:/{1,2}[^/].*)", re.IGNORECASE)
_AMP_PATH = re.compile(r"/(?:amp|[cvi])/(?:s/)?([^/]+\.[^/]+(?:/.*)?)", re.IGNORECASE)
_LINK_IN_TEXT = re.compile(r"\bArticle URL: (https?://\S+)")
_LABEL_OF_NAME = re.compile(r"\s*\((?:blog|press release|subscription|registration|satire|live)\)\s*$", re.IGNORECASE)
_DOMAIN = re.compile(r"(?:https?://)?((?:[a-z0-9-]+\.)+[a-z][a-z0-9-]+)/?", re.IGNORECASE)
_TAIL = re.compile(r".+\s(?:[-\u2010-\u2015|\u00b7\u2022]|::)\s+(.{2,60})")
_HOST = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|[0-9a-f:.]*:[0-9a-f:.]*")
_BLOGSPOT = re.compile(r"(?:.*\.)?([a-z0-9-]+)\.blogspot\.[a-z.]{2,6}")
_POST_OF_ACCOUNT = re.compile(r"https?://[^/]+/(@[\w.-]{1,60})/\d{6,}/?", re.IGNORECASE)
"""A post at any server of the fediverse: `https://social.example/@someone/112233445566`."""
_OTHER_SHAPE = re.compile(r"^(?:www|m|mobile|old|new|np)\.")
_MAIN_SHAPE = re.compile(r"^(?:www|m|mobile)\.")
"""Where hosts name accounts, others may be one's name."""
_ACCOUNT = re.compile(r"[\w.@~+-]{1,80}")
_REDIRECTING = frozenset({"google.com", "facebook.com", "youtube.com"})
"""Sites that are no aggregators, some of whose links redirect: `google.com/url?url=…`."""
_LONGEST_NAME = 200
_LONGEST_QUERY = 4000
_HOPS = 3
"""How many redirects are read out of one link."""
_AGGREGATORS, _PORTALS = "aggregators", "portals"
_ACCOUNT_IN_HOST, _ACCOUNT_IN_PATH = "account in host", "account in path"
_OWNERS = Path(__file__).with_name("publisher_owners.txt")


class _Known(NamedTuple):
    """What publisher_owners.txt lists: publishers by domain and by name, their names, and sites by kind."""

    by_domain: dict[str, str]
    by_name: dict[str, str]
    names: dict[str, str]
    sites: dict[str, frozenset[str]]


def publisher_id(
    url: str, named: str | None = None, named_url: str | None = None, headline: str = "", text: str = ""
) -> str | None:
    """The publisher of an entry that links to `url`; None if it is unknown.

    `named` and `named_url` are the publisher that the source names, and the address that it gives for it. `headline`
    and `text` are read if the link leads to an aggregator.
    """
    found = (named_url and _of_site(_host(named_url), named_url)) or (named and id_of_name(named))
    if found:
        return found
    linked = _linked(url)
    host = _host(linked)
    site = _of_site(host, linked)
    if site is not None and not _in(host, _known().sites[_PORTALS]):
        return site
    tail = _TAIL.fullmatch(headline)
    if tail is not None and (found := id_of_name(tail[1])):
        return found
    in_text = _LINK_IN_TEXT.search(text)
    if in_text is not None:
        linked = _linked(in_text[1])
        return _of_site(_host(linked), linked)
    return site


def id_of_name(name: str) -> str | None:
    """The publisher with this name, if it is a well-known one or a domain."""
    name = _LABEL_OF_NAME.sub("", " ".join(name[:_LONGEST_NAME].split()))
    known = _known().by_name.get(_name_key(name))
    if known is not None:
        return known
    domain = _DOMAIN.fullmatch(name)
    if domain is None or _suffixes().publicsuffix(domain[1].lower(), accept_unknown=False) is None:
        return None
    return _of_site(domain[1].lower(), "")


def shown_name(publisher: str | None) -> str | None:
    """The name of a publisher as people know it: that of publisher_owners.txt, or the id. None if it is unknown."""
    return None if publisher is None else _known().names.get(publisher, publisher)


def counted_publisher(publisher: str | None, source: str) -> str:
    """What counts as the publisher: its id; without one, the source stands for it, as `source:` and the source's id."""
    return publisher or f"source:{source}"


class _Site(NamedTuple):
    """A site that publisher_owners.txt knows. `publisher` has published all its pages; None if it is an aggregator.
    `platform`: its paths name accounts."""

    publisher: str | None
    platform: str | None = None


def _of_site(host: str, url: str) -> str | None:
    """The publisher of a page; None if its site is an aggregator or unknown."""
    if not host:
        return None
    site = _listed(host)
    if site is not None:
        return site.publisher if site.platform is None else _of_account(site.platform, url)
    registrable = _registrable(host)
    post = _POST_OF_ACCOUNT.fullmatch(url) if "/@" in url and registrable is not None else None
    return registrable if post is None else f"{host}/{post[1].lower()}"


def names_account(url: str) -> bool:
    """Whether the address names an account on a platform whose paths name accounts."""
    platform = _platform(url)
    return platform is not None and _of_account(platform, url) is not None


def lacks_account(url: str, page: str) -> bool:
    """Whether `url` names no account on the platform of this page."""
    platform = _platform(url)
    return platform is not None and platform == _platform(page) and _of_account(platform, url) is None


def _platform(url: str) -> str | None:
    """The platform whose paths name accounts."""
    site = _listed(_host(url))
    return None if site is None else site.platform


@lru_cache(maxsize=4096)
def _listed(host: str) -> _Site | None:
    """Without the list of public suffixes: it takes memory and time to load, and a worker that only fetches does not
    need it."""
    known = _known()
    for each in _domains(host):
        if each in known.by_domain:
            return _Site(known.by_domain[each])
        if each in known.sites[_AGGREGATORS]:
            return _Site(None)
        if each in known.sites[_ACCOUNT_IN_HOST] and _MAIN_SHAPE.sub("", host) != each:
            account = host.removesuffix(f".{each}").rpartition(".")[2]
            return _Site(f"{account}.{each}")
        if each in known.sites[_ACCOUNT_IN_PATH] and _OTHER_SHAPE.sub("", host) == each:
            return _Site(None, each)
    blog = _BLOGSPOT.fullmatch(host)
    return None if blog is None else _Site(f"{blog[1]}.blogspot.com")


def _of_account(platform: str, url: str) -> str | None:
    try:
        segments = [each for each in unquote(urlsplit(url).path).lower().split("/") if each]
    except ValueError:
        return None
    while segments and _BEFORE_ACCOUNT.fullmatch(segments[0]):
        del segments[0]
    if not segments or _NO_ACCOUNT.fullmatch(segments[0]) or not _ACCOUNT.fullmatch(segments[0]):
        return None
    return f"{platform}/{segments[0]}"


def _linked(url: str) -> str:
    """The address that a link of an aggregator leads to, as far as the link itself says it."""
    for _ in range(_HOPS):
        if not _in(_host(url), _known().sites[_AGGREGATORS] | _REDIRECTING):
            return url
        parts = urlsplit(url)
        pairs = parse_qsl(parts.query, max_num_fields=50) if 0 < len(parts.query) <= _LONGEST_QUERY else ()
        found = next((value for name, value in pairs if name.lower() in _LINKED and value[:4].lower() == "http"), None)
        if found is None and (inside := _LINK_IN_PATH.search(parts.path)):
            found = re.sub("^(https?):/{1,2}", r"\1://", inside[1])
        if found is None and (inside := _AMP_PATH.fullmatch(parts.path)):
            found = f"https://{inside[1]}"
        if found is None:
            return url
        url = found
    return url


def _host(url: str) -> str:
    """The host of an address in lower case, as DNS has it; empty without a host that can be one."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
        if not host.isascii():
            host = host.encode("idna").decode("ascii")
    except ValueError:
        return ""
    return host if _HOST.fullmatch(host) else ""


def _domains(host: str) -> Iterator[str]:
    """The host and the domains above it."""
    while host:
        yield host
        host = host.partition(".")[2]


def _in(host: str, sites: frozenset[str]) -> bool:
    return any(each in sites for each in _domains(host))


@lru_cache(maxsize=4096)
def _registrable(host: str) -> str | None:
    """The part of a host that its owner has registered; the host itself for an address or a public suffix. None for a
    host of this machine or of a private network: such a server may have the pages of any publisher."""
    with suppress(ValueError):
        return host if ip_address(host).is_global else None
    return None if host == "localhost" else _suffixes().privatesuffix(host) or host


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


def _name_key(name: str) -> str:
    """What equal names have in common. Other than for headlines, "Zacks.com" is not "Zacks": domains are looked up."""
    return publisher_key(name.replace(".", " "))


@cache
def _known() -> _Known:
    known = _Known({}, {}, {}, {})
    owner = ""
    for line in _OWNERS.read_text("utf-8").splitlines():
        domains, _, names = line.partition(":")
        if not domains or line.startswith("#"):
            continue
        if line.startswith("@"):
            kind = domains.removeprefix("@")
            known.sites[kind] = known.sites.get(kind, frozenset()) | frozenset(names.split())
            continue
        if not line.startswith(" "):
            owner = domains.split()[0]
            known.names[owner] = names.split(", ")[0].strip()
        known.by_domain.update(dict.fromkeys(domains.split(), owner))
        for name in filter(None, map(str.strip, names.split(", "))):
            known.by_name[_name_key(name)] = owner
    return known
