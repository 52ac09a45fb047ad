"""What is known of each source of an article, and whose reading is canonical."""

from typing import Any

import pytest

from models.article import LISTED_SOURCES, AttributionDocument, ObservationDocument
from services.articles.sources import (
    MAX_SHOWN,
    attribution_of,
    chosen_source,
    observation_id,
    of_list,
    reading,
    with_sources,
)
from services.ports import Listed
from tests import documents
from tests.unit.articles.builders import article_after, attempt, candidate, source


def attributions(**stored: tuple[int, str, int]) -> dict[str, AttributionDocument]:
    return {
        key: {"source_priority": priority, "scraped_at": f"2026-02-{scraped}Z", "stored_ms": stored_ms}
        for key, (priority, scraped, stored_ms) in stored.items()
    }


@pytest.mark.parametrize(
    ("stored", "chosen"),
    [
        ({"a": (1, "20T00:00:00", 1), "b": (2, "21T00:00:00", 2)}, "a"),
        ({"a": (1, "20T00:00:00", 2), "b": (1, "20T00:00:01", 1)}, "b"),
        ({"a": (1, "20T00:00:00", 2), "b": (1, "20T00:00:00", 1)}, "a"),
        ({"b": (1, "20T00:00:00", 9), "a": (1, "20T00:00:00", 10)}, "a"),
    ],
)
def test_the_canonical_source_has_the_lowest_priority_then_the_latest_revision_then_was_stored_last(
    stored: dict[str, tuple[int, str, int]], chosen: str
) -> None:
    assert chosen_source(attributions(**stored)) == chosen


def test_an_observation_is_named_by_source_and_day() -> None:
    assert observation_id("a", "2026-02-21T23:59:59Z") == "obs:a:20260221"


def observed(source: str = "c", day: int = 21, **fields: Any) -> ObservationDocument:
    time = f"2026-02-{day}T20:00:00Z"
    document: ObservationDocument = {
        "id": observation_id(source, time),
        "source": source,
        "created_at": time,
        "source_priority": 5,
        "scraped_at": time,
        "article_id": f"{source}-1",
        "url": f"https://{source}.example/1",
        "headline": "A headline",
        "published_at": "2026-02-21T19:00:00Z",
        "revision": f"r{day}",
    }
    return document | fields


def test_an_attribution_is_made_from_the_first_and_the_last_observation() -> None:
    first = observed(added_by_attempt="run:1:c:2", publisher="Reuters", publisher_url="https://b.example/")
    assert attribution_of([first]) == {
        "article_id": "c-1",
        "url": "https://c.example/1",
        "crawl_timestamp": "2026-02-21T20:00:00Z",
        "original_headline": "A headline",
        "source_name": "Reuters",
        "publisher_url": "https://b.example/",
        "source_priority": 5,
        "published_at": "2026-02-21T19:00:00Z",
        "scraped_at": "2026-02-21T20:00:00Z",
        "revision": "r21",
        "added_by_run": "run:1",
    }
    last = attribution_of([first, observed(day=22), observed(day=23, source_priority=7, headline="Another")])
    assert (last["crawl_timestamp"], last["scraped_at"]) == ("2026-02-21T20:00:00Z", "2026-02-23T20:00:00Z")
    assert (last["source_priority"], last["headline"], last["revision"]) == (7, "Another", "r23")
    assert (last["original_headline"], reading("c", last)["headline"]) == ("A headline", "Another")
    edited = attribution_of([observed(original_headline="The first"), observed(day=22)])
    assert (edited["original_headline"], edited["headline"]) == ("The first", "A headline")
    assert (last["added_by_run"], "source_name" in last) == ("run:1", False)
    assert "added_by_run" not in attribution_of([observed()])


def test_a_reading_names_the_entry_of_its_source() -> None:
    article = article_after(attempt(source("a", 5)), candidate(of=source("a", 5)))
    own = article["source_attribution"]["a"]
    assert reading("a", own) == article["canonical"]
    assert reading("a", own)["article_id"] == "guid-1"
    assert "publisher" not in reading("a", own)
    assert reading("a", {**own, "source_name": "Reuters"})["publisher"] == "Reuters"
    assert "publisher_url" not in reading("a", own)
    assert reading("a", {**own, "publisher_url": "https://b.example/"})["publisher_url"] == "https://b.example/"


@pytest.mark.parametrize(("best", "shown"), [("s1", ("s0", "s1", "s2")), ("s4", ("s0", "s1", "s4"))])
def test_a_list_shows_the_first_sources_and_that_of_the_canonical_reading(best: str, shown: tuple[str, ...]) -> None:
    names = tuple(f"s{number}" for number in range(5))
    known = {each: documents.attribution() for each in names}
    full = documents.article(sources=names, source_attribution=known, canonical=documents.reading(source=best))
    few = with_sources(full, 3)
    assert (few.sources, tuple(few.source_attribution), few.source_count) == (shown, shown, 5)
    assert with_sources(full, 5) is full
    (listed,) = of_list(Listed([full])).items
    assert (listed, LISTED_SOURCES, MAX_SHOWN) == (full, 20, 500)
