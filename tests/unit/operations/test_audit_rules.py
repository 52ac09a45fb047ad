"""What the audit calls a difference, and what it passes over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.article import Article
from models.audit import MOST_EXAMPLES, AuditExample, AuditRound
from models.run import CollisionMetrics
from models.tally import Tally, TimelineHours, by_day
from models.values import format_time
from services.articles.attributions import observation_id
from services.figures.edges import edges_of
from services.figures.windows import Windows
from services.operations import audit, audit_figures, audit_sections
from services.operations.audit_rules import (
    HARMLESS,
    KINDS,
    SURELY_KEPT,
    WINDOWS_JUDGED,
    Difference,
    is_at_rest,
    is_in_flight,
    is_unanalysed,
    judge_analyzers,
    judge_article,
    judge_correction,
    judge_days,
    judge_detected,
    judge_entry,
    judge_feed_total,
    judge_hours,
    judge_mention,
    judge_run,
    judge_windows,
)
from tests import documents

NOW = documents.NOW
HOUR = "2026022110"


def kinds(found: list[Difference]) -> list[str]:
    return [each.kind for each in found]


def test_the_bounds_are_those_of_the_documentation() -> None:
    assert (
        timedelta(days=29), timedelta(days=1), timedelta(days=31),
    ) == (SURELY_KEPT, WINDOWS_JUDGED, audit_figures.JUDGED)  # fmt: skip
    assert (audit.DOCUMENTS_IN_STEP, audit.SECONDS_IN_STEP, audit.READ_AGAIN_AFTER_SECONDS) == (200, 2.0, 2.0)
    assert (audit_sections.DOCUMENTS_IN_PART, audit_sections.FEEDS_IN_PART, audit_sections.RUNS_IN_PART) == (
        100,
        20,
        20,
    )
    assert timedelta(hours=1) == audit_sections.ARTICLE_WRITTEN_WITHIN
    assert (audit.WAITING_PARTS, audit_sections.ATTEMPTS_NAMED_SINCE) == (20, 2)
    assert (audit_figures.MENTIONS_IN_SLICE, MOST_EXAMPLES) == (500, 20)
    assert HARMLESS == {"dangling_alias"} < set(KINDS)


def test_a_step_is_as_large_as_a_round_in_a_day_needs_within_limits() -> None:
    def size(checked: int) -> int:
        return audit.step_size(AuditRound(started_at=NOW, checked=checked))

    assert audit.step_size(None) == 200
    assert (size(200 * 288), size(300 * 288), size(1000 * 288), size(9000 * 288)) == (200, 300, 1000, 1000)


def test_a_round_counts_all_and_names_the_first_differences() -> None:
    found = [AuditExample(kind=("a", "b")[number % 2], subject=str(number), detail="d") for number in range(15)]
    twice = AuditRound(started_at=NOW).plus(7, found).plus(3, found)
    assert (twice.checked, twice.found, len(twice.examples)) == (10, {"a": 16, "b": 14}, 20)
    assert (twice.ended_at, twice.ended(NOW).ended_at) == (None, NOW)


def stored(article: Article) -> dict[str, Any]:
    return {**article.to_document(), "_etag": "1"}


def observations_of(article: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for key, own in article["source_attribution"].items():
        fields = {name: own[name] for name in ("url", "revision", "article_id")}
        name = observation_id(key, own["scraped_at"])
        found.append({**fields, "id": name, "source": key, "headline": own["original_headline"], "_etag": "2"})
    return found


def sound_article(**changes: Any) -> dict[str, Any]:
    document = stored(documents.article(analysis_due_since=NOW, **changes))
    shown = document["canonical"]
    for own in document["source_attribution"].values():
        own.update(revision=shown["revision"], scraped_at=format_time(NOW))
    return document


def test_an_article_agrees_with_its_observations() -> None:
    article = sound_article()
    observations = observations_of(article)
    assert judge_article(article["source_id"], article, observations, NOW) == []
    assert kinds(judge_article("x", article, observations[1:], NOW)) == ["observation_missing"]
    assert judge_article("x", article, observations[1:], NOW + SURELY_KEPT) == []
    for name in ("url", "revision", "headline", "article_id"):
        wrong = [{**observations[0], name: "other"}, *observations[1:]]
        assert kinds(judge_article("x", article, wrong, NOW)) == ["attribution_differs"]
    more = {**observations[0], "id": "obs:other:20260221", "source": "other"}
    assert kinds(judge_article("x", article, [*observations, more], NOW)) == ["source_not_listed"]
    assert judge_article("x", {**article, "has_further_sources": True}, [*observations, more], NOW) == []
    assert kinds(judge_article("x", {**article, "status": "nonsense"}, observations, NOW)) == ["unreadable"]


def test_an_article_is_lost_only_if_the_observation_that_created_it_is_there() -> None:
    observations = observations_of(sound_article())
    assert judge_article("x", None, observations, NOW) == []
    assert kinds(judge_article("x", None, [{**observations[0], "created_article": True}], NOW)) == ["article_missing"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"status": "pending", "analysis_due_since": None}, True),
        ({"status": "pending", "analysis_due_since": NOW}, False),
        ({"status": "error", "analysis_due_since": None}, False),
        ({"status": "pending", "analysis_due_since": None, "deleted_at": NOW}, False),
    ],
)
def test_an_article_that_waits_for_its_analysis_is_due(changes: dict[str, Any], expected: bool) -> None:
    assert is_unanalysed(documents.article(**changes)) is expected


def test_an_analysed_article_is_due_after_an_edit() -> None:
    fields = {"status": "analyzed", "sentiment": "neutral", "score": 0.5, "analysis_due_since": None}
    revision = documents.article().canonical.revision
    assert not is_unanalysed(documents.article(**fields, analyzed_revision=revision))
    assert not is_unanalysed(documents.article(**fields, analyzed_revision=None))
    assert is_unanalysed(documents.article(**fields, analyzed_revision="x"))
    assert not is_unanalysed(documents.article(**{**fields, "status": "error"}, analyzed_revision="x"))


RESTING: dict[str, Any] = {"source_id": "a", "status": "analyzed", "detected_tool_ids": ["t"], "_etag": "1"}
MENTION: dict[str, Any] = {"id": "a", "tool_id": "t", "published_at": format_time(NOW), "_etag": "2"}


def test_only_an_analysed_article_without_a_due_analysis_is_at_rest() -> None:
    assert is_at_rest(RESTING)
    for change in ({"status": "error"}, {"analysis_due_since": "x"}, {"deleted_at": "x"}):
        assert not is_at_rest({**RESTING, **change})


def test_a_tool_that_an_article_names_has_a_mention() -> None:
    assert judge_detected(RESTING, {"t": MENTION}, {"t"}) == []
    assert kinds(judge_detected(RESTING, {"t": None}, {"t"})) == ["mention_missing"]
    assert kinds(judge_detected(RESTING, {"t": {**MENTION, "removed_at": "x"}}, {"t"})) == ["mention_missing"]
    assert judge_detected(RESTING, {"t": None}, ()) == []


def test_a_mention_has_an_article_that_names_its_tool() -> None:
    assert judge_mention(MENTION, RESTING, NOW) == []
    assert judge_mention({**MENTION, "removed_at": "x"}, None, NOW) == []
    assert kinds(judge_mention(MENTION, None, NOW)) == ["mention_without_article"]
    assert judge_mention(MENTION, None, NOW + SURELY_KEPT) == []
    assert kinds(judge_mention(MENTION, {**RESTING, "deleted_at": "x"}, NOW)) == ["mention_of_deleted_article"]
    other = {**RESTING, "detected_tool_ids": []}
    assert kinds(judge_mention(MENTION, other, NOW)) == ["mention_not_detected"]
    assert judge_mention(MENTION, {**other, "analysis_due_since": "x"}, NOW) == []


def test_hours_are_compared_in_the_timeline_and_by_minute() -> None:
    counted, right = {HOUR: {"07": [1, 0, 1, 5]}}, {HOUR: [1, 0, 1, 5]}
    assert judge_hours("t", counted, right, counted) == []
    assert judge_hours("t", {}, {HOUR: [0, 0, 0, 0]}, {HOUR: {}}) == []
    (found,) = judge_hours("t", counted, {HOUR: [1, 0, 0, 5]}, {})
    assert (found.kind, found.about) == ("hour_differs", HOUR)
    assert found.detail == f"{HOUR}: 2 counted, 1 in the timeline, 0 by minute"
    assert kinds(judge_hours("t", counted, right, {HOUR: {"08": [1, 0, 1, 5]}})) == ["hour_differs"]
    assert kinds(judge_hours("t", {}, {}, {HOUR: {"08": [1, 0, 1, 5]}})) == ["hour_differs"]
    assert kinds(judge_hours("t", counted, {}, counted)) == ["hour_differs"]
    with_unscored = {HOUR: {"07": [1, 0, 0, 5, 2]}}
    assert judge_hours("t", with_unscored, {HOUR: [1, 0, 0, 5, 2]}, with_unscored) == []
    (found,) = judge_hours("t", with_unscored, {HOUR: [1, 0, 0, 5]}, with_unscored)
    assert found.detail == f"{HOUR}: 3 counted, 1 in the timeline, 3 by minute"


def test_the_analyzers_of_an_hour_are_compared_in_the_timeline_and_its_table() -> None:
    counted = {HOUR: {"embedded/1": [7, 8], "embedded/2": [0, 59]}}
    right = {HOUR: {"embedded/1", "embedded/2"}}
    assert judge_analyzers("t", counted, right, counted) == []
    assert judge_analyzers("t", {}, {HOUR: set()}, {HOUR: {}}) == []
    (found,) = judge_analyzers("t", counted, {HOUR: {"embedded/1"}}, counted, ("1",))
    assert (found.kind, found.subject, found.about, found.versions) == ("hour_differs", "t", HOUR, ("1",))
    assert found.detail == f"{HOUR}: judged by embedded/1, embedded/2, by embedded/1 in the timeline"
    assert kinds(judge_analyzers("t", counted, right, {HOUR: {**counted[HOUR], "embedded/1": [7, 9]}})) == [
        "hour_differs"
    ]
    assert kinds(judge_analyzers("t", {}, {}, counted)) == ["hour_differs"]
    (found,) = judge_analyzers("t", {}, right, {})
    assert found.detail == f"{HOUR}: judged by none, by embedded/1, embedded/2 in the timeline"


def test_the_sum_of_a_day_is_that_of_its_hours() -> None:
    hours = TimelineHours(by_day({HOUR: [1, 0, 1, 5]}))
    assert judge_days("t", {HOUR[:8]: Tally(1, 0, 1, 5)}, hours) == []
    assert kinds(judge_days("t", {HOUR[:8]: Tally(2, 0, 1, 5)}, hours)) == ["hour_differs"]


def windows(**changes: Any) -> Windows:
    edges = edges_of(datetime(2026, 2, 21, 10, tzinfo=UTC))
    hours = TimelineHours(by_day({"2026022108": [1, 0, 1, 5]}))
    found = Windows.summed(edges, hours, {HOUR: {"07": [1, 0, 0, 1]}}, {HOUR: {"embedded/1": [7, 7]}}, NOW, 3)
    for name, value in changes.items():
        setattr(found, name, value)
    return found


def test_windows_are_compared_in_all_parts() -> None:
    assert judge_windows("t", windows(), windows(), "1") == []
    assert judge_windows("t", windows(minutes={HOUR: {"07": [1, 0, 0, 1]}, "2026022109": {}}), windows(), "1") == []
    assert kinds(judge_windows("t", None, windows(), "1")) == ["windows_differ"]
    changes: list[dict[str, Any]] = [
        {"recounts": 4},
        {"made_at": None},
        {"minutes": {}},
        {"whole_hours": {"DAY_7": [9, 0, 0, 0]}},
        {"analyzers": {}},
        {"analyzers": {"embedded/1": {"hours": [], "minutes": {HOUR: [7, 8]}}}},
    ]
    for change in changes:
        (found,) = judge_windows("t", windows(**change), windows(), "1")
        assert found.detail == next(iter(change))


def test_an_entry_has_the_counts_of_its_window() -> None:
    entry = documents.cache_entry()
    millionths = round(entry.average_sentiment * 1_000_000 * entry.total_mentions)
    right = Tally(entry.positive_count, entry.negative_count, entry.neutral_count, millionths)
    assert judge_entry(entry, right, None, ()) == []
    (found,) = judge_entry(entry, Tally(right.positive + 1, *right[1:]), None, ())
    assert found.kind == "entry_differs"
    assert f"total_mentions is {entry.total_mentions}, not {entry.total_mentions + 1}" in found.detail
    (found,) = judge_entry(entry, Tally(*right[:4], unscored=1), None, ())
    assert found.detail.endswith("unscored_mentions is 0, not 1")
    (found,) = judge_entry(entry, right, None, ("embedded/1",))
    assert found.detail.endswith("analyzers is (), not ('embedded/1',)")


def test_the_total_of_a_feed_may_exceed_what_has_not_expired() -> None:
    feed = documents.feed(created_at=NOW, total_articles_fetched=7)
    assert judge_feed_total(feed, 7, NOW) == []
    assert kinds(judge_feed_total(feed, 6, NOW)) == kinds(judge_feed_total(feed, 8, NOW)) == ["feed_total_differs"]
    assert judge_feed_total(feed, 6, NOW + SURELY_KEPT) == []
    assert kinds(judge_feed_total(feed, 8, NOW + SURELY_KEPT)) == ["feed_total_differs"]


def test_the_figures_of_a_run_are_those_of_its_observations() -> None:
    metrics = CollisionMetrics(
        invocation_id="i",
        timestamp=NOW,
        articles_fetched={"a": 9},
        articles_stored=3,
        collisions_detected=2,
        duration_ms=1,
    )
    attempts = ({"articles_stored": 1, "collisions_detected": 2}, {"articles_stored": 2})
    run = documents.ingestion_batch(metrics=metrics, attempts=attempts)
    assert judge_run(run, 3, 2) == []
    assert kinds(judge_run(run, 2, 2)) == kinds(judge_run(run, 3, 1)) == ["run_figures_differ"]
    assert kinds(judge_run(documents.ingestion_batch(metrics=metrics, attempts=attempts[:1]), 3, 2)) == [
        "run_figures_differ"
    ]
    assert judge_run(documents.ingestion_batch(metrics=metrics, attempts=()), 3, 2) == []


def test_a_feed_with_an_open_attempt_is_in_flight() -> None:
    assert not is_in_flight({})
    assert is_in_flight({"current_attempt": {}})
    assert is_in_flight({"interrupted_attempts": [{}]})


@pytest.mark.parametrize(
    ("given", "mention", "article", "is_wrong"),
    [
        ({}, {"verdict": "negative"}, {}, False),
        ({}, {}, {}, True),
        ({}, {"verdict": "neutral"}, {}, True),
        ({}, {"removed_at": "x"}, {}, False),
        ({}, {}, {"analysis_due_since": "x"}, False),
        ({}, {"revision": "r2"}, {}, False),
        ({"revision": "r0"}, {}, {}, False),
        ({"verdict": "not_this_tool", "label": None}, {"revision": "r2"}, {}, True),
        ({"undone_at": NOW, "undone_by": "Ada"}, {}, {}, False),
        ({"undone_at": NOW, "undone_by": "Ada"}, {"verdict": "negative"}, {}, True),
    ],
)
def test_a_verdict_is_applied_to_a_mention_of_the_words_that_were_judged(
    given: dict[str, Any], mention: dict[str, Any], article: dict[str, Any], is_wrong: bool
) -> None:
    stored = {**RESTING, "canonical": {"revision": "r1"}, **article}
    found = judge_correction(documents.correction(**given), {**MENTION, "revision": "r1", **mention}, stored)
    assert kinds(found) == (["correction_not_applied"] if is_wrong else [])
    assert judge_correction(documents.correction(**given), None, stored) == []
    assert judge_correction(documents.correction(**given), MENTION, None) == []


def test_a_verdict_that_is_not_applied_is_named_with_its_article_and_tool() -> None:
    given = documents.correction()
    (found,) = judge_correction(given, {**MENTION, "revision": "r1"}, {**RESTING, "canonical": {"revision": "r1"}})
    assert (found.subject, found.about) == (given.source_id, given.tool_id)
    assert found.detail == f"of the tool {given.tool_id}: negative by the correction, None in the mention"
    assert found.versions == (None, MENTION["_etag"], RESTING["_etag"])
