"""The adapter of Azure AI Language, through Microsoft's SDK, against a stand-in at the wire."""

import logging
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from models.errors import Unavailable
from services.mentions.analyzers.azure_language import BATCH, LONGEST_TEXT, AzureLanguageAnalyzer
from services.mentions.analyzers.port import Judgement, NotJudged, Passage
from services.tools.matching import Span
from tests.unit.mentions.language_server import LanguageServer, fault, language_server


@asynccontextmanager
async def analyzing(**options: Any) -> AsyncIterator[tuple[LanguageServer, AzureLanguageAnalyzer]]:
    async with language_server() as server:
        analyzer = AzureLanguageAnalyzer(server.url, key="a-key", retry_delay_seconds=0.0, **options)
        try:
            yield server, analyzer
        finally:
            await analyzer.close()


async def judged(analyzer: AzureLanguageAnalyzer, texts: Sequence[str]) -> list[Judgement | NotJudged]:
    return [each.whole for each in await analyzer.analyze([Passage(text) for text in texts])]


async def test_judgements_come_in_the_order_of_the_texts() -> None:
    async with analyzing() as (server, analyzer):
        found = await judged(analyzer, ["positive 0.9 0.08 0.02", "negative 0.1 0.2 0.7", "what it is"])
    assert found == [
        Judgement("positive", 0.9, 0.88),
        Judgement("negative", 0.7, -0.6),
        Judgement("neutral", 1.0, 0.0),
    ]
    assert server.keys == ["a-key"]


async def test_texts_go_in_batches_of_ten() -> None:
    async with analyzing() as (server, analyzer):
        found = await judged(analyzer, [f"text {number}" for number in range(23)])
    assert len(found) == 23
    assert [len(texts) for texts in server.texts()] == [BATCH, BATCH, 3]


async def test_a_text_that_the_service_refuses_fails_alone_also_if_the_whole_request_is_refused_for_it() -> None:
    async with analyzing() as (server, analyzer):
        server.refuses = lambda text: text == "bad"
        server.refuses_whole = lambda text: text == "poison"
        found = await judged(analyzer, ["good", "bad", "poison"])
    assert found[1:] == [NotJudged("refused: InvalidDocument"), NotJudged("refused with 400")]
    assert isinstance(found[0], Judgement)
    assert [len(texts) for texts in server.texts()] == [3, 1, 1, 1]


async def judged_tools(text: str, *names: str) -> dict[str, Judgement | NotJudged]:
    """By name, what the analyzer says about the tools with these names."""
    places = {name: tuple(Span(*each.span()) for each in re.finditer(name, text)) for name in names}
    async with analyzing() as (_, analyzer):
        [found] = await analyzer.analyze([Passage(text, places)])
    return dict(found.tools)


async def test_a_tool_gets_the_opinions_about_its_names() -> None:
    found = await judged_tools("Alpha is good while Beta is bad, and Gamma is odd.", "Alpha", "Beta", "Gamma")
    assert found == {
        "Alpha": Judgement("positive", 0.8, 0.6),
        "Beta": Judgement("negative", 0.7, -0.4),
        "Gamma": Judgement("neutral", 1.0, 0.0),
    }


async def test_a_tool_without_an_opinion_gets_the_sentences_that_name_it() -> None:
    found = await judged_tools("negative 0 0 1 Beta. Alpha. positive 1 0 0 Alpha.", "Alpha", "Beta")
    assert found == {"Alpha": Judgement("positive", 0.5, 0.5), "Beta": Judgement("negative", 1.0, -1.0)}


async def test_several_opinions_about_a_tool_are_taken_together() -> None:
    found = await judged_tools("Alpha is good. Alpha is bad. Beta is good and Beta is good.", "Alpha", "Beta")
    assert found["Alpha"] == Judgement("neutral", 0.9, 0.0)
    assert found["Beta"] == Judgement("positive", 0.8, 0.6)


async def test_each_text_goes_with_its_language() -> None:
    async with analyzing() as (server, analyzer):
        await analyzer.analyze([Passage("gut", language="de"), Passage("good")])
    assert [each["language"] for each in server.requests[0]["analysisInput"]["documents"]] == ["de", "en"]
    assert {"en", "de", "fr", "es", "pt", "ja", "zh"} <= analyzer.languages
    assert "und" not in analyzer.languages


@pytest.mark.parametrize("text", ["mixed 0.5 0.1 0.4", "positive 0.4 0.1 0.5", "negative 0.5 0.1 0.4"])
async def test_mixed_and_what_contradicts_itself_is_neutral(text: str) -> None:
    async with analyzing() as (_, analyzer):
        assert await judged(analyzer, [text]) == [Judgement("neutral", 0.9, 0.0)]


async def test_a_passing_fault_is_retried() -> None:
    async with analyzing() as (server, analyzer):
        server.faults = [fault(503), fault(429, **{"Retry-After": "0"})]
        found = await judged(analyzer, ["fine"])
    assert found == [Judgement("neutral", 1.0, 0.0)]
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "headers", "retries", "requests", "retry_after"),
    [(503, {}, 2, 3, None), (401, {}, 3, 1, None), (429, {"Retry-After": "7"}, 0, 1, 7.0)],
    ids=["after a few tries", "with a wrong key at once", "with the time that the service asks for"],
)
async def test_faults_without_end_are_unavailable(
    status: int, headers: dict[str, str], retries: int, requests: int, retry_after: float | None
) -> None:
    async with analyzing(retries=retries) as (server, analyzer):
        server.faults = [fault(status, **headers) for _ in range(10)]
        with pytest.raises(Unavailable, match=str(status)) as caught:
            await judged(analyzer, ["fine"])
    assert (len(server.requests), caught.value.retry_after) == (requests, retry_after)


async def test_a_service_that_asks_to_wait_too_long_is_unavailable_within_the_budget() -> None:
    async with analyzing(budget_seconds=0.2) as (server, analyzer):
        server.faults = [fault(429, **{"Retry-After": "60"})]
        with pytest.raises(Unavailable, match="TimeoutError"):
            await judged(analyzer, ["fine"])


async def test_no_more_of_a_text_is_sent_than_the_service_takes() -> None:
    async with analyzing() as (server, analyzer):
        await judged(analyzer, ["x" * 20_000])
    assert [len(text) for texts in server.texts() for text in texts] == [LONGEST_TEXT]


async def test_each_request_asks_to_keep_no_texts_and_names_the_model() -> None:
    async with analyzing() as (server, analyzer):
        await judged(analyzer, ["fine"])
    assert analyzer.version == "2023-04-01/opinions/latest"
    assert server.requests[0]["parameters"] == {
        "loggingOptOut": True,
        "modelVersion": "latest",
        "opinionMining": True,
        "stringIndexType": "UnicodeCodePoint",
    }


async def test_no_text_reaches_a_log_or_an_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with analyzing(retries=0) as (server, analyzer):
        server.refuses_whole = lambda text: "unmistakable" in text
        refused = await judged(analyzer, ["unmistakable words"])
        server.faults = [fault(500)]
        with pytest.raises(Unavailable) as caught:
            await judged(analyzer, ["unmistakable words"])
    assert "unmistakable" not in caplog.text + str(refused) + str(caught.value)
