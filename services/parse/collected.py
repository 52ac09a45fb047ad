"""What every adapter does alike with an entry: plain headline, usable link, limits, and counts of what was wrong."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from models.raw_item import ParsedDocument, PublishedFlag, RawItem
from services.parse.text import headline_text, looks_like_html, one_line
from services.parse.urls import normalize_url

MAX_ITEMS = 20_000
MAX_HEADLINE = 1_000
MAX_URL = 4_096
MAX_ID = 1_024
MAX_HTML = 200_000
MAX_TAGS = 100
MAX_TAG = 200

_WEB_URL = re.compile(r"https?://(?:\[[0-9A-Fa-f:.]+\]|[^\s/?#@:\[\]\\]+)(?::[0-9]{1,5})?(?:[/?#]\S*)?", re.I)
_USER = re.compile(r"^(https?://)[^\s/?#\\]*@", re.I)


@dataclass(frozen=True, slots=True)
class Feed:
    """What a reader of feeds found: the entries are in `collected`."""

    version: str
    title: str
    link: str
    collected: Collected


class Collected:
    """The items of one document so far. `finished` closes it."""

    __slots__ = ("_items", "skipped", "warnings")

    def __init__(self) -> None:
        self._items: list[RawItem] = []
        self.warnings: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()

    def add_plain(self, item: RawItem) -> None:
        """Takes an item in which there is nothing to mend or cut."""
        if len(self._items) < MAX_ITEMS:
            self._items.append(item)
        else:
            self.skipped["too_many"] += 1

    def add(
        self,
        *,
        title: str,
        title_is_html: bool,
        link: str,
        article_id: str,
        published: datetime | None,
        dates: Sequence[str],
        summary: str = "",
        content: str = "",
        tags: Sequence[str] = (),
        publisher: str = "",
        tickers: Sequence[str] = (),
    ) -> None:
        """Takes an entry as an item, or counts why not. `dates` are those that it gave, as they are written, in the
        order in which they count; some may be empty."""
        headline = headline_text(title, is_html=title_is_html)
        if not headline:
            self.skipped["no_title"] += 1
            return
        url = _usable(link)
        if not url:
            self.skipped["link_refused" if link else "no_link"] += 1
            return
        mended: list[str] = []
        if len(headline) > MAX_HEADLINE:
            mended.append("headline_cut")
            headline = headline[:MAX_HEADLINE].rstrip()
        if len(article_id) > MAX_ID:
            mended.append("id_ignored")
            article_id = ""
        if len(summary) > MAX_HTML or len(content) > MAX_HTML:
            mended.append("text_cut")
            summary, content = summary[:MAX_HTML], content[:MAX_HTML]
        flag: PublishedFlag | None = None
        if published is None:
            flag = "unparsable" if any(dates) else "missing"
            self.warnings[f"date_{flag}"] += 1
        kept_tags = self._tags(tags, mended) if tags else ()
        self.warnings.update(mended)
        if len(self._items) >= MAX_ITEMS:
            self.skipped["too_many"] += 1
            return
        self._items.append(
            RawItem(
                article_id or None,
                url,
                headline,
                published,
                flag,
                summary,
                content,
                kept_tags,
                normalized_tickers(tickers),
                one_line(publisher) or None if publisher else None,
                next(filter(None, dates), ""),
                tuple(mended),
            )
        )

    def finished(self) -> tuple[RawItem, ...]:
        """All items. An id that repeats identifies none of those that have it, nor does a URL that stands for an id and
        repeats under other headlines."""
        ids = [item.article_id for item in self._items if item.article_id is not None]
        items = self._items
        if len(set(ids)) < len(ids):
            repeated = {each for each, count in Counter(ids).items() if count > 1}
            items = [_unidentified(item) if item.article_id in repeated else item for item in items]
            self.warnings["id_repeated"] += sum(1 for each in ids if each in repeated)
        urls = [item.url for item in items if item.article_id is None]
        if len(set(urls)) < len(urls):
            said = {(item.url, item.headline) for item in items if item.article_id is None}
            shared = {url for url, count in Counter(url for url, _ in said).items() if count > 1}
            sharing = [item.article_id is None and item.url in shared for item in items]
            items = [_sharing(item) if is_one else item for item, is_one in zip(items, sharing, strict=True)]
            if any(sharing):
                self.warnings["url_repeated"] += sum(sharing)
        return tuple(items)

    def document(self, version: str, title: str) -> ParsedDocument:
        """The items with what was counted of them."""
        items = self.finished()
        return ParsedDocument(version, items, title, warnings=dict(self.warnings), skipped=dict(self.skipped))

    def _tags(self, tags: Sequence[str], mended: list[str]) -> tuple[str, ...]:
        """Each once, in order, on one line."""
        kept = dict.fromkeys([one_line(tag) for tag in tags if len(tag) <= MAX_TAG])
        kept.pop("", None)
        if len(kept) > MAX_TAGS:
            mended.append("tags_cut")
            return tuple(kept)[:MAX_TAGS]
        return tuple(kept)


def normalized_tickers(symbols: Iterable[str]) -> tuple[str, ...]:
    """In upper case, each once."""
    return tuple(dict.fromkeys(symbol.strip().upper() for symbol in symbols if symbol.strip()))


def _unidentified(item: RawItem) -> RawItem:
    return item._replace(article_id=None, mended=(*item.mended, "id_repeated"))


def _sharing(item: RawItem) -> RawItem:
    return item._replace(url_shared=True, mended=(*item.mended, "url_repeated"))


def _usable(link: str) -> str:
    """An absolute http or https URL without spaces that names a host; or nothing.

    Without a user: that is a secret that slipped out, or `https://bank.example@elsewhere.example/`. Browsers take a
    backslash for a slash, so that a host with one is another host to them.
    """
    link = _USER.sub(r"\1", one_line(link).replace(" ", "%20"))
    if not link or len(link) > MAX_URL or not _WEB_URL.fullmatch(link):
        return ""
    try:
        normalize_url(link)
    except ValueError:
        return ""
    return link


def as_html(text: str, *, is_html: bool) -> str:
    """Text of a summary or content as HTML, whatever it says that it is."""
    if is_html or ("<" not in text and "&" not in text) or looks_like_html(text):
        return text
    return html.escape(text, quote=False)
