"""The items of one feed document: the checks and limits that all parsers share, and counts of repairs."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from urllib.parse import urlsplit

from models.errors import InvalidInput
from models.raw_item import ParsedDocument, PublishedFlag, RawItem
from services.parse.language import primary_subtag
from services.parse.text import headline_text, looks_like_html, one_line
from services.parse.urls import is_plain_url, normalize_url

MAX_ITEMS = 20_000
MAX_HEADLINE = 1_000
MAX_URL = 4_096
MAX_ID = 1_024
MAX_HTML = 200_000
MAX_TAGS = 100
MAX_TAG = 200

_WEB_URL = re.compile(r"https?://(?:\[[0-9A-Fa-f:.]+\]|[^\s/?#@:\[\]\\]+)(?::[0-9]{1,5})?(?:[/?#]\S*)?", re.I)
_USER = re.compile(r"^(https?://)[^\s/?#\\]*@", re.I)


class Unreadable(InvalidInput):
    """A body that is not of the format that its source should have sent.

    `kind` is for counting and for decisions: "empty", "html", "not_a_feed", "not_json" or "refused". The explanation
    quotes no more of the body than an API's own error message.
    """

    def __init__(self, kind: str, explanation: str) -> None:
        super().__init__("body", explanation)
        self.kind = kind


class Collected:
    """The items of one feed document so far, and the document's title, link, language and version."""

    __slots__ = ("_items", "language", "link", "skipped", "title", "version", "warnings")

    def __init__(self) -> None:
        self._items: list[RawItem] = []
        self.version = self.title = self.link = self.language = ""
        self.warnings: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()

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
        publisher_url: str = "",
        tickers: Sequence[str] = (),
        language: str = "",
    ) -> None:
        """Adds an entry, or counts why it is skipped. `dates` are its dates as written, in order of
        importance; some may be empty. `language` is the tag that the entry declares; without one, it has the
        language of the document so far."""
        headline = headline_text(title, is_html=title_is_html)
        if not headline:
            self.skipped["no_title"] += 1
            return
        url = link if is_plain_url(link) and len(link) <= MAX_URL else _web_url(link)
        if not url:
            self.skipped["link_refused" if link else "no_link"] += 1
            return
        repairs: list[str] = []
        if len(headline) > MAX_HEADLINE:
            repairs.append("headline_cut")
            headline = headline[:MAX_HEADLINE].rstrip()
        if len(article_id) > MAX_ID:
            repairs.append("id_ignored")
            article_id = ""
        if len(summary) > MAX_HTML or len(content) > MAX_HTML:
            repairs.append("text_cut")
            summary, content = summary[:MAX_HTML], content[:MAX_HTML]
        flag: PublishedFlag | None = None
        if published is None:
            flag = "unparsable" if any(dates) else "missing"
            self.warnings[f"date_{flag}"] += 1
        kept_tags = _kept_tags(tags, repairs) if tags else ()
        if repairs:
            self.warnings.update(repairs)
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
                normalized_tickers(tickers) if tickers else (),
                one_line(publisher) or None if publisher else None,
                next(filter(None, dates), ""),
                tuple(repairs),
                language=primary_subtag(language or self.language),
                publisher_url=_of_another_host(publisher_url, url) if publisher_url else "",
            )
        )

    def items(self) -> tuple[RawItem, ...]:
        """All items. An id that several items have is removed from them. Items without an id that have the same URL and
        different headlines are flagged `url_shared`."""
        ids = [item.article_id for item in self._items if item.article_id is not None]
        items = self._items
        if len(set(ids)) < len(ids):
            repeated = {each for each, count in Counter(ids).items() if count > 1}
            items = [_without_id(item) if item.article_id in repeated else item for item in items]
            self.warnings["id_repeated"] += sum(each in repeated for each in ids)
        urls = [item.url for item in items if item.article_id is None]
        if len(set(urls)) < len(urls):
            headlines = {(item.url, item.headline) for item in items if item.article_id is None}
            shared = {url for url, count in Counter(url for url, _ in headlines).items() if count > 1}
            if shared:
                sharing = [item.article_id is None and item.url in shared for item in items]
                items = [_sharing_url(item) if shares else item for item, shares in zip(items, sharing, strict=True)]
                self.warnings["url_repeated"] += sum(sharing)
        return tuple(items)

    def document(self, title: str) -> ParsedDocument:
        items = self.items()
        return ParsedDocument(self.version, items, title, warnings=dict(self.warnings), skipped=dict(self.skipped))


def as_html(text: str, *, is_html: bool) -> str:
    """A summary or content as HTML, whether its source declared it as HTML or as text."""
    if is_html or ("<" not in text and "&" not in text) or looks_like_html(text):
        return text
    return html.escape(text, quote=False)


def normalized_tickers(symbols: Iterable[str]) -> tuple[str, ...]:
    """The symbols in upper case, each once."""
    return tuple(dict.fromkeys(symbol.strip().upper() for symbol in symbols if symbol.strip()))


def _kept_tags(tags: Sequence[str], repairs: list[str]) -> tuple[str, ...]:
    """The tags on one line, each once, in order."""
    kept = dict.fromkeys([one_line(tag) for tag in tags if len(tag) <= MAX_TAG])
    kept.pop("", None)
    if len(kept) > MAX_TAGS:
        repairs.append("tags_cut")
        return tuple(kept)[:MAX_TAGS]
    return tuple(kept)


def _without_id(item: RawItem) -> RawItem:
    return item._replace(article_id=None, repairs=(*item.repairs, "id_repeated"))


def _sharing_url(item: RawItem) -> RawItem:
    return item._replace(url_shared=True, repairs=(*item.repairs, "url_repeated"))


def _of_another_host(link: str, url: str) -> str:
    """The link as `_web_url`; empty if it tells nothing beside `url`."""
    link = _web_url(link)
    return link if link and urlsplit(link).hostname != urlsplit(url).hostname else ""


def _web_url(link: str) -> str:
    """The link as an absolute http or https URL with a host and without spaces; empty if it is not one.

    A user in the URL is removed: it is a secret, or disguises the host (`https://bank.example@elsewhere.example/`). A
    backslash in the host is refused: browsers read it as a slash, and so another host.
    """
    link = _USER.sub(r"\1", one_line(link).replace(" ", "%20"))
    if not link or len(link) > MAX_URL or not _WEB_URL.fullmatch(link):
        return ""
    try:
        normalize_url(link)
    except ValueError:
        return ""
    return link
