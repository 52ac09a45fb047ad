"""What entries do to their article: create, join, edit, change its priority, or nothing; and what is written of it."""

from datetime import timedelta
from typing import Any, get_args

import pytest

from models.article import Article, JoinRule, Observation, ObservationDocument
from models.raw_item import LONGEST_DATE
from models.values import format_time, unix_milliseconds
from services.articles.identity import Candidate
from services.articles.merge import JOINED_BY_FIELDS, MAX_SOURCES, MAX_TAGS, analysed_alike, change_of, join_rule, merge
from services.articles.sources import attribution_of
from tests.unit.articles.builders import NOW, article_after, attempt, candidate, match, merged, source

A, B = source("a", 5), source("b", 5)
LATER = NOW + timedelta(minutes=1)
TIME, LATER_TIME = format_time(NOW), format_time(LATER)
MS = unix_milliseconds(NOW)


def by_a(minutes: int = 0, priority: int = 5, **fields: Any) -> Any:
    return attempt(source("a", priority), NOW + timedelta(minutes=minutes), **fields)


def by_b(minutes: int = 0, priority: int = 5, **fields: Any) -> Any:
    return attempt(source("b", priority), NOW + timedelta(minutes=minutes), **fields)


def in_a(**fields: Any) -> Candidate:
    return candidate(of=A, **fields)


def in_b(**fields: Any) -> Candidate:
    return candidate(of=B, **fields)


def observed(one: Any) -> ObservationDocument:
    document: ObservationDocument = one.observation
    return document


def test_a_new_entry_creates_an_article_that_its_model_reads() -> None:
    written = {"date_text": " Sat, 21 Feb 2026 14:00:00  -0500", "language": "en"}
    each = in_a(tags=("t",), tickers=("T",), publisher="Reuters", **written)
    one = merged(None, by_a(), each)
    article = Article.from_document(one.article)
    assert article.to_document() == {
        "entity_type": "Article",
        "schema_version": "1",
        "id": "article",
        "source_id": each.source_id(),
        "created_at": TIME,
        "updated_at": TIME,
        "ttl_timestamp": int(NOW.timestamp()) + 30 * 86_400,
        "dedup_key": each.plain_key,
        "timestamp": "2026-02-21T19:00:00Z",
        "headline": "Number 1 is in the news",
        "normalized_headline": "number 1 is in the news",
        "url_in_key": False,
        "sources": ["a"],
        "source_attribution": {
            "a": {
                "article_id": "guid-1",
                "url": "https://news.example/1",
                "crawl_timestamp": TIME,
                "original_headline": "Number 1 is in the news",
                "source_name": "Reuters",
                "source_priority": 5,
                "published_at": "2026-02-21T19:00:00Z",
                "scraped_at": TIME,
                "stored_ms": MS,
                "revision": each.revision,
                "added_by_run": "run-1",
                "joined_by": "first",
            }
        },
        "canonical": {
            "source": "a",
            "source_priority": 5,
            "observation_id": "obs:a:20260221",
            "article_id": "guid-1",
            "headline": "Number 1 is in the news",
            "url": "https://news.example/1",
            "published_at": "2026-02-21T19:00:00Z",
            "scraped_at": TIME,
            "stored_ms": MS,
            "revision": each.revision,
            "publisher": "Reuters",
        },
        "created_by_run": "run-1",
        "status": "pending",
        "analysis_due_since": TIME,
        "analysis_attempts": 0,
        "metadata": {"published_as_written": "Sat, 21 Feb 2026 14:00:00 -0500", "declared_language": "en"},
        "matched_tickers": ["T"],
        "detected_tickers": [],
        "detected_tool_ids": [],
        "tool_ids_ever_detected": [],
        "tags": ["t"],
        "text_for_analysis": "Something has happened.",
    }
    assert (one.is_new_to_source, one.makes_analysis_due, one.before, one.text_in) == (True, True, None, None)


def test_a_new_entry_is_observed_by_the_attempt_that_created_its_article() -> None:
    each = in_a(tags=("t",), tickers=("T",), publisher="Reuters")
    observation = Observation.from_document(observed(merged(None, by_a(number=2), each)))
    assert observation.to_document() == {
        "entity_type": "Observation",
        "schema_version": "1",
        "id": "obs:a:20260221",
        "source_id": each.source_id(),
        "created_at": TIME,
        "updated_at": TIME,
        "ttl_timestamp": int(NOW.timestamp()) + 30 * 86_400,
        "source": "a",
        "source_priority": 5,
        "observed_day": "2026-02-21",
        "scraped_at": TIME,
        "article_id": "guid-1",
        "url": "https://news.example/1",
        "headline": "Number 1 is in the news",
        "text": "Something has happened.",
        "publisher": "Reuters",
        "published_at": "2026-02-21T19:00:00Z",
        "tags": ["t"],
        "tickers": ["T"],
        "stored_ms": MS,
        "revision": each.revision,
        "parse_warnings": [],
        "added_by_attempt": "run-1:a:2",
        "created_article": True,
        "joined_by": "first",
    }


def test_a_date_that_does_not_count_is_flagged_in_the_article_and_kept_in_the_observation() -> None:
    long = "soon " * 1_000
    one = merged(
        None, by_a(), in_a(published=None, published_flag="unparsable", date_text=long, repairs=("id_repeated",))
    )
    assert one.article["published_flag"] == "unparsable"
    assert one.article["timestamp"] == TIME
    observation = observed(one)
    assert observation["published_flag"] == "unparsable"
    assert observation["parse_warnings"] == ["id_repeated", "date_unparsable"]
    assert LONGEST_DATE == 200
    assert len(observation["raw_value"]) == len(("soon " * 40).strip())
    assert "raw_value" not in observed(merged(None, by_a(), in_a(published=None, date_text=" ")))
    assert "raw_value" not in observed(merged(None, by_a(), in_a(date_text="Sat")))


def test_an_article_whose_key_has_its_url_says_so() -> None:
    assert article_after(by_a(), in_a(headline="Live blog"))["url_in_key"]
    assert article_after(by_a(), in_a(headline="🚀"))["url_in_key"]
    # An alias that a crash left behind may name the plain key of another headline.
    assert merge(None, None, [match(in_a(), "dedup:" + "0" * 32)], by_a()).article == {
        **article_after(by_a(), in_a()),
        "source_id": "dedup:" + "0" * 32,
        "dedup_key": "0" * 32,
        "url_in_key": True,
    }


def test_an_entry_that_has_outlived_its_article_does_not_create_it_again() -> None:
    one = merged(None, by_a(), in_a(), outlived=True)
    assert (one.article, one.observation, one.makes_analysis_due) == (None, None, False)


def test_another_source_joins_the_article() -> None:
    first = article_after(by_a(), in_a(tags=("t",), tickers=("T",)))
    one = merged(first, by_b(1, run_id="run-2"), in_b(article_id="b-1", tags=("u", "t"), tickers=("U",)))
    joined = one.article
    assert joined is not None
    assert Article.from_document(joined)
    assert joined["sources"] == ["a", "b"]
    assert joined["source_attribution"]["a"] == first["source_attribution"]["a"]
    assert joined["source_attribution"]["b"]["added_by_run"] == "run-2"
    assert (joined["created_by_run"], joined["created_at"], joined["updated_at"]) == ("run-1", TIME, LATER_TIME)
    assert (joined["tags"], joined["matched_tickers"]) == (["t", "u"], ["T", "U"])
    assert (one.is_new_to_source, observed(one)["created_article"]) == (True, False)
    assert observed(one)["added_by_attempt"] == "run-2:b:1"
    assert joined["source_attribution"]["b"]["joined_by"] == observed(one)["joined_by"] == "headline_and_day"
    edit = article_after(by_b(2), in_b(article_id="b-1", summary_html="Edited."), article=joined)
    assert edit["source_attribution"]["b"]["joined_by"] == "headline_and_day"


def test_a_source_that_began_earlier_goes_first_though_it_joins_later() -> None:
    first = article_after(by_b(1), in_b())
    assert article_after(by_a(), in_a(), article=first)["sources"] == ["a", "b"]
    assert article_after(by_a(), in_a(), article=first)["updated_at"] == LATER_TIME


def test_a_source_of_better_priority_that_joins_becomes_the_canonical_reading() -> None:
    first = article_after(by_a(), in_a())
    joined = merged(first, by_b(1, priority=4), in_b(headline="NUMBER 1 is in the news!", summary_html="B's text"))
    assert (joined.article["canonical"]["source"], joined.article["text_for_analysis"]) == ("b", "B's text")
    assert joined.article["headline"] == "Number 1 is in the news"
    assert joined.makes_analysis_due
    assert joined.text_in is None


def test_a_source_of_worse_priority_that_joins_changes_no_reading() -> None:
    first = article_after(by_a(), in_a())
    first["status"], first["analysis_attempts"] = "error", 5
    del first["analysis_due_since"]
    joined = merged(first, by_b(1, priority=6), in_b(headline="NUMBER 1 is in the news!", summary_html="B's text"))
    assert (joined.article["canonical"], joined.article["text_for_analysis"]) == (
        first["canonical"],
        "Something has happened.",
    )
    same = merged(first, by_b(1, priority=6), in_b())
    assert not same.makes_analysis_due
    assert (same.article["status"], same.article["analysis_attempts"]) == ("error", 5)
    assert "analysis_due_since" not in same.article


def test_a_source_that_joins_with_words_of_its_own_makes_the_analysis_due_and_one_with_known_words_does_not() -> None:
    first = article_after(by_a(), in_a())
    del first["analysis_due_since"]
    other = in_b(headline="NUMBER 1 is in the news!", summary_html="B's text")
    joined = merged(first, by_b(1, priority=6), other)
    assert joined.makes_analysis_due
    assert joined.article["analysis_due_since"] == LATER_TIME
    del joined.article["analysis_due_since"]
    third = attempt(source("c", 6), NOW + timedelta(minutes=2))
    of_third = candidate(of=source("c", 6), headline="NUMBER 1 is in the news!", summary_html="B's text")
    again = merged(joined.article, third, of_third)
    assert sorted(again.article["sources"]) == ["a", "b", "c"]
    assert not again.makes_analysis_due
    edited = merged(
        joined.article, by_b(2, priority=6), in_b(headline="NUMBER 1 is in the news!", summary_html="Other")
    )
    assert edited.makes_analysis_due
    back = merged(joined.article, by_b(2, priority=6), in_b())
    assert not back.makes_analysis_due


def test_an_edit_changes_the_article_and_keeps_when_and_by_which_run_its_source_was_added() -> None:
    first = article_after(by_a(), in_a())
    edited = merged(first, by_a(1, run_id="run-2"), in_a(headline="Number 1 is back", published=NOW))
    own = edited.article["source_attribution"]["a"]
    assert (own["crawl_timestamp"], own["scraped_at"], own["added_by_run"]) == (TIME, LATER_TIME, "run-1")
    assert (own["original_headline"], own["headline"]) == ("Number 1 is in the news", "Number 1 is back")
    assert own["published_at"] == "2026-02-21T19:00:00Z"
    assert edited.article["canonical"]["headline"] == "Number 1 is back"
    assert edited.article["headline"] == "Number 1 is in the news"
    assert edited.article["timestamp"] == "2026-02-21T19:00:00Z"
    assert (edited.is_new_to_source, edited.makes_analysis_due) == (False, True)
    assert observed(edited)["published_at"] == "2026-02-21T19:00:00Z"
    assert not {"added_by_attempt", "created_article"} & observed(edited).keys()


def test_an_edit_keeps_what_the_observation_of_the_day_recorded() -> None:
    created = merged(None, by_a(), in_a())
    edit = match(in_a(summary_html="Edited"), in_a().source_id())
    edited = observed(merge(created.article, created.observation, [edit], by_a(1)))
    before = observed(created)
    kept = ("id", "created_at", "ttl_timestamp", "added_by_attempt", "created_article")
    assert {name: edited.get(name) for name in kept} == {name: before.get(name) for name in kept}
    assert (edited["text"], edited["scraped_at"], edited["updated_at"]) == ("Edited", LATER_TIME, LATER_TIME)
    joined = {**before, "created_article": False}
    again = observed(merge(created.article, joined, [edit], by_a(1)))
    assert again["created_article"] is False
    old = {name: value for name, value in before.items() if name not in ("added_by_attempt", "created_article")}
    assert not {"added_by_attempt", "created_article"} & observed(merge(created.article, old, [edit], by_a(1))).keys()


def test_the_first_headline_of_a_source_stays_known_through_edits_of_that_day() -> None:
    one = merged(None, by_a(), in_a())
    for minute, headline in enumerate(("Number 1 is back", "Number 1 has left", "Number 1 is in the news"), 1):
        again = match(in_a(headline=headline, summary_html=headline), in_a().source_id())
        one = merge(one.article, observed(one), [again], by_a(minute))
        assert one.article is not None
        own = one.article["source_attribution"]["a"]
        assert attribution_of([observed(one)]) == own
        assert own["original_headline"] == "Number 1 is in the news"
        assert one.article["canonical"]["headline"] == headline
    assert "headline" not in own


def test_of_equal_sources_in_one_second_the_one_stored_last_is_canonical_whatever_their_clocks_and_names() -> None:
    early = NOW + timedelta(milliseconds=900)
    article = article_after(attempt(B, early), in_b())
    article = article_after(by_a(), in_a(), article=article)
    assert article["canonical"]["source"] == "a"
    third = candidate(of=source("0", 5))
    article = article_after(attempt(source("0", 5), NOW), third, article=article)
    assert article["canonical"]["source"] == "0"
    edited = merged(article, attempt(B, early), in_b(summary_html="Edited"))
    assert (edited.article["canonical"]["source"], edited.article["text_for_analysis"]) == ("b", "Edited")


def test_an_article_with_as_many_sources_as_fit_gets_no_other_one() -> None:
    article = article_after(by_a(), in_a())
    assert merged(article | {"sources": ["a"] * (MAX_SOURCES - 1)}, attempt(B, LATER), in_b()).is_new_to_source
    full = merged(article | {"sources": ["a"] * MAX_SOURCES}, attempt(B, LATER), in_b())
    assert (full.article, full.observation, full.is_new_to_source) == (None, None, False)


def test_an_entry_that_is_as_it_was_changes_nothing() -> None:
    first = article_after(by_a(), in_a())
    one = merged(first, by_a(1), in_a())
    assert (one.article, one.observation, one.is_new_to_source, one.makes_analysis_due) == (None, None, False, False)


def test_a_deleted_article_stays_as_it_is() -> None:
    deleted = article_after(by_a(), in_a())
    deleted["deleted_at"] = TIME
    for change in (merged(deleted, by_a(1), in_a(summary_html="Edited")), merged(deleted, by_b(1), in_b())):
        assert (change.article, change.observation) == (None, None)


def test_an_attempt_that_was_overtaken_does_not_write_over_a_later_revision() -> None:
    article = article_after(by_a(2), in_a(summary_html="Later"))
    early = match(in_a())
    own = article["source_attribution"]["a"]
    assert change_of(early, article, own, by_a(1)) == "none"
    assert change_of(early, article, own, by_a(2)) == "edit"


def test_a_changed_priority_is_written_without_a_new_observation() -> None:
    first = article_after(by_a(), in_a())
    one = merged(first, by_a(1, priority=7), in_a())
    assert one.article["source_attribution"]["a"] == {**first["source_attribution"]["a"], "source_priority": 7}
    assert one.article["canonical"]["source_priority"] == 7
    assert (one.observation, one.is_new_to_source, one.makes_analysis_due) == (None, False, False)


def test_a_better_priority_makes_the_sources_reading_canonical_with_its_text() -> None:
    first = article_after(by_a(), in_a(), article=None)
    both = article_after(by_b(1, priority=6), in_b(summary_html="B's text"), article=first)
    one = merged(both, by_b(2, priority=4), in_b(summary_html="B's text"))
    assert (one.article["canonical"]["source"], one.article["text_for_analysis"]) == ("b", "B's text")
    assert one.makes_analysis_due


def test_a_worse_priority_names_the_observation_with_the_other_sources_text() -> None:
    first = article_after(by_a(), in_a())
    both = article_after(by_b(1, priority=6), in_b(summary_html="B's text"), article=first)
    one = merged(both, by_a(2, priority=9), in_a())
    assert (one.article["canonical"]["source"], one.text_in) == ("b", "obs:b:20260221")
    assert merged(both, by_a(2, priority=4), in_a()).text_in is None


@pytest.mark.parametrize(
    ("changed", "alike"),
    [
        ({"text_for_analysis": "other"}, False),
        ({"matched_tickers": ["X"]}, False),
        ({"tags": ["x"]}, False),
        ({"updated_at": LATER_TIME}, True),
    ],
)
def test_an_analysis_reads_text_tickers_and_tags(changed: Any, alike: bool) -> None:
    before = article_after(by_a(), in_a())
    assert analysed_alike(before, {**before, **changed}) is alike


@pytest.mark.parametrize(
    ("url", "alike"),
    [("https://host.example/b", True), ("http://HOST.example/a", True), ("https://b.example/a", False)],
)
def test_an_analysis_reads_of_the_link_only_its_site(url: str, alike: bool) -> None:
    found = article_after(by_a(), in_a())
    before: Any = {**found, "canonical": {**found["canonical"], "url": "https://host.example/a"}}
    after: Any = {**found, "canonical": {**found["canonical"], "url": url}}
    assert analysed_alike(before, after) is alike


@pytest.mark.parametrize(("status", "then"), [("error", "pending"), ("pending", "pending"), ("analyzed", "analyzed")])
def test_an_edit_of_an_article_whose_analysis_failed_is_analysed_at_once(status: str, then: str) -> None:
    """Also while the analysis of the text before waits for its next try."""
    first: Any = article_after(by_a(), in_a())
    first |= {"status": status, "analysis_attempts": 4, "analysis_due_since": "2026-02-22T20:00:00Z"}
    after = article_after(by_a(1), in_a(summary_html="Edited"), article=first)
    assert (after["status"], after["analysis_attempts"], after["analysis_due_since"]) == (then, 0, LATER_TIME)


def test_an_edit_of_a_pending_article_keeps_since_when_its_analysis_is_due() -> None:
    first = article_after(by_a(), in_a())
    assert article_after(by_a(1), in_a(summary_html="Edited"), article=first)["analysis_due_since"] == TIME


def test_an_article_keeps_a_hundred_tags() -> None:
    first = article_after(by_a(), in_a(tags=tuple(f"a{number}" for number in range(60))))
    joined = article_after(by_b(1), in_b(tags=tuple(f"b{number}" for number in range(60))), article=first)
    assert len(joined["tags"]) == MAX_TAGS == 100
    assert joined["tags"][59:61] == ["a59", "b0"]


def in_language(each: Candidate, language: str) -> Candidate:
    return each._replace(language=language)


def test_the_language_of_an_article_is_that_of_its_canonical_reading() -> None:
    german = in_language(in_a(), "de")
    one = merged(None, by_a(), german)
    assert one.article["language"] == one.article["canonical"]["language"] == observed(one)["language"] == "de"
    worse = merged(one.article, by_b(1, priority=9), in_language(in_b(headline="Number 1 is in the NEWS"), "en"))
    assert worse.article["language"] == "de"
    assert worse.article["source_attribution"]["b"]["language"] == observed(worse)["language"] == "en"
    better = merged(one.article, by_b(1, priority=1), in_language(in_b(headline="Number 1 is in the NEWS"), "en"))
    assert better.article["language"] == better.article["canonical"]["language"] == "en"
    assert not analysed_alike(one.article, {**one.article, "language": "en"})


def test_every_rule_says_what_was_in_common() -> None:
    assert set(JOINED_BY_FIELDS) == set(get_args(JoinRule))


@pytest.mark.parametrize(
    ("fields", "matched", "rule"),
    [
        ({}, {}, "headline_and_day"),
        ({"headline": "Weekly notes"}, {}, "url_in_key"),
        ({"headline": "Another headline of theirs"}, {"claimed_by": "a"}, "url"),
        ({}, {"claimed_by": "a"}, "url"),
        ({}, {"claimed_by": "b"}, "headline_and_day"),
        ({"headline": "Another headline of theirs"}, {"source_id": "dedup:" + "0" * 32}, "own_id"),
        ({"article_id": None}, {"source_id": "dedup:" + "0" * 32}, "url"),
    ],
)
def test_the_rule_follows_from_the_match(fields, matched, rule) -> None:  # type: ignore[no-untyped-def]
    found = match(candidate(1, of=source("b"), **fields))._replace(**matched)
    assert join_rule(found, article_after(attempt(), candidate(1)), "b") == rule
    assert join_rule(found, None, "b") == "first"
