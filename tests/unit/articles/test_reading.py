"""Articles are found by what they have in common, by new and old ids, and deleted for good."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from models.article import Article
from models.errors import InvalidInput, NotFound
from services.articles.identity import dedup_key, normalize_headline
from services.articles.merge import REDACTED, tombstone
from services.articles.reading import Articles, article_filter
from services.store.containers import ARTICLES
from services.store.sqlite import SqliteStore
from tests.builders import Watch, existing
from tests.documents import NOW, alias, article, attribution, observation, reading
from tests.unit.conftest import Put


def named(headline: str, at: datetime = NOW, **changes: Any) -> Article:
    key = dedup_key(normalize_headline(headline), at.date())
    fields = {"headline": headline, "normalized_headline": normalize_headline(headline), "timestamp": at}
    return article(dedup_key=key, **fields, **changes)


def carried_by(*sources: str) -> dict[str, Any]:
    return {
        "sources": sources,
        "source_attribution": {each: attribution() for each in sources},
        "canonical": reading(source=sources[0]),
    }


@pytest.fixture
def articles(store: SqliteStore, watch: Watch) -> Articles:
    return Articles(store, watch)


async def found(articles: Articles, **given: str) -> list[str]:
    """All headlines, page by page, so that cursors are tried as well."""
    headlines: list[str] = []
    after: str | None = None
    while True:
        page = await articles.page(article_filter(given), 2, after)
        headlines += [each.headline for each in page.items]
        after = page.next
        if after is None:
            return headlines


async def test_articles_are_listed_newest_first_by_all_that_they_have_in_common(articles: Articles, put: Put) -> None:
    scored = {"status": "analyzed", "sentiment": "positive", "score": 0.9}
    await put(
        named("Alpha one ships", NOW - timedelta(hours=3), tags=("release", "alpha")),
        named("Beta two slips", NOW - timedelta(hours=2), **scored, **carried_by("reuters-world", "tiingo")),
        named("Gamma three grows", NOW - timedelta(hours=1), tags=("release",), **scored),
        named("Delta four is gone", NOW).changed(NOW, deleted_at=NOW),
        named("Epsilon five fails", NOW - timedelta(days=2), status="error"),
        observation(),
    )
    newest_first = ["Gamma three grows", "Beta two slips", "Alpha one ships", "Epsilon five fails"]
    assert await found(articles) == newest_first
    assert await found(articles, sentiment="positive") == ["Gamma three grows", "Beta two slips"]
    assert await found(articles, sentiment="positive", tag="release") == ["Gamma three grows"]
    assert await found(articles, status="error") == ["Epsilon five fails"]
    assert await found(articles, status="pending", tag="alpha") == ["Alpha one ships"]
    assert await found(articles, source="reuters-world") == ["Beta two slips"]
    assert await found(articles, since="2026-02-21T18:00:00Z", until="2026-02-21T19:00:00Z") == ["Beta two slips"]
    assert await found(articles, since="2026-02-21T19:00:00 01:00") == newest_first[:2]
    assert await found(articles, tag="nothing has it") == []


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"source": "a b"}, "source"),
        ({"since": "yesterday"}, "since"),
        ({"until": "2026-02-21T20:00:00"}, "until"),
        ({"since": "2026-02-21T20:00:00Z", "until": "2026-02-21T20:00:00Z"}, "until"),
        ({"text": "\u2014 !"}, "text"),
        ({"text": " ".join(f"w{n}" for n in range(21))}, "text"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused_by_name(given: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        article_filter(given)
    assert caught.value.field == field


async def test_an_old_id_leads_to_the_article_through_its_locator(articles: Articles, put: Put) -> None:
    stored = article()
    url = "https://www.fool.com.au/2026/02/21/apple"
    await put(
        stored,
        alias(),
        alias(provider="reuters-world", locator_identity="provider_product_id:https://x.example/?a=1"),
        alias(provider="reuters-world", locator_identity=f"url:{url}"),
        alias(provider="tageblatt", locator_identity="provider_product_id:https://x.example/%C3%9Cbung"),
    )
    for old in (
        "tiingo:91144751",
        "reuters-world:https://x.example/?a=1",
        "reuters-world:https:%2F%2Fx.example%2F?a=1",
        f"tiingo:{url}/?utm_source=rss",
        "tageblatt:https:%2F%2fx.example%2F%C3%9Cbung",
        stored.source_id,
    ):
        assert (await articles.get(old)).source_id == stored.source_id


@pytest.mark.parametrize(
    "article_id",
    [
        "",
        "tiingo:1",
        "a b:1",
        "dedup:../x",
        "dedup:" + "0" * 32,
        "x" * 5000,
        "tiingo:" + "x" * 5000,
        "dedup:%00",
    ],
)
async def test_no_such_article_is_not_found_however_odd_its_id(articles: Articles, article_id: str) -> None:
    with pytest.raises(NotFound):
        await articles.get(article_id)


async def test_the_raw_layer_is_what_each_source_said_day_by_day(articles: Articles, put: Put) -> None:
    await put(
        article(),
        observation(observed_day="2026-02-22", source="tiingo"),
        observation(source="finnhub"),
        observation(source="tiingo", scraped_at=NOW - timedelta(hours=1)),
    )
    seen = await articles.observations(article())
    assert [(each.observed_day, each.source) for each in seen.items] == [
        ("2026-02-21", "tiingo"),
        ("2026-02-21", "finnhub"),
        ("2026-02-22", "tiingo"),
    ]


async def test_a_deleted_article_is_gone_with_every_word_of_it_and_leaves_a_tombstone(
    articles: Articles, put: Put, store: SqliteStore
) -> None:
    stored = named("Zanzibar leaks everything", tags=("zanzibar",))
    await put(stored, observation(source_id=stored.source_id, text="Zanzibar"))
    await articles.delete(stored.source_id)
    await articles.delete(stored.source_id)
    with pytest.raises(NotFound):
        await articles.get(stored.source_id)
    assert await found(articles) == []
    assert (await articles.observations(stored)).items == []
    left = await existing(store, ARTICLES.name, stored.source_id, Article.ID)
    assert "zanzibar" not in str(left).lower()
    assert Article.from_document(left).headline == REDACTED


async def test_a_deletion_that_broke_off_after_the_tombstone_is_finished_by_the_next(
    articles: Articles, put: Put
) -> None:
    await put(tombstone(article(), NOW), observation())
    await articles.delete(article().source_id)
    assert (await articles.observations(article())).items == []
