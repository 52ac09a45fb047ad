"""The specification's example: one article that Tiingo and Finnhub both have, under their own names for it."""

import json
from datetime import UTC, datetime
from typing import Any

from models.article import Article
from models.run import IngestionBatch
from services.articles.poll import FeedPoller
from services.feeds.news_apis import enabled_apis
from services.fetch.outcome import FetchResult, FetchStatus, credentials_in
from services.settings import ApiAccess, Settings
from services.store.containers import FEEDS
from tests.functional.articles.world import Page, World
from tests.unit.articles.builders import not_registered

PUBLISHED = datetime(2025, 12, 21, 13, 0, 0, tzinfo=UTC)
TIINGO = [
    {
        "id": 91144751,
        "title": "Apple Reports Q4 Earnings Beat - Reuters",
        "url": "https://www.fool.com.au/2025/12/21/apple/",
        "publishedDate": "2025-12-21T13:00:00Z",
        "crawlDate": "2025-12-21T14:28:00Z",
        "source": "fool.com.au",
        "description": "Apple beat what was expected of it.",
        "tickers": ["aapl"],
        "tags": ["Earnings"],
    }
]
FINNHUB = [
    {
        "id": "abc-123-def",
        "headline": "Apple reports Q4 earnings beat",
        "url": "https://finnhub.io/api/news?id=abc-123-def",
        "datetime": int(PUBLISHED.timestamp()),
        "source": "reuters",
        "summary": "It was expected to earn less.",
        "related": "AAPL",
        "category": "company",
    }
]


async def asking(world: World, *names: str, tickers: tuple[str, ...] = ("AAPL",)) -> World:
    """The world with tokens for these APIs, and their feeds."""
    tokens = {name: ApiAccess(f"{name}-token") for name in names}
    settings = Settings(store="sqlite", news_apis=tokens, api_tickers=tickers)
    feeds = [api.feed(world.clock.now).to_document() for api in enabled_apis(settings).values()]
    await world.store.create_many(FEEDS.name, feeds)
    return World(world.store, world.clock, settings)


async def test_the_example_is_one_article_with_two_sources_and_two_observations(world: World) -> None:
    world.clock.now = datetime(2025, 12, 21, 14, 28, 0, tzinfo=UTC)
    world = await asking(world, "tiingo", "finnhub", tickers=("AAPL", "ZZZZ"))
    world.shelf.pages["https://api.tiingo.com/tiingo/news"] = Page(json.dumps(TIINGO).encode())
    world.shelf.pages["https://finnhub.io/api/v1/company-news"] = Page(json.dumps(FINNHUB).encode())
    first = [await world.poll(name) for name in ("tiingo", "finnhub")]
    world.clock.forward(minutes=1)
    again = [await world.poll(name) for name in ("tiingo", "finnhub")]

    article = Article.from_document(await world.article())
    assert article.source_id == "dedup:" + article.dedup_key
    assert article.normalized_headline == "apple reports q4 earnings beat"
    assert (article.headline, article.sources) == (TIINGO[0]["title"], ("tiingo", "finnhub"))
    assert article.matched_tickers == ("AAPL",)
    attributed = {
        name: (each.article_id, each.url, each.original_headline, each.source_name)
        for name, each in article.source_attribution.items()
    }
    assert attributed == {
        "tiingo": ("91144751", TIINGO[0]["url"], TIINGO[0]["title"], "fool.com.au"),
        "finnhub": ("abc-123-def", FINNHUB[0]["url"], FINNHUB[0]["headline"], "reuters"),
    }
    assert [each["source"] for each in await world.observations()] == ["finnhub", "tiingo"]
    assert first[0] == [article.source_id]
    assert again == [[], []]
    run = IngestionBatch.from_document((await world.runs())[0])
    assert run.tickers_processed == ("AAPL", "ZZZZ")


async def test_apis_are_asked_about_the_tools_that_are_watched_too() -> None:
    async def watched() -> tuple[str, ...]:
        return ("QRVA", "AAPL")

    asked: list[str] = []

    class Listening:
        async def fetch(self, request: Any) -> Any:
            asked.append(request.url)
            return FetchResult(FetchStatus.NOT_FOUND, request.url)

    settings = Settings(store="sqlite", news_apis={"finnhub": ApiAccess("f")}, api_tickers=("AAPL",))
    apis, now = enabled_apis(settings), datetime(2026, 2, 21, tzinfo=UTC)
    asking = FeedPoller(Listening(), apis, credentials_in({}), watched, not_registered)
    assert await asking.tickers(["feed", "finnhub"]) == ("AAPL", "QRVA")
    async with asking.polled(apis["finnhub"].feed(now), now):
        pass
    assert "symbol=AAPL" in asked[0]
