"""What the audit calls a difference, and what it passes over."""

from __future__ import annotations

from typing import Any

import pytest

from models.article import Article
from models.operations import AuditRound
from models.tally import Tally
from models.timeline import HourRows
from models.values import format_time
from services.articles.sources import observation_id
from services.figures.counting import Count
from services.operations.audit_rules import (
    SURELY_KEPT,
    Difference,
    is_at_rest,
    is_unanalysed,
    judge_article,
    judge_correction,
    judge_detected,
    judge_entry,
    judge_hours,
    judge_mention,
)
from tests import documents

NOW = documents.NOW
HOUR = "2026022110"


def kinds(found: list[Difference]) -> list[str]:
    return [each.kind for each in found]


def test_a_round_counts_all_differences_by_kind() -> None:
    twice = AuditRound(started_at=NOW).plus(7, ["a", "b", "a"], "tools:").plus(3, ["a"], None)
    assert (twice.checked, twice.found) == (10, {"a": 3, "b": 1})


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
    assert kinds(judge_article("x", article, [*observations, more], NOW)) == ["attribution_differs"]
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


KEY = ("t", RESTING["source_id"])


def test_a_tool_that_an_article_names_has_a_mention() -> None:
    assert judge_detected(RESTING, {KEY: MENTION}, {"t"}) == []
    assert kinds(judge_detected(RESTING, {KEY: None}, {"t"})) == ["mention_missing"]
    assert kinds(judge_detected(RESTING, {KEY: {**MENTION, "removed_at": "x"}}, {"t"})) == ["mention_missing"]
    assert judge_detected(RESTING, {KEY: None}, ()) == []


def test_a_mention_has_an_article_that_names_its_tool() -> None:
    assert judge_mention(MENTION, RESTING, NOW) == []
    assert judge_mention({**MENTION, "removed_at": "x"}, None, NOW) == []
    assert kinds(judge_mention(MENTION, None, NOW)) == ["mention_unfounded"]
    assert judge_mention(MENTION, None, NOW + SURELY_KEPT) == []
    assert kinds(judge_mention(MENTION, {**RESTING, "deleted_at": "x"}, NOW)) == ["mention_unfounded"]
    other = {**RESTING, "detected_tool_ids": []}
    assert kinds(judge_mention(MENTION, other, NOW)) == ["mention_unfounded"]
    assert judge_mention(MENTION, {**other, "analysis_due_since": "x"}, NOW) == []


def rows(minute: int, positive: int, unscored: int = 0) -> HourRows:
    return {"embedded/1": {"a.example": {"feed": [[minute, "", positive, 0, 0, unscored, 5 * positive, 25]]}}}


def test_hours_are_compared_in_the_timeline_and_by_minute() -> None:
    counted, right = {HOUR: rows(7, 2)}, {HOUR: Tally(2, 0, 0, 1000)}
    assert judge_hours("t", counted, right, counted) == []
    assert judge_hours("t", {}, {HOUR: Tally()}, {HOUR: {}}) == []
    (found,) = judge_hours("t", counted, {HOUR: Tally(1, 0, 0, 500)}, {})
    assert (found.kind, found.about) == ("hour_differs", HOUR)
    assert found.detail == f"{HOUR}: 2 counted, 1 in the timeline, 0 by minute"
    assert kinds(judge_hours("t", counted, right, {HOUR: rows(8, 2)})) == ["hour_differs"]
    assert kinds(judge_hours("t", {}, {}, {HOUR: rows(8, 2)})) == ["hour_differs"]
    assert kinds(judge_hours("t", counted, {}, counted)) == ["hour_differs"]
    with_unscored = {HOUR: rows(7, 1, 2)}
    assert judge_hours("t", with_unscored, {HOUR: Tally(1, 0, 0, 500, 2)}, with_unscored) == []
    (found,) = judge_hours("t", with_unscored, {HOUR: Tally(1, 0, 0, 500)}, with_unscored)
    assert found.detail == f"{HOUR}: 3 counted, 1 in the timeline, 3 by minute"


def test_an_entry_has_the_counts_of_its_window() -> None:
    entry = documents.cache_entry()
    millionths = round(entry.average_sentiment * 1_000_000 * entry.total_mentions)
    numbers = [entry.positive_count, entry.negative_count, entry.neutral_count, millionths, 0]
    right = Count(numbers).figures()
    assert judge_entry(entry, right) == []
    (found,) = judge_entry(entry, Count([numbers[0] + 1, *numbers[1:]]).figures())
    assert found.kind == "entry_differs"
    assert f"total_mentions is {entry.total_mentions}, not {entry.total_mentions + 1}" in found.detail
    for name, value in (("unscored_mentions", 1), ("analyzers", ["embedded/1"])):
        (found,) = judge_entry(entry, {**right, name: value})
        assert found.detail.endswith(f"{name} is {entry.to_document()[name]}, not {value}")
    judged = documents.cache_entry(verdict="OK", verdict_text="9 mentions")
    assert any("verdict is OK, not TOO_FEW" in each.detail for each in judge_entry(judged, right))


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
