"""Entries and what becomes of them, as the pure modules of services/articles take them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from models.article import ArticleDocument
from models.raw_item import RawItem
from services.articles.identity import Candidate, Source, SourceAttempt, candidate_of, entry_of
from services.articles.matching import Match
from services.articles.merge import (
    merge,
)

NOW = datetime(2026, 2, 21, 20, 0, 0, tzinfo=UTC)
HEADLINE = "Number one is in the news"


async def no_tickers() -> Sequence[str]:
    return ()


async def not_registered(url: str) -> str | None:
    return None


def source(key: str = "a", priority: int = 999, **fields: Any) -> Source:
    return Source(key, fields.pop("name", key), priority, **fields)


def raw(number: int = 1, **fields: Any) -> RawItem:
    """An entry unlike those of other numbers."""
    default: dict[str, Any] = {
        "article_id": f"guid-{number}",
        "url": f"https://news.example/{number}",
        "headline": f"Number {number} is in the news",
        "published": NOW - timedelta(hours=1),
        "summary_html": "Something has happened.",
    }
    return RawItem(**(default | fields))


def candidate(number: int = 1, *, of: Source | None = None, now: datetime = NOW, **fields: Any) -> Candidate:
    of = of or source()
    return candidate_of(entry_of(of, raw(number, **fields)), of, now)


def attempt(of: Source | None = None, at: datetime = NOW, run_id: str = "run-1", number: int = 1) -> SourceAttempt:
    return SourceAttempt(of or source(), run_id, number, at)


def match(each: Candidate, source_id: str | None = None, **fields: Any) -> Match:
    return Match(each, source_id or each.source_id(), **fields)


def merged(article: ArticleDocument | None, by: SourceAttempt, *candidates: Candidate, **fields: bool) -> Any:
    """What the candidates do to the article, all as matches of one article."""
    first = article["source_id"] if article is not None else candidates[0].source_id()
    return merge(article, None, [match(each, first, **fields) for each in candidates], by)


def article_after(by: SourceAttempt, *candidates: Candidate, article: ArticleDocument | None = None) -> ArticleDocument:
    after: ArticleDocument | None = merged(article, by, *candidates).article
    assert after is not None
    return after
