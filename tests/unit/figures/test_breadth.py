"""The three counts, the shares, the effective sample size, the interval and the verdict of some mentions."""

import math
from collections.abc import Mapping
from typing import Any

import pytest

from services.figures.breadth import (
    NOTHING,
    Sums,
    confidence_interval,
    in_words,
    of_ungrouped,
    sums_of,
    t_quantile,
    verdict,
)
from services.ports import Document
from tests.functional.figures.world import count_of
from tests.unit.figures.mentions import a_mention


def mention(story: str | None = None, publisher: str | None = None, polarity: float = 0.5, **more: Any) -> Document:
    return a_mention(polarity=polarity, event_id=story, publisher_id=publisher, **more)


def breadth_of(mentions: list[Document]) -> Mapping[str, Any]:
    return count_of(mentions).breadth()


def test_a_mention_without_a_story_is_a_story_of_its_own() -> None:
    found = breadth_of([mention(), mention(), mention("story:a"), mention("story:a")])
    assert (found["stories"], found["ungrouped_mentions"]) == (3, 2)


def test_each_story_counts_once_in_the_average_by_story() -> None:
    found = breadth_of([mention("a", polarity=0.5), mention("a", polarity=0.1), mention(polarity=-0.5)])
    assert found["average_sentiment_by_story"] == pytest.approx((0.3 - 0.5) / 2)


def test_publishers_and_sources_with_the_share_of_the_largest() -> None:
    mentions = [mention(publisher="b.com"), mention(publisher="a.com"), mention(publisher="b.com", source="feed-b")]
    found = breadth_of(mentions)
    assert (found["publishers"], found["largest_publisher"], found["largest_publisher_share"]) == (2, "b.com", 0.6667)
    assert (found["largest_source"], found["largest_source_share"]) == ("feed-a", 0.6667)


def test_of_equal_publishers_the_first_by_name_is_the_largest() -> None:
    assert breadth_of([mention(publisher="b.com"), mention(publisher="a.com")])["largest_publisher"] == "a.com"


def test_the_effective_sample_size_is_that_of_kish() -> None:
    found = breadth_of([mention("a"), mention("a"), mention("a"), mention()])
    assert found["effective_sample_size"] == round(16 / (9 + 1), 2)


def test_the_interval_is_of_stories_not_of_mentions() -> None:
    """The residuals of the stories are 0.4 - 2/3 * 0.2 and their negation."""
    found = breadth_of([mention("a", polarity=0.2), mention("a", polarity=0.2), mention(polarity=0.8)])
    half = 12.7062 * math.sqrt(2 * 2 * 0.4**2) / 3
    assert found["confidence_interval"] == [max(-1, round(0.4 - half, 4)), min(1, round(0.4 + half, 4))]
    many = breadth_of([mention(polarity=0.1)] * 100 + [mention(polarity=-0.1)] * 100)
    half = 1.97196 * math.sqrt(200 / 199 * 200 * 0.01) / 200
    assert many["confidence_interval"] == [round(-half, 4), round(half, 4)]


def test_no_interval_of_one_story_or_of_equal_ones() -> None:
    assert breadth_of([mention("a", polarity=0.1), mention("a", polarity=0.9)])["confidence_interval"] is None
    assert breadth_of([mention(polarity=0.5)] * 9)["confidence_interval"] is None


@pytest.mark.parametrize(
    ("degrees", "expected"), [(1, 12.7062), (30, 2.0423), (31, 2.0395), (100, 1.984), (10**6, 1.96)]
)
def test_the_quantiles_of_student(degrees: int, expected: float) -> None:
    assert t_quantile(degrees) == pytest.approx(expected, abs=1e-4)


def test_sums_of_no_mentions_are_zero() -> None:
    assert sums_of([]) == Sums() == of_ungrouped(0, 0, 0)
    assert breadth_of([]) == NOTHING
    assert confidence_interval(Sums()) is None


def _breadth(stories: int = 9, size: float = 9.0, share: float = 0.5) -> dict[str, Any]:
    largest = {"largest_publisher": "a.com", "largest_publisher_share": share}
    return {"stories": stories, "publishers": 3, **largest, "effective_sample_size": size}


@pytest.mark.parametrize(
    ("mentions", "unscored", "breadth", "expected", "words"),
    [
        (9, 9, _breadth(), "OK", "9 mentions of 9 stories by 3 publishers"),
        (9, 10, _breadth(), "MOSTLY_UNSCORED", "mostly unscored: 10 of 19 mentions could not be scored"),
        (4, 0, _breadth(4, 4.0, 1.0), "TOO_FEW", "too few to say: 4 mentions of 4 stories"),
        (1, 0, _breadth(1, 1.0, 1.0), "TOO_FEW", "too few to say: 1 mention of 1 story"),
        (0, 0, NOTHING, "TOO_FEW", "too few to say: 0 mentions of 0 stories"),
        (601, 0, _breadth(share=0.8), "ONE_PUBLISHER", "one publisher: a.com has 80% of 601 mentions"),
        (601, 0, _breadth(share=0.7999), "OK", "601 mentions of 9 stories by 3 publishers"),
        (40, 0, _breadth(3, 1.99), "ONE_STORY", "one story has most of 40 mentions"),
        (40, 0, _breadth(3, 2.0), "TOO_FEW", "too few to say: 40 mentions of 3 stories"),
        (5, 0, _breadth(5, 5.0), "OK", "5 mentions of 5 stories by 3 publishers"),
    ],
)
def test_the_verdict_is_the_first_reason_that_applies(
    mentions: int, unscored: int, breadth: Mapping[str, Any], expected: str, words: str
) -> None:
    said = verdict(mentions, unscored, breadth)
    assert (said, in_words(said, mentions, unscored, breadth)) == (expected, words)
