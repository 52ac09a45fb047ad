"""What identifies an entry and its article: short hashes, locator and dedup key. Pure.

Two steps keep known entries cheap. An `Entry` has two hashes, and nothing in it is cleaned. Only an entry whose hash is
unknown becomes a `Candidate`: URL and headline are normalized, the text is cleaned, the publication time is decided.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import NamedTuple

from models.article import ARTICLE_KEPT, attempt_key, source_id
from models.feed import FullTextChoice, ShortHash
from models.locator import locator_key
from models.raw_item import PublishedFlag, RawItem
from models.values import format_time
from services.parse.language import choose, evidence_of, with_languages
from services.parse.text import html_to_text, strip_publisher
from services.parse.urls import normalize_url, without_session
from services.ports import Document

HASH_BYTES = 8
MAX_MARKUP = 16_384
"""Characters of an entry's markup that are cleaned."""
MAX_TEXT = 4_000
"""Characters of an article's text that are kept, compared and scored."""

ARTICLE_SECONDS = int(ARTICLE_KEPT.total_seconds())

FUTURE_ALLOWED = timedelta(minutes=10)
"""How far a source's clock may be ahead. A publication time further ahead is replaced by the time of the fetch."""

EARLIEST = datetime.fromtimestamp(0, UTC)
"""An earlier publication time is a wrong one: the zero of some clock (the years 1, 1601, 1899), or Unix seconds that
were parsed as a year (`1763300000`)."""

FEWEST_WORDS = 3
"""A headline with fewer words is weak: many articles of one day may have it."""

_ASCII_DROPPED = re.compile(r"[^a-z0-9\s]+")
_VARIATION_SELECTORS = range(0xFE00, 0xFE10)


@dataclass(frozen=True, slots=True)
class Source:
    """The source of some entries. `key` is a feed's id or an API's name, `name` the name that people gave the feed,
    `title` the feed's own title, `full_text` for which entries the feed asks for the text of the page."""

    key: str
    name: str
    priority: int
    title: str | None = None
    full_text: FullTextChoice = "never"


@dataclass(frozen=True, slots=True)
class SourceAttempt:
    """One attempt to ingest entries of one source. All documents that it writes carry its time.

    `at` is later than that of every earlier attempt at the source. `time` and `seconds` are `at` as documents have it.
    """

    source: Source
    run_id: str
    attempt_no: int
    at: datetime
    time: str = field(init=False)
    seconds: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "time", format_time(self.at))
        object.__setattr__(self, "seconds", int(self.at.timestamp()))

    @property
    def key(self) -> str:
        return attempt_key(self.run_id, self.source.key, self.attempt_no)

    def stamp(self, document: Document, entity_type: str, kept_seconds: int = ARTICLE_SECONDS) -> None:
        """Sets the fields that all documents have."""
        document["entity_type"] = entity_type
        document["schema_version"] = "1"
        document["created_at"] = document["updated_at"] = self.time
        document["ttl_timestamp"] = self.seconds + kept_seconds


# Entries and candidates are tuples, since a tuple is made in a third of the time of a frozen dataclass.


class Entry(NamedTuple):
    """An item as the source wrote it. `form_hash` changes with anything that the source changes in it: headline, text,
    tags, tickers, also where only markup differs."""

    item: RawItem
    published_at: str
    content_hash: str
    form_hash: ShortHash


class Candidate(NamedTuple):
    """An entry whose present form is unknown, with everything that is needed to find its article.

    `revision` is the hash of headline, text and tags as they are shown and scored; `plain_key` is
    the dedup key of headline and day. `published` is never missing and never in the future. `language` is decided for
    the candidates of a feed document together.
    """

    entry: Entry
    article_id: str
    url: str
    locator: str
    locator_id: str
    normalized_headline: str
    published: datetime
    flag: PublishedFlag | None
    text: str
    revision: str
    plain_key: str
    id_hash: ShortHash
    url_hash: ShortHash
    headline_hash: ShortHash
    language: str = ""

    @property
    def published_at(self) -> str:
        return self.entry.published_at if self.flag is None else format_time(self.published)

    @property
    def has_own_id(self) -> bool:
        return self.entry.item.article_id is not None

    def source_id(self, *, with_url: bool = False) -> str:
        """The id of the entry's article, unless a locator alias names another article.

        The URL is part of the key if the headline is weak, or with `with_url`.
        """
        if with_url or is_weak(self.normalized_headline):
            return source_id(dedup_key(self.normalized_headline, self.published.date(), self.url))
        return source_id(self.plain_key)

    def hashes(self) -> tuple[ShortHash, ShortHash, ShortHash, ShortHash]:
        return self.entry.form_hash, self.id_hash, self.url_hash, self.headline_hash


def entry_of(source: Source, item: RawItem) -> Entry:
    """Raises ValueError for an item whose text is not valid Unicode (half a surrogate pair)."""
    published_at = format_time(item.published) if item.published is not None else ""
    identity = content_hash(item.url, published_at)
    words = (item.headline, item.summary_html, item.content_html, item.publisher or "", *item.tags, "", *item.tickers)
    return Entry(item, published_at, identity, _short_hash("entry", source.key, "\0".join((identity, *words))))


def entries_of(source: Source, items: Iterable[RawItem]) -> list[Entry]:
    """The entries of all items that are valid Unicode."""
    entries = []
    for item in items:
        try:
            entries.append(entry_of(source, item))
        except ValueError:
            continue
    return entries


def candidate_of(entry: Entry, source: Source, first_seen: datetime) -> Candidate:
    """Raises ValueError if the URL cannot be normalized. An entry without a date gets the time `first_seen`."""
    item = entry.item
    url = normalize_url(item.url)
    headline = normalize_headline(strip_publisher(item.headline, (item.publisher, source.name, source.title)))
    article_id = None if item.article_id is None else without_session(item.article_id)
    if article_id is not None:
        locator = f"provider_product_id:{article_id}"
    elif item.url_shared:
        article_id = f"{url}#{hashlib.sha256(headline.encode()).hexdigest()[:16]}"
        locator = f"url:{article_id}"
    else:
        article_id, locator = item.url, f"url:{url}"
    published, flag = publication_time(item, first_seen)
    text = text_of(item)
    shown = "\0".join((item.headline, text, *item.tags, "", *item.tickers))
    return Candidate(
        entry=entry,
        article_id=article_id,
        url=url,
        locator=locator,
        locator_id=locator_key(source.key, locator),
        normalized_headline=headline,
        published=published,
        flag=flag,
        text=text,
        revision=hashlib.sha256(shown.encode()).hexdigest()[:16],
        plain_key=dedup_key(headline, published.date()),
        id_hash=_short_hash("id", source.key, locator),
        url_hash=shared_url_hash(source, url) if item.url_shared else _short_hash("url", source.key, url),
        headline_hash=headline_hash(source, headline),
    )


def without_text(candidate: Candidate) -> Candidate:
    """Takes less memory. The text is made again if the entry is released from quarantine."""
    return candidate._replace(text="")


def in_languages(candidates: Sequence[Candidate], history: Mapping[str, int]) -> tuple[list[Candidate], Counter[str]]:
    """The candidates with their languages; and how many of their texts are clearly in each language. These, and those
    before, which `history` counts, say which language short headlines are in."""
    read = [evidence_of(each.entry.item.headline, each.text) for each in candidates]
    clear = Counter(each.clear for each in read if each.clear is not None)
    known = with_languages(history, clear)
    found = [
        candidate._replace(language=choose(evidence, candidate.entry.item.language, known))
        for candidate, evidence in zip(candidates, read, strict=True)
    ]
    return found, clear


def shared_url_hash(source: Source, url: str) -> ShortHash:
    """The URL's hash for an entry that shares its URL with another entry of its document. It differs from the plain
    one, so that an entry that is alone with this URL in a later document is still known to share it."""
    return _short_hash("shared", source.key, url)


def headline_hash(source: Source, normalized_headline: str) -> ShortHash:
    return _short_hash("headline", source.key, normalized_headline)


def text_of(item: RawItem) -> str:
    """The text that is shown and scored: the content's, else the summary's."""
    for markup in (item.content_html, item.summary_html):
        if markup and (text := html_to_text(markup[:MAX_MARKUP])):
            return text[:MAX_TEXT].rstrip()
    return ""


def publication_time(item: RawItem, first_seen: datetime) -> tuple[datetime, PublishedFlag | None]:
    """When the item was published; and if this is not the date that the source gave, the reason."""
    if item.published is None:
        return first_seen, item.published_flag or "missing"
    if item.published > first_seen + FUTURE_ALLOWED:
        return first_seen, "future"
    if item.published < EARLIEST:
        return first_seen, "unparsable"
    return item.published, item.published_flag


def is_weak(normalized_headline: str) -> bool:
    """Whether the headline has too few words to tell two articles of one day apart."""
    words = normalized_headline.count(" ") + 1
    if not normalized_headline.isascii():
        words += len(_unspaced().findall(normalized_headline)) // 2
    return words < FEWEST_WORDS


def normalize_headline(headline: str) -> str:
    """Lower case, letters and digits of any script, single spaces. Empty if the headline has no letter or digit.

    Combining marks stay with their letter: Hindi without its vowel signs would be another text.
    """
    if headline.isascii():
        return " ".join(_ASCII_DROPPED.sub("", headline.lower()).split())
    headline = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", headline).lower())
    kept: list[str] = []
    for character in headline:
        if character.isalnum() or (_is_mark(character) and kept and kept[-1] != " "):
            kept.append(character)
        elif character.isspace():
            kept.append(" ")
    return " ".join(unicodedata.normalize("NFKC", "".join(kept)).split())


def dedup_key(normalized_headline: str, day: date, url: str | None = None) -> str:
    """`sha256(normalized_headline|YYYY-MM-DD)[:32]`, with `|URL` at the end of the hashed text if there is a URL."""
    text = f"{normalized_headline}|{day.isoformat()}"
    return hashlib.sha256((f"{text}|{url}" if url else text).encode()).hexdigest()[:32]


def content_hash(url: str, published: str) -> str:
    """The specification's hash of one entry. `published` is the time in ISO 8601, or empty."""
    return hashlib.sha256(f"{url}|{published}".encode()).hexdigest()


def locator_identities(article_id: str) -> list[str]:
    """The locator identities that an entry of a source may have: its own id, or its URL, alone or with a hash of its
    headline."""
    try:
        return [f"provider_product_id:{article_id}", f"url:{normalize_url(article_id)}", f"url:{article_id}"]
    except ValueError:
        return [f"provider_product_id:{article_id}"]


@cache
def _unspaced() -> re.Pattern[str]:
    """Scripts that put no spaces between words; two of their letters count as one word more. Compiled when it is first
    needed: so many letters take milliseconds."""
    return re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Mc") and ord(character) not in _VARIATION_SELECTORS


def _short_hash(kind: str, source: str, identity: str) -> ShortHash:
    text = f"{kind}|{source}|{identity}"
    return ShortHash(hashlib.blake2b(text.encode(), digest_size=HASH_BYTES).hexdigest())
