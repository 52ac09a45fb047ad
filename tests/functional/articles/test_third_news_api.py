"""A news API is added by its module and one entry in the table: the app then polls it, and knows its settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from models.feed import Feed
from services import container
from services.parse.collected import Collected
from services.parse.dates import parse_date
from services.parse.json_documents import text_of
from services.parse.news_apis import NEWS_APIS, NewsApi
from services.settings import Settings, table
from services.store.containers import FEEDS
from tests.builders import MemoryQueues, existing
from tests.functional.articles.world import SettableClock


def query(tickers: Sequence[str], first: date, last: date) -> Mapping[str, str]:
    return {"about": "+".join(tickers), "days": f"{first}/{last}"}


def collect(article: Mapping[str, Any], collected: Collected) -> None:
    collected.add(
        title=text_of(article, "name"),
        title_is_html=False,
        link=text_of(article, "at"),
        article_id=text_of(article, "key"),
        published=parse_date(text_of(article, "when")),
        dates=[text_of(article, "when")],
        tickers=[text_of(article, "about")],
    )


NEWSWIRE = NewsApi(
    name="newswire",
    title="Newswire",
    base_url="https://newswire.example",
    path="/stories",
    auth_header="X-Key",
    auth_format="key={}",
    tickers_per_request=2,
    query=query,
    collect=collect,
)
WITH_A_THIRD = (*NEWS_APIS, NEWSWIRE)


def story(key: int, name: str, when: str, about: str) -> dict[str, Any]:
    return {"key": key, "name": name, "at": f"https://n.example/{key}", "when": when, "about": about}


STORIES = {
    "AAPL": story(1, "Apple opens a shop", "2026-02-21T19:00:00Z", "AAPL"),
    "TSLA": story(2, "Tesla closes a plant", "2026-02-21T19:30:00Z", "TSLA"),
}


class Newswire:
    """The API, on this machine."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        app = web.Application()
        app.router.add_get("/stories", self._stories)
        self.server = TestServer(app)

    async def _stories(self, request: web.Request) -> web.Response:
        self.asked.append((request.query["about"], request.query["days"], request.headers["X-Key"]))
        found = [STORIES[ticker] for ticker in request.query["about"].split("+") if ticker in STORIES]
        return web.Response(text=json.dumps(found), content_type="application/json")


async def test_a_third_api_is_polled_from_the_next_claiming_tick_and_its_articles_arrive(
    tmp_path: Path,
) -> None:
    clock = SettableClock(datetime(2026, 2, 21, 20, tzinfo=UTC))
    api = Newswire()
    await api.server.start_server()
    environment = {
        "DATA_DIR": str(tmp_path),
        "AzureWebJobsStorage": "UseDevelopmentStorage=true",
        "ALLOW_PRIVATE_ADDRESSES": "true",
        "API_TICKERS": "AAPL,MSFT,TSLA",
        "NEWSWIRE_TOKEN": "secret",
        "NEWSWIRE_BASE_URL": str(api.server.make_url("")),
    }
    app = await container.build(environment, clock, queues=MemoryQueues(), apis=WITH_A_THIRD)
    try:
        (message,) = await app.feeds.claims.claim_due(clock.now)
        assert list(message.claimed) == ["newswire"]
        await app.fetching.ingestion.ingest(message.run_id)
        assert api.asked == [
            ("AAPL+MSFT", "2026-02-13/2026-02-21", "key=secret"),
            ("TSLA", "2026-02-13/2026-02-21", "key=secret"),
        ]
        document = await existing(app.store, FEEDS.name, "newswire", Feed.ID)
        feed = Feed.from_document(document)
        assert (feed.kind, feed.source_name, feed.feed_url) == (
            "newswire",
            "Newswire",
            f"{api.server.make_url('/stories')}",
        )
        assert (feed.consecutive_errors, feed.total_articles_fetched) == (0, 2)

        clock.forward(hours=1)
        (again,) = await app.feeds.claims.claim_due(clock.now)
        await app.fetching.ingestion.ingest(again.run_id)
        document = await existing(app.store, FEEDS.name, "newswire", Feed.ID)
        assert Feed.from_document(document).total_articles_fetched == 2
        assert api.asked[-1][:2] == ("TSLA", "2026-02-20/2026-02-21")
    finally:
        await app.close()
        await api.server.close()


def test_its_settings_follow_from_its_entry() -> None:
    rows = {row.name: row for row in table(WITH_A_THIRD)}
    assert rows["NEWSWIRE_TOKEN"].secret
    assert rows["NEWSWIRE_BASE_URL"].default == "https://newswire.example"
    assert [row for row in table(WITH_A_THIRD) if row.api != "newswire"] == list(table())
    settings = Settings.from_environment({"NEWSWIRE_TOKEN": "secret"}, WITH_A_THIRD)
    assert "secret" not in repr(settings)
    assert "secret" not in repr(settings.news_apis)
