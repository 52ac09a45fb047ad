"""What is left of an article without one of its sources, and what the source becomes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest

from models.article import Article, ArticleDocument
from models.observation import Observation, ObservationDocument
from services.articles.identity import dedup_key
from services.articles.merge import merge
from services.articles.moving import (
    destination,
    in_article,
    keys_of,
    latest_attribution,
    new_article,
    not_older,
    own_attribution,
    with_present_time,
    with_source,
    without_source,
)
from tests.unit.articles.builders import NOW, attempt, candidate, match, source

HOUR = timedelta(hours=1)
LATER = "2026-02-21T23:00:00Z"
ENTRIES: dict[str, dict[str, Any]] = {
    "a": {"tags": ("shared", "first"), "tickers": ("A",), "published": NOW - 4 * HOUR, "summary_html": "By a."},
    "b": {"tags": ("shared", "second"), "tickers": ("B",), "published": NOW - 2 * HOUR, "summary_html": "By b."},
    "c": {"published": NOW - 3 * HOUR, "summary_html": "By c."},
}


def brought(*keys: str, most_listed: int = 20) -> tuple[ArticleDocument, list[ObservationDocument]]:
    """The article of these sources, in this order, an hour apart; each has a better priority than the one before."""
    article: ArticleDocument | None = None
    observations = []
    for number, key in enumerate(keys):
        by = source(key, 10 - number)
        entry = candidate(1, of=by, article_id=f"{key}-1", url=f"https://{key}.example/1", **ENTRIES[key])
        name = entry.source_id() if article is None else article["source_id"]
        done = merge(article, None, [match(entry, name)], attempt(by, NOW + number * HOUR), most_listed=most_listed)
        article = done.article or article
        assert done.observation is not None
        observations.append({**done.observation, "_etag": key})
    assert article is not None
    return article, cast("list[ObservationDocument]", observations)


def split(keys: str, key: str, **options: int) -> tuple[ArticleDocument, ArticleDocument]:
    """The article that is left, and the new one."""
    article, observations = brought(*keys, **options)
    own = [each for each in observations if each["source"] == key]
    attribution = own_attribution(article, own, key)
    assert attribution is not None
    made = new_article(attribution, own, key, keys_of(article, attribution, key)[0], LATER)
    return without_source(article, observations, key, made["source_id"], LATER), made


@pytest.mark.parametrize("most_listed", [1, 20])
@pytest.mark.parametrize("key", ["a", "b", "c"])
def test_both_articles_are_those_of_their_own_sources(key: str, most_listed: int) -> None:
    left, made = split("abc", key, most_listed=most_listed)
    for each in (left, made):
        Article.from_document(each)
        assert each["analysis_due_since"] <= LATER == each["grouping_due_since"]
    assert made["sources"] == [key]
    assert made["source_attribution"][key]["joined_by"] == "person"
    assert (made["text_for_analysis"], made["tags"]) == (f"By {key}.", list(ENTRIES[key].get("tags", ())))
    assert key not in left["source_attribution"]
    assert left["moved_sources"] == {key: made["source_id"]}
    assert left["canonical"]["source"] == ("b" if key == "c" else "c"), "the best priority that is left"
    assert left["text_for_analysis"] == f"By {left['canonical']['source']}."


def test_without_its_first_source_an_article_has_time_and_headline_of_the_next() -> None:
    left, made = split("ab", "a")
    assert (left["timestamp"], left["created_at"]) == ("2026-02-21T18:00:00Z", "2026-02-21T21:00:00Z")
    assert (made["timestamp"], made["created_at"]) == ("2026-02-21T16:00:00Z", "2026-02-21T20:00:00Z")
    assert left["ttl_timestamp"] == int((NOW + HOUR + timedelta(days=30)).timestamp())
    other, _ = split("ab", "b")
    assert other["timestamp"] == "2026-02-21T16:00:00Z"


def test_tags_and_tickers_that_only_the_source_gave_go_with_it() -> None:
    left, made = split("ab", "a")
    assert (left["tags"], left["matched_tickers"]) == (["shared", "second"], ["B"])
    assert (made["tags"], made["matched_tickers"]) == (["shared", "first"], ["A"])


@pytest.mark.parametrize("most_listed", [1, 20])
@pytest.mark.parametrize("key", ["a", "b", "c"])
def test_a_source_that_returns_leaves_the_article_as_it_was(key: str, most_listed: int) -> None:
    article, observations = brought("a", "b", "c", most_listed=most_listed)
    own = [each for each in observations if each["source"] == key]
    left = without_source(article, observations, key, "dedup:" + "0" * 32, LATER)
    attribution = own_attribution(article, own, key)
    assert attribution is not None
    found = with_source(left, attribution, own, key, LATER, is_first=article["sources"][0] == key)
    Article.from_document(found)
    for name in ("timestamp", "headline", "created_at", "canonical", "text_for_analysis", "created_by_run"):
        assert found.get(name) == article.get(name), name
    assert "moved_sources" not in found
    if most_listed == 20:
        assert (found["sources"], found["source_attribution"]) == (article["sources"], article["source_attribution"])
    (moved,) = in_article(own, found, key)
    listed = key in found["source_attribution"]
    assert moved.get("article_timestamp") == (None if listed else found["timestamp"])
    Observation.from_document(moved)


def test_the_time_of_an_article_is_that_of_its_further_sources_too() -> None:
    article, observations = brought("a", "b", "c", most_listed=1)
    left = without_source(article, observations, "a", "dedup:" + "0" * 32, LATER)
    changed = with_present_time(left, observations[1:])
    assert {each["source"]: each.get("article_timestamp") for each in changed} == {"b": None, "c": left["timestamp"]}
    assert with_present_time(article, observations) == []


def test_an_article_whose_last_source_leaves_is_a_tombstone_that_leads_there() -> None:
    article, observations = brought("a")
    emptied = without_source(article, observations, "a", "dedup:there", LATER)
    assert (emptied["headline"], emptied["deleted_at"]) == ("[deleted]", LATER)
    assert (destination(emptied, "a"), destination(emptied, "x")) == ("dedup:there", "dedup:there")


def test_only_a_source_that_was_moved_goes_elsewhere() -> None:
    left, made = split("ab", "b")
    assert (destination(left, "b"), destination(left, "a")) == (made["source_id"], None)
    assert (destination(made, "b"), destination(None, "b")) == (None, None)
    deleted = cast("ArticleDocument", {**left, "deleted_at": LATER})
    assert (destination(deleted, "b"), destination(deleted, "a")) == (made["source_id"], None)


def test_the_key_is_that_of_headline_day_and_url_or_one_of_its_own() -> None:
    article, _ = brought("a", "b")
    own = article["source_attribution"]["b"]
    first, second = keys_of(article, own, "b")
    headline = article["normalized_headline"]
    assert first == (dedup_key(headline, NOW.date(), "https://b.example/1"), headline)
    assert second.dedup_key not in (first.dedup_key, article["dedup_key"])
    assert second != keys_of(article, own, "a")[1]


def test_what_was_ingested_at_either_place_is_kept() -> None:
    article, observations = brought("a")
    known = article["source_attribution"]["a"]
    edited = {**known, "scraped_at": LATER, "revision": "new", "crawl_timestamp": LATER, "added_by_run": "x"}
    newest = latest_attribution(known, edited, "person")  # type: ignore[arg-type]
    assert newest == {**known, "scraped_at": LATER, "revision": "new", "joined_by": "person"}
    assert latest_attribution(edited, known, None)["revision"] == "new"  # type: ignore[arg-type]
    (stored,) = observations
    later = cast("ObservationDocument", {**stored, "scraped_at": LATER, "created_at": LATER, "headline": "New"})
    (kept,) = not_older([later], [stored])
    assert (kept["headline"], kept["created_at"]) == ("New", stored["created_at"])
    assert not_older([stored], [later]) == []
    assert not_older([stored], []) == [stored]
