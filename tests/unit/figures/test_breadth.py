"""The three counts, the shares, the effective sample size, the interval and the verdict of some mentions."""

import math
from typing import Any

import pytest

from services.figures.breadth import (
    Breadth,
    Row,
    Sums,
    breadth_of,
    breadth_of_mentions,
    confidence_interval,
    of_story,
    of_ungrouped,
    row_of,
    t_quantile,
    verdict,
    verdict_text,
)


def mention(
    story: str | None = None, publisher: str | None = None, polarity: float = 0.5, **more: Any
) -> dict[str, Any]:
    sentiment = "positive" if polarity > 0 else "negative" if polarity < 0 else "neutral"
    fields = {"published_at": "2026-02-21T20:17:00Z", "source": "feed-a", "sentiment": sentiment, "polarity": polarity}
    named = {"event_id": story, "publisher_id": publisher}
    return fields | {name: value for name, value in named.items() if value is not None} | more


def test_a_row_has_story_publisher_source_and_the_polarity_in_ten_thousandths() -> None:
    assert row_of(mention("story:a", "reuters.com", -0.1234)) == Row(
        17, "story:a", "reuters.com", "feed-a", 1, -1234, 1234**2
    )


def test_without_a_publisher_the_source_stands_for_it() -> None:
    assert row_of(mention()) == Row(17, "", "source:feed-a", "feed-a", 1, 5000, 25_000_000)
    assert row_of(mention(source=None)) == Row(17, "", "source:unknown", "unknown", 1, 5000, 25_000_000)


def test_removed_and_unscored_mentions_have_no_row() -> None:
    assert row_of(mention(removed_at="2026-02-21T20:18:00Z")) is None
    assert row_of(mention() | {"sentiment": None, "polarity": None, "unscored_reason": "LANGUAGE"}) is None


def test_a_mention_without_a_story_is_a_story_of_its_own() -> None:
    found = breadth_of_mentions([mention(), mention(), mention("story:a"), mention("story:a")])
    assert (found.stories, found.ungrouped_mentions) == (3, 2)


def test_each_story_counts_once_in_the_average_by_story() -> None:
    found = breadth_of_mentions([mention("a", polarity=0.5), mention("a", polarity=0.1), mention(polarity=-0.5)])
    assert found.average_sentiment_by_story == pytest.approx((0.3 - 0.5) / 2)


def test_publishers_and_sources_with_the_share_of_the_largest() -> None:
    mentions = [mention(publisher="b.com"), mention(publisher="a.com"), mention(publisher="b.com", source="feed-b")]
    found = breadth_of_mentions(mentions)
    assert (found.publishers, found.largest_publisher, found.largest_publisher_share) == (2, "b.com", 0.6667)
    assert (found.largest_source, found.largest_source_share) == ("feed-a", 0.6667)


def test_of_equal_publishers_the_first_by_name_is_the_largest() -> None:
    assert breadth_of_mentions([mention(publisher="b.com"), mention(publisher="a.com")]).largest_publisher == "a.com"


def test_the_effective_sample_size_is_that_of_kish() -> None:
    found = breadth_of_mentions([mention("a"), mention("a"), mention("a"), mention()])
    assert found.effective_sample_size == round(16 / (9 + 1), 2)


def test_the_interval_is_of_stories_not_of_mentions() -> None:
    """The residuals of the stories are 0.4 - 2/3 * 0.2 and their negation."""
    found = breadth_of_mentions([mention("a", polarity=0.2), mention("a", polarity=0.2), mention(polarity=0.8)])
    half = 12.7062 * math.sqrt(2 * 2 * 0.4**2) / 3
    assert found.confidence_interval == (max(-1, round(0.4 - half, 4)), min(1, round(0.4 + half, 4)))
    many = breadth_of([Row(0, "", "p", "s", 100, 100_000, 2 * 10**8), Row(0, "", "p", "s", 100, -100_000, 2 * 10**8)])
    half = 1.97196 * math.sqrt(200 / 199 * 200 * 0.02) / 200
    assert many.confidence_interval == (round(-half, 4), round(half, 4))


def test_no_interval_of_one_story_or_of_equal_ones() -> None:
    assert breadth_of_mentions([mention("a", polarity=0.1), mention("a", polarity=0.9)]).confidence_interval is None
    assert breadth_of_mentions([mention(polarity=0.5)] * 9).confidence_interval is None


@pytest.mark.parametrize(
    ("degrees", "expected"), [(1, 12.7062), (30, 2.0423), (31, 2.0395), (100, 1.984), (10**6, 1.96)]
)
def test_the_quantiles_of_student(degrees: int, expected: float) -> None:
    assert t_quantile(degrees) == pytest.approx(expected, abs=1e-4)


def test_sums_of_no_mentions_are_zero() -> None:
    assert of_story(0, 0) == Sums() == of_ungrouped(0, 0, 0)
    assert breadth_of([]) == Breadth()
    assert confidence_interval(Sums()) is None


def test_rows_of_a_story_add_up_whatever_their_order() -> None:
    rows = [Row(1, "a", "p", "s", 2, 3, 9), Row(2, "a", "q", "t", 1, -4, 16), Row(2, "", "p", "t", 2, 1, 1)]
    assert breadth_of(rows) == breadth_of(rows[::-1])
    assert Sums(1, 2, 3, 4, 5, 6, 7, 8).plus(Sums(*[1] * 8)).minus(Sums(*[1] * 8)) == Sums(1, 2, 3, 4, 5, 6, 7, 8)


def _breadth(stories: int = 9, size: float = 9.0, share: float = 0.5) -> Breadth:
    return Breadth(stories, 3, 0, "a.com", share, "feed-a", share, 0.1, size, None)


@pytest.mark.parametrize(
    ("mentions", "unscored", "breadth", "expected", "words"),
    [
        (9, 9, _breadth(), "OK", "9 mentions of 9 stories by 3 publishers"),
        (9, 10, _breadth(), "MOSTLY_UNSCORED", "mostly unscored: 10 of 19 mentions could not be scored"),
        (4, 0, _breadth(4, 4.0, 1.0), "TOO_FEW", "too few to say: 4 mentions of 4 stories"),
        (1, 0, _breadth(1, 1.0, 1.0), "TOO_FEW", "too few to say: 1 mention of 1 story"),
        (0, 0, Breadth(), "TOO_FEW", "too few to say: 0 mentions of 0 stories"),
        (601, 0, _breadth(share=0.8), "ONE_PUBLISHER", "one publisher: a.com has 80% of 601 mentions"),
        (601, 0, _breadth(share=0.7999), "OK", "601 mentions of 9 stories by 3 publishers"),
        (40, 0, _breadth(3, 1.99), "ONE_STORY", "one story has most of 40 mentions"),
        (40, 0, _breadth(3, 2.0), "TOO_FEW", "too few to say: 40 mentions of 3 stories"),
        (5, 0, _breadth(5, 5.0), "OK", "5 mentions of 5 stories by 3 publishers"),
    ],
)
def test_the_verdict_is_the_first_reason_that_applies(
    mentions: int, unscored: int, breadth: Breadth, expected: str, words: str
) -> None:
    assert verdict(mentions, unscored, breadth) == expected
    assert verdict_text(mentions, unscored, breadth) == words
