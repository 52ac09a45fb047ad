"""What a page is: the text of the article, a page that withholds it, or one that a person must look at. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

from models.document import QuarantineReason, SkipReason
from services.articles.identity import normalize_headline
from services.documents.profiles import Profile
from services.parse.text import repaired, strip_publisher
from services.parse.urls import normalize_url

MAX_CHARACTERS = 100_000
HEADLINE_SHARE = 0.6
"""The least share of the words of the article's headline that the page's title or headings must have."""
WITHHELD_BELOW = 1_500
"""A page with a paywall or a notice of consent and less text than this has a teaser only."""
TEXT_LONGER_BY = 1.2
"""How much longer than the feed's text the page's must be."""

_WITHHELD = re.compile(
    r"subscribe (?:now |today )?to (?:continue|read|keep reading|unlock)"
    r"|(?:this|the full) (?:article|story|content) is (?:only )?(?:for|available to|reserved for) (?:our )?"
    r"(?:subscribers|members)"
    r"|already a (?:subscriber|member)\?"
    r"|to continue reading,? (?:please )?(?:subscribe|log in|sign in|register)"
    r"|nur für abonnenten|réservé (?:à nos|aux) abonnés|solo para suscriptores",
    re.IGNORECASE,
)
_CONSENT = re.compile(
    r"before you continue|we value your privacy|we and our (?:\d+ )?partners|manage (?:your )?(?:cookie|privacy) "
    r"(?:settings|choices|preferences)|accept all(?: cookies)?|wir (?:und unsere partner )?verwenden cookies|nous "
    r"utilisons des cookies|enable (?:javascript|cookies)|are you a robot|verify (?:that )?you are (?:a )?human",
    re.IGNORECASE,
)
_FOR_AGENT = re.compile(r"(?:^|,)\s*(?!unavailable_after|max-)([^\s,:]+)\s*:", re.IGNORECASE)
"""The name of a program before its rules, in `X-Robots-Tag: noindex, otherbot: noarchive`."""
_CONSENT_HOSTS = ("consent.", "guce.", "privacy-mgmt.", "cmp.")
_NO_PAGE = re.compile(
    r"\b(?:404|410)\b"
    r"|(?:page|article|story|content) (?:was |is |could )?(?:not (?:be )?found|no longer (?:available|exists))"
    r"|page not found|nothing (?:was )?found|seite nicht gefunden|page introuvable",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?…:;\u3002\uff01\uff1f][\"\u201d\u2019»)\]]*$")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class PageContent:
    """What is on a page. `text` has one paragraph in a line. `meta` are its metadata by name in small letters, `shape`
    is what the pages of one site have in common. `main_found`: the profile's selector was found. `free` is false if
    the page says that its text is not; `paywall` and `consent`: it has elements that are named so."""

    encoding: str
    title: str
    headings: Sequence[str]
    base: str
    canonical: str
    amphtml: str
    meta: Mapping[str, str]
    shape: str
    free: bool
    paywall: bool
    consent: bool
    main_found: bool
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class NotRead:
    """The page could not be read: it took too long or too much memory, or the parser failed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the article says of itself: its headline, the names of its publishers, the number of characters of the
    feed's text, and the address of the page; `known`: the feed and the hints of its document."""

    headline: str
    publishers: tuple[str, ...]
    feed_characters: int
    url: str
    known: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Text:
    """The text of the article, one paragraph in a line, and how it was made. `extracted` are fields of the document."""

    text: str = field(repr=False)
    extracted: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Withheld:
    """The finding that the site does not give the text. `follow` is another address of the article, which may."""

    reason: SkipReason
    follow: str | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """The finding that a person must look at the page. `seen` is what stands on the page: its title, headings and
    text, one in a line."""

    reason: QuarantineReason
    fingerprint: str
    why: str
    extracted: dict[str, Any]
    follow: str | None = None
    seen: str = field(default="", repr=False)


PageFinding = Text | Withheld | Unknown


def judge(
    page: PageContent | NotRead, wanted: Wanted, profile: Profile, robots_tag: str, agents: Iterable[str]
) -> PageFinding:
    """`robots_tag` is the header X-Robots-Tag, `agents` are the names by which robots rules may mean this app."""
    if isinstance(page, NotRead):
        return Unknown("UNKNOWN_PROFILE", page.reason, "the page could not be read", _made(profile, wanted, ""))
    if forbids_archiving(page, robots_tag, agents):
        return Withheld("NOARCHIVE")
    text, notes = normalized(page.text, wanted.headline)
    withheld = withheld_by(page, text, wanted, profile)
    if withheld is not None:
        return Withheld(withheld, None if withheld == "GONE" else other_address(page, wanted.url))
    extracted = _made(profile, wanted, page.shape, page.encoding, notes)
    missing = missing_in(page, text, wanted, profile)
    if missing is not None:
        seen = "\n".join(filter(None, (page.title, *page.headings, page.text[:MAX_CHARACTERS])))
        return Unknown(*missing, extracted, other_address(page, wanted.url), seen)
    if len(text) < wanted.feed_characters * TEXT_LONGER_BY:
        return Withheld("NOTHING_MORE")
    return Text(text, {**extracted, "characters": len(text)})


def withheld_by(page: PageContent, text: str, wanted: Wanted, profile: Profile) -> SkipReason | None:
    """Why the page is there, and the text of the article is not."""
    matches, is_short = has_headline(page, wanted), len(text) < profile.least_characters
    if not page.free:
        return "PAYWALL"
    if not matches and _is_no_page(page):
        return "GONE"
    if len(text) < WITHHELD_BELOW and (_WITHHELD.search(page.text) or (page.paywall and is_short)):
        return "PAYWALL"
    return "CONSENT" if (is_short or not matches) and _is_consent(page, wanted.url) else None


def missing_in(
    page: PageContent, text: str, wanted: Wanted, profile: Profile
) -> tuple[QuarantineReason, str, str] | None:
    """What a page lacks that has the text of an article: the reason, its fingerprint, and a sentence for people."""
    if not page.main_found:
        return "UNKNOWN_PROFILE", "NO_MAIN", f"nothing on the page is {profile.main}"
    if not has_headline(page, wanted):
        return "MISSING_CRITICAL_METADATA", "NO_HEADLINE", "no heading of the page has the headline of the article"
    if len(text) < profile.least_characters:
        why = f"the page has {len(text)} characters of text, fewer than {profile.least_characters}"
        return "MISSING_CRITICAL_METADATA", "TOO_LITTLE_TEXT", why
    return None


def has_headline(page: PageContent, wanted: Wanted) -> bool:
    words = set(_WORD.findall(normalize_headline(strip_publisher(wanted.headline, wanted.publishers))))
    if not words:
        return False
    for each in (page.title, page.meta.get("og:title", ""), page.meta.get("twitter:title", ""), *page.headings):
        found = words.intersection(_WORD.findall(normalize_headline(each)))
        if len(found) >= HEADLINE_SHARE * len(words):
            return True
    return False


def normalized(text: str, headline: str) -> tuple[str, list[str]]:
    """The paragraphs of the text, and notes of what was changed. Lines before the first sentence and after the last
    one are no prose: bylines, teasers, buttons. Normalising again changes nothing."""
    lines = [" ".join(each.split()) for each in repaired(text).splitlines()]
    lines = [each for each in lines if each]
    notes, own = [], normalize_headline(headline)
    kept = [each for each in lines if normalize_headline(each) != own]
    if len(kept) < len(lines):
        notes.append("the headline was removed from the text")
    sentences = [number for number, each in enumerate(kept) if _is_sentence(each)]
    prose = kept[sentences[0] : sentences[-1] + 1] if sentences else []
    if len(prose) < len(kept):
        notes.append(f"{len(kept) - len(prose)} lines around the text were removed")
    joined = "\n".join(prose)
    if len(joined) > MAX_CHARACTERS:
        joined = joined[:MAX_CHARACTERS].rpartition("\n")[0] or joined[:MAX_CHARACTERS]
        notes.append(f"the text was cut at {MAX_CHARACTERS:,} characters")
    return joined, notes


def forbids_archiving(page: PageContent, robots_tag: str, agents: Iterable[str]) -> bool:
    """Whether the page must not be stored: `noarchive` in a meta element or the header, for all or for this app."""
    names = {each.lower() for each in agents}
    for_all, *named = _FOR_AGENT.split(robots_tag)
    in_header = [rule for name, rule in zip(named[::2], named[1::2], strict=True) if name.lower() in names]
    rules = [for_all, *in_header, *(page.meta.get(name, "") for name in ("robots", *names))]
    return any("noarchive" in re.split(r"[\s,]+", each.lower()) for each in rules)


def other_address(page: PageContent, url: str) -> str | None:
    """The canonical address of the page, else its AMP version, if it is another page."""
    for link in filter(None, (page.canonical, page.amphtml)):
        try:
            target = urljoin(urljoin(url, page.base), link)
            if normalize_url(target) != normalize_url(url) and urlsplit(target).scheme in ("http", "https"):
                return target
        except ValueError:
            continue
    return None


def signature_of(shape: str) -> str:
    return f"hsig:{hashlib.sha256(shape.encode()).hexdigest()[:16]}"


def _made(
    profile: Profile, wanted: Wanted, shape: str, encoding: str = "", notes: Sequence[str] = ()
) -> dict[str, Any]:
    """The fields of the document that say how its text was made."""
    signature, host = signature_of(shape), urlsplit(wanted.url).hostname or ""
    decoded = [f"decoded as {encoding}"] if encoding not in ("", "utf-8") else []
    return {
        "extraction_profile_id": profile.id_and_version,
        "header_signature_hash": signature,
        "profile_selection_inputs": {**wanted.known, "host": host, "header_signature_hash": signature},
        "normalization_notes": (*decoded, *notes),
    }


def _is_sentence(line: str) -> bool:
    return bool(_SENTENCE_END.search(line)) and (len(line) >= 40 or len(line.split()) >= 5)


def _is_no_page(page: PageContent) -> bool:
    return any(_NO_PAGE.search(each) for each in (page.title, *page.headings[:2]))


def _is_consent(page: PageContent, url: str) -> bool:
    if page.consent or (urlsplit(url).hostname or "").startswith(_CONSENT_HOSTS):
        return True
    return any(_CONSENT.search(each) for each in (page.text[:5000], page.title))
