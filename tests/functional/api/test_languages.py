"""Articles in other languages and what is not prose, from the feed to the figures."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from services.container import Container
from tests.functional.api.conftest import call
from tests.functional.api.world import app_with_feeds, fetch_all

NOW = datetime.now(UTC) - timedelta(hours=1)
GERMAN = [
    "Quorvia fällt aus: Viele Dienste sind seit heute Morgen nicht erreichbar",
    "Die neue Version von Quorvia ist ein Fehler, sagen die Entwickler",
    "Quorvia 4",
]
ENGLISH = ["Quorvia is great, and users love it", "Nothing new here today - Daily Quorvia"]
FEEDS = {"german": ("<language>en-us</language>", GERMAN), "english": ("<language>en-us</language>", ENGLISH)}


def document(name: str) -> str:
    declared, headlines = FEEDS[name]
    items = "".join(
        f"<item><title>{headline}</title><link>https://{name}.example/{n}</link><guid>{name}{n}</guid>"
        f"<pubDate>{format_datetime(NOW)}</pubDate></item>"
        for n, headline in enumerate(headlines)
    )
    title = "Daily Quorvia" if name == "english" else "Nachrichten"
    return f"<rss version='2.0'><channel><title>{title}</title>{declared}{items}</channel></rss>"


@pytest.fixture
async def ingested(environment: pytest.MonkeyPatch) -> AsyncIterator[Container]:
    async with app_with_feeds(environment, document, {name: {} for name in FEEDS}) as app:
        await fetch_all(app)
        yield app


async def listed(query: str = "") -> dict[str, dict[str, Any]]:
    return {each["headline"]: each for each in (await call("list_articles", query)).json["items"]}


async def test_articles_have_the_language_of_their_texts_and_only_english_is_scored(ingested: Container) -> None:
    articles = await listed("language=de")
    assert set(articles) == set(GERMAN), "the short headline too, though its feed says that it is in English"
    assert {each["unscored_reason"] for each in articles.values()} == {"LANGUAGE"}
    figure = (await call("get_tool_sentiment", tool="Quorvia")).json
    assert (figure["total_mentions"], figure["unscored_mentions"]) == (1, len(GERMAN))
    assert (figure["positive_count"], figure["negative_count"], figure["neutral_count"]) == (1, 0, 0)
    items = (await call("list_tool_articles", tool="Quorvia")).json["items"]
    assert sorted(each["language"] for each in items) == ["de", "de", "de", "en"]
    assert (await call("get_feed", feed_id="german")).json["languages"] == {"de": 2}
    english = await listed("language=en")
    assert set(english) == set(ENGLISH), "the headline is served whole"
    named = [bool(english[each]["detected_tool_ids"]) for each in ENGLISH]
    assert named == [True, False], "a feed that is named like a tool does not mention it with its name"
