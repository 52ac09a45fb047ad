"""A list of articles by any filters has exactly the articles that meet them, newest first, whatever its pages."""

from __future__ import annotations

import asyncio
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from models.article import Article
from models.values import format_time
from services.articles.listing import article_filter, article_words, articles_page
from services.parse.text import words_of
from services.store.sqlite import SqliteStore
from tests.builders import Watch
from tests.documents import NOW
from tests.unit.articles.test_reading import carried_by, named

PARTS = ("Fed", "holds", "rates", "Zürich", "人工智能", "1.2", "don't")
TOOLS = ("1d8b8f0e-0000-4000-8000-000000000001", "1d8b8f0e-0000-4000-8000-000000000002")
texts = st.lists(st.sampled_from(PARTS), max_size=3).map(" ".join)
articles = st.lists(
    st.fixed_dictionaries(
        {
            "headline": st.lists(st.sampled_from(PARTS), min_size=1, max_size=3).map(" ".join),
            "text_for_analysis": texts,
            "minutes": st.integers(0, 3),
            "language": st.sampled_from(["en", "de"]),
            "publisher_id": st.sampled_from([None, "reuters.com", "wsj.com"]),
            "detected_tool_ids": st.sets(st.sampled_from(TOOLS)).map(tuple),
            "source": st.sampled_from(["tiingo", "finnhub"]),
            "sentiment": st.sampled_from([None, "positive", "negative"]),
            "is_deleted": st.sampled_from([False, False, False, True]),
        }
    ),
    max_size=12,
)
filters = st.fixed_dictionaries(
    {},
    optional={
        "text": st.one_of(
            st.lists(st.sampled_from(PARTS), min_size=1, max_size=2).map(" ".join),
            st.lists(st.sampled_from(PARTS), min_size=2, max_size=2).map(lambda two: f'"{" ".join(two)}"'),
        ),
        "tool": st.sampled_from(TOOLS),
        "source": st.sampled_from(["tiingo", "finnhub"]),
        "publisher": st.sampled_from(["reuters.com", "wsj.com"]),
        "language": st.sampled_from(["en", "de"]),
        "sentiment": st.sampled_from(["positive", "negative", "unscored"]),
        "since": st.integers(1, 3).map(lambda minutes: format_time(NOW - timedelta(minutes=minutes))),
        "until": st.integers(-1, 0).map(lambda minutes: format_time(NOW - timedelta(minutes=minutes))),
    },
)


def made(number: int, each: dict[str, Any]) -> Article:
    at = NOW - timedelta(minutes=each["minutes"])
    sentiment = each["sentiment"]
    scored = {"sentiment": sentiment, "score": 0.9} if sentiment else {"unscored_reason": "LANGUAGE"}
    fields = {name: each[name] for name in ("text_for_analysis", "language", "publisher_id", "detected_tool_ids")}
    article = named(f"Number {number}", at, **carried_by(each["source"]), **fields, status="analyzed", **scored)
    canonical = article.canonical.model_copy(update={"headline": each["headline"]})
    article = article.changed(NOW, canonical=canonical)
    return article.changed(NOW, words=article_words(article), deleted_at=NOW if each["is_deleted"] else None)


def meets(article: Article, by: dict[str, str]) -> bool:
    if article.deleted_at is not None:
        return False
    texts = (article.headline, article.canonical.headline, article.text_for_analysis or "")
    text = by.get("text", "")
    if text.startswith('"'):
        phrase = " ".join(words_of(text))
        if not any(f" {phrase} " in f" {' '.join(words_of(each))} " for each in texts):
            return False
    expected = {
        "tool": by.get("tool") in article.detected_tool_ids,
        "source": by.get("source") in article.sources,
        "publisher": by.get("publisher") == article.publisher_id,
        "language": by.get("language") == article.language,
        "sentiment": by.get("sentiment") == (article.sentiment or "unscored"),
        "since": format_time(article.timestamp) >= by.get("since", ""),
        "until": format_time(article.timestamp) < by.get("until", ""),
        "text": set(words_of(text)) <= {word for each in texts for word in words_of(each)},
    }
    return all(expected[name] for name in by)


@settings(max_examples=60, deadline=None)
@given(articles, st.lists(filters, min_size=1, max_size=5), st.integers(1, 5))
def test_a_list_is_what_counting_all_articles_by_hand_gives(
    given_articles: list[dict[str, Any]], given_filters: list[dict[str, str]], limit: int
) -> None:
    stored = [made(number, each) for number, each in enumerate(given_articles)]

    async def check(store: SqliteStore) -> None:
        await store.write_many("articles", [each.to_document() for each in stored])
        for by in given_filters:
            met = [each for each in stored if meets(each, by)]
            met.sort(key=lambda each: (each.timestamp, each.source_id), reverse=True)
            found: list[str] = []
            after: str | None = None
            while True:
                page = await articles_page(store, article_filter(by), limit, after)
                found += [each.source_id for each in page.items]
                if (after := page.next) is None:
                    break
                assert len(page.items) == limit
            assert found == [each.source_id for each in met]

    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = SqliteStore(Path(folder) / "store.db", Watch(NOW))
            try:
                await check(store)
            finally:
                await store.close()

    asyncio.run(run())
