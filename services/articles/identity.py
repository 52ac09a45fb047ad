"""What an item is known by: hashes for "seen before", a locator for "the same entry", a key for "the same article".

Two steps, so that what is known costs little. An `Entry` is hashed as it came: two short hashes, no cleaning. Only what
those do not know is `examined`: its URL and headline normalised, its text cleaned, its date settled.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, NewType

from models.headline import content_hash, dedup_key, normalize_headline, source_id
from models.locator import locator_key
from models.raw_item import PublishedFlag, RawItem
from models.values import format_time
from services.parse.publishers import strip_publisher
from services.parse.text import html_to_text
from services.parse.urls import normalize_url

Mark = NewType("Mark", str)
"""16 hexadecimal characters, as models/feed.py keeps them."""

MARK_BYTES = 8
MOST_MARKUP = 16_384
MOST_TEXT = 4_000
"""Characters of an article's text that are kept and scored; a revision is judged by no more."""

FUTURE_ALLOWED = timedelta(minutes=10)
"""What clocks may differ by. A date that is further ahead is clamped, and flagged."""

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
"""What says that it is older says so by the zero of a clock (the years 1, 1601, 1899), or in seconds that were read as
a year (`1763300000`)."""

FEWEST_WORDS = 3
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Scripts that put no spaces between words; two of their letters count as a word."""


@dataclass(frozen=True, slots=True)
class Source:
    """Whose items these are. `key` is a feed's id or an API's name; `name` is what readers know it by, `title` what its
    documents call it."""

    key: str
    name: str
    priority: int
    title: str | None = None


# A tuple is made in a third of the time of a frozen dataclass: there is one of each for every entry of every document.


class Entry(NamedTuple):
    """An item as it came, hashed. `mark` is of this form of it: title, text, tags and tickers, also where only markup
    changed."""

    item: RawItem
    published_at: str
    content_hash: str
    mark: Mark


class Candidate(NamedTuple):
    """An entry that was not known in this form, with all that deciding about it takes.

    `revision` is the hash of title, text and tags as they are shown and scored, `plain_key` that of headline and day.
    `published` is settled: never missing,
    never in the future.
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
    id_mark: Mark
    url_mark: Mark
    headline_mark: Mark

    @property
    def published_at(self) -> str:
        return self.entry.published_at if self.flag is None else format_time(self.published)

    @property
    def has_own_id(self) -> bool:
        return self.entry.item.article_id is not None

    def target(self, *, with_url: bool = False) -> str:
        """The id of the article that this is, if no locator knows better.

        A headline that says too little, or that another entry of its source has too, takes the URL into the key.
        """
        if with_url or is_weak(self.normalized_headline):
            return source_id(dedup_key(self.normalized_headline, self.published.date(), self.url))
        return source_id(self.plain_key)

    def marks(self) -> tuple[Mark, Mark, Mark, Mark]:
        return self.entry.mark, self.id_mark, self.url_mark, self.headline_mark


def entry_of(source: Source, item: RawItem) -> Entry:
    """Raises ValueError for an item whose text is no text (half a surrogate pair)."""
    published_at = format_time(item.published) if item.published is not None else ""
    known_by = content_hash(item.url, published_at)
    said = (item.headline, item.summary_html, item.content_html, item.publisher or "", *item.tags, "", *item.tickers)
    return Entry(item, published_at, known_by, _mark("entry", source.key, "\0".join((known_by, *said))))


def examined(entry: Entry, source: Source, now: datetime, first_seen: datetime | None = None) -> Candidate:
    """Raises ValueError if the URL identifies nothing. An undated entry was published when it was `first_seen`."""
    item = entry.item
    url = normalize_url(item.url)
    headline = normalize_headline(strip_publisher(item.headline, (item.publisher, source.name, source.title)))
    article_id = item.article_id
    if article_id is not None:
        locator = f"provider_product_id:{article_id}"
    elif item.url_shared:
        article_id = f"{url}#{hashlib.sha256(headline.encode()).hexdigest()[:16]}"
        locator = f"url:{article_id}"
    else:
        article_id, locator = item.url, f"url:{url}"
    published, flag = _settled(item, first_seen or now)
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
        id_mark=_mark("id", source.key, locator),
        url_mark=shared_mark(source, url) if item.url_shared else _mark("url", source.key, url),
        headline_mark=_mark("headline", source.key, headline),
    )


def shared_mark(source: Source, url: str) -> Mark:
    """What an entry leaves in the place of its URL's mark if the URL is not its alone: a page that was shared once is
    shared by those who are alone on it later."""
    return _mark("shared", source.key, url)


def text_of(item: RawItem) -> str:
    """The words that are shown and scored: the content's, else the summary's."""
    for markup in (item.content_html, item.summary_html):
        if markup and (text := html_to_text(markup[:MOST_MARKUP])):
            return text[:MOST_TEXT].rstrip()
    return ""


def is_weak(normalized_headline: str) -> bool:
    """Whether the headline says too little to tell two articles of one day apart."""
    unspaced = len(_UNSPACED.findall(normalized_headline)) if not normalized_headline.isascii() else 0
    words = normalized_headline.count(" ") + (normalized_headline != "")
    return words + unspaced // 2 < FEWEST_WORDS


def _settled(item: RawItem, first_seen: datetime) -> tuple[datetime, PublishedFlag | None]:
    if item.published is None:
        return first_seen, item.published_flag or "missing"
    if item.published > first_seen + FUTURE_ALLOWED:
        return first_seen, "future"
    if item.published < EARLIEST:
        return first_seen, "unparsable"
    return item.published, item.published_flag


def _mark(kind: str, source: str, identity: str) -> Mark:
    text = f"{kind}|{source}|{identity}"
    return Mark(hashlib.blake2b(text.encode(), digest_size=MARK_BYTES).hexdigest())
