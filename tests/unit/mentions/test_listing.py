"""A list of a tool's mentions has all that count, or those of one sentiment, latest first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from models.resources.articles import NamedMention, ObservationResource
from models.stored import WordsJudgement
from services.mentions.listing import mentions_page
from services.store.sqlite import SqliteStore
from tests import documents
from tests.documents import TOOL_ID, article, mention, observation
from tests.unit.conftest import Put

NOW = datetime(2026, 2, 21, 20, tzinfo=UTC)
UNSCORED: dict[str, Any] = {"sentiment": None, "score": None, "polarity": None, "unscored_reason": "LANGUAGE"}
NEGATIVE: dict[str, Any] = {"sentiment": "negative", "polarity": -0.5}


async def said(put: Put, *which: dict[str, Any]) -> None:
    """One mention for each, latest first."""
    for number, fields in enumerate(which):
        at = NOW - timedelta(minutes=number)
        await put(documents.mention(source_id=f"m{number:02}", published_at=at, **fields))


async def pages_of(
    store: SqliteStore, limit: int, sentiment: str | None, since: datetime | None = None
) -> list[list[str]]:
    pages, after = [], None
    while True:
        page = await mentions_page(store, documents.TOOL_ID, limit, after, sentiment, since=since)
        pages.append([each.source_id for each in page.items])
        after = page.next
        if after is None:
            return pages


async def test_pages_are_filled_with_mentions_of_the_sentiment(store: SqliteStore, put: Put) -> None:
    await said(
        put, {}, UNSCORED, NEGATIVE, {"removed_at": NOW}, UNSCORED, {}, {**UNSCORED, "removed_at": NOW}, UNSCORED
    )
    assert await pages_of(store, 3, None) == [["m00", "m01", "m02"], ["m04", "m05", "m07"]]
    assert await pages_of(store, 2, "unscored") == [["m01", "m04"], ["m07"]]
    assert await pages_of(store, 5, "negative") == [["m02"]]
    assert await pages_of(store, 5, "neutral") == [[]]
    assert await pages_of(store, 5, "unscored", NOW - timedelta(minutes=4)) == [["m01", "m04"]]


BAD = WordsJudgement(sentiment="negative", score=0.9, polarity=-0.5)
JUDGED = article(
    status="analyzed", sentiment="positive", score=0.8, polarity=0.5, analyzed_revision="r1", other_words={"r2": BAD}
)
SAID = NamedMention(
    mention(sentiment="neutral", score=0.7, polarity=0.0, revision="r1", other_words={"r2": BAD}), "Quorvia"
)


def test_the_words_that_were_canonical_have_the_judgement_of_article_and_mentions() -> None:
    shown = ObservationResource.of(observation(revision="r1"), JUDGED, [SAID], "full").shown()
    assert (shown["sentiment"], shown["score"], shown["polarity"], shown["unscored_reason"]) == (
        *("positive", 0.8, 0.5),
        None,
    )
    assert shown["tools"] == [
        {
            **{"tool_id": TOOL_ID, "tool": "Quorvia", "sentiment": "neutral"},
            **{"score": 0.7, "polarity": 0.0, "unscored_reason": None},
        }
    ]
    assert shown["revision"] == "r1"
