"""Trends, movements and mentions over HTTP."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import quote

import pytest

from models.values import format_time
from services.container import Container
from tests.functional.api.conftest import call
from tests.functional.api.test_tools import add, store

HEADLINES = ("Quorvia suffers a terrible outage", "Quorvia is a joy to use")


@pytest.fixture
async def articles(app: Container) -> list[str]:
    """Two articles about the tool, analysed, and counted in its figures."""
    await add("Quorvia", aliases=["Quorvia DB"])
    found = [await store(app, number, headline) for number, headline in enumerate(HEADLINES, 1)]
    for each in found:
        await app.mentions.analysis.handle([each])
    assert (await call("get_tool_sentiment", "period=DAY_7", tool="Quorvia")).json["total_mentions"] == len(found)
    return found


def this_week(app: Container) -> str:
    now = app.clock()
    start, end = format_time(now - timedelta(days=7)), format_time(now + timedelta(hours=1))
    return f"from={quote(start)}&to={quote(end)}"


async def test_trends_are_the_aggregates_of_all_tools_with_what_went_before(
    app: Container, articles: list[str]
) -> None:
    answer = await call("list_trends", "period=DAY_7")
    (row,) = answer.json["items"]
    aggregate = (await call("get_tool_sentiment", "period=DAY_7", tool="Quorvia")).json
    shared = row.keys() & aggregate.keys()
    assert {name: row[name] for name in shared} == {name: aggregate[name] for name in shared}
    assert row.keys() - shared == {"aliases", "tickers", "change", "trend"}
    assert (row["aliases"], sum(row["trend"]["mentions"]), len(row["trend"]["mentions"])) == (["Quorvia DB"], 2, 14)
    refused = await call("list_trends", "period=HOUR_1")
    assert (refused.status, refused.json["field"]) == (400, "period")


async def test_a_movement_has_what_a_figure_is_made_of(app: Container, articles: list[str]) -> None:
    found = (await call("get_movement", this_week(app), tool="Quorvia")).json
    assert (found["tool"], found["present"]["total_mentions"], found["entered"], found["left"]) == ("Quorvia", 2, 2, 0)
    assert (found["difference"], found["previous"]["total_mentions"], found["complete"]) == (None, 0, True)
    assert sorted(each["headline"] for each in found["stories"]) == sorted(HEADLINES)
    assert [(each["name"], each["mentions"], each["in_headline"]) for each in found["names"]] == [("Quorvia", 2, 2)]
    assert (found["languages"], found["languages_of"]) == ([{"language": "en", "articles": 2}], 2)
    assert sum(each["share"] for each in found["sources"]) == 1.0
    refused = await call("get_movement", this_week(app).partition("&")[0] + "&to=9999-01-01T00:00:00Z", tool="Quorvia")
    assert (refused.status, refused.json["field"]) == (400, "to")


async def test_mentions_are_listed_by_time_and_sentiment(app: Container, articles: list[str]) -> None:
    assert len((await call("list_mentions", tool="Quorvia")).json["items"]) == 2
    (negative,) = (await call("list_mentions", "sentiment=negative", tool="Quorvia")).json["items"]
    assert negative["headline"] == HEADLINES[0]
    at = quote(min(each["published_at"] for each in (await call("list_mentions", tool="Quorvia")).json["items"]))
    assert (await call("list_mentions", f"until={at}", tool="Quorvia")).json["items"] == []
    since = (await call("list_mentions", f"since={at}&limit=1", tool="Quorvia")).json
    assert len(since["items"]) == 1
    wrong = await call("list_mentions", f"since={at}&until={at}", tool="Quorvia")
    assert (wrong.status, wrong.json["field"]) == (400, "until")


async def test_a_mention_is_read_passage_by_passage_with_the_words_that_decided(
    app: Container, articles: list[str]
) -> None:
    found = (await call("get_mention", tool="Quorvia", article_id=articles[0])).json
    mention = found["mention"]
    (passage,) = found["passages"]
    assert (passage["text"], passage["where"], passage["weight"]) == (HEADLINES[0], "HEADLINE", 1.0)
    assert (passage["sentiment"], passage["polarity"]) == (mention["sentiment"], mention["polarity"])
    assert (passage["names"], passage["other_names"]) == ([[0, 7]], [])
    assert found["judged_by"] == f"{mention['analyzer']}/{mention['analyzer_version']}"
    assert {word["word"] for word in passage["deciding_words"]} & {"terrible", "outage"}


async def test_a_mention_that_is_not_there_is_404(app: Container, articles: list[str]) -> None:
    await add("Corvane")
    assert (await call("get_mention", tool="Corvane", article_id=articles[0])).status == 404
    assert (await call("get_mention", tool="Quorvia", article_id="dedup:none")).status == 404
    judged = {"article": articles[0], "verdict": "not_this_tool", "author": "Ada"}
    assert (await call("make_correction", tool="Quorvia", body=judged)).status == 201
    assert (await call("get_mention", tool="Quorvia", article_id=articles[0])).status == 404
