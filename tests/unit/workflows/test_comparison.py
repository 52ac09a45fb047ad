"""What a comparison of analyzers reports."""

from typing import Any

from models.comparison import MAX_SAMPLES, Comparison, Rating, ReasonNotCompared
from models.mention import SentimentScore
from models.resources.runs import ComparisonReport
from models.values import Sentiment
from services.workflows.comparing import rating_of_confirmed
from tests.documents import mention

GOOD, BAD = Rating(sentiment="positive", polarity=0.5), Rating(sentiment="negative", polarity=-0.4)
NEUTRAL, UNSCORED = Rating(sentiment="neutral", polarity=0.0), Rating()
NOTHING = Comparison(analyzer="embedded", analyzer_version="1")


def stored(number: int, sentiment: Sentiment | None, polarity: float | None, **fields: Any) -> SentimentScore:
    unscored = {"score": None, "unscored_reason": "LANGUAGE"} if sentiment is None else {}
    return mention(source_id=f"dedup:{number:032x}", sentiment=sentiment, polarity=polarity, **unscored, **fields)


def compared(*rated: tuple[SentimentScore, Rating], found: Comparison = NOTHING) -> Comparison:
    for each in rated:
        found = found.with_rating(*each)
    return found


def test_a_comparison_counts_labels_before_and_after_and_their_averages() -> None:
    found = compared(
        *((stored(1, "positive", 0.5), GOOD), (stored(2, "positive", 0.5), BAD)),
        *((stored(3, None, None), NEUTRAL), (stored(4, "negative", -0.4), UNSCORED)),
    )
    reasons: list[ReasonNotCompared] = ["EXPIRED", "EXPIRED", "NOT_NAMED"]
    for reason in reasons:
        found = found.without(reason)
    report = ComparisonReport.of(found).shown()
    assert (report["analyzer"], report["analyzer_version"]) == ("embedded", "1")
    assert (report["compared"], report["changed"], report["share_changed"]) == (4, 3, 0.75)
    assert report["labels"] == {
        "positive": {"positive": 1, "negative": 1, "neutral": 0, "unscored": 0},
        "negative": {"positive": 0, "negative": 0, "neutral": 0, "unscored": 1},
        "neutral": {"positive": 0, "negative": 0, "neutral": 0, "unscored": 0},
        "unscored": {"positive": 0, "negative": 0, "neutral": 1, "unscored": 0},
    }
    before, after = report["before"], report["after"]
    assert (before["total_mentions"], before["unscored_mentions"], before["average_sentiment"]) == (3, 1, 0.2)
    assert (after["total_mentions"], after["unscored_mentions"], after["average_sentiment"]) == (3, 1, 0.0333)
    assert report["not_compared"] == {"EXPIRED": 2, "UNREADABLE": 0, "NOT_NAMED": 1, "NOT_JUDGED": 0}


def test_samples_are_the_mentions_that_change_most_and_no_others() -> None:
    found = NOTHING
    for number in range(1, 40):
        changed = stored(number, "negative", -number / 100, headline=f"Number {number}")
        found = compared((changed, NEUTRAL), (stored(number, "neutral", 0.0), NEUTRAL), found=found)
    headlines = [each.headline for each in found.samples]
    assert (MAX_SAMPLES, len(headlines)) == (20, 20)
    assert headlines == [f"Number {number}" for number in range(39, 19, -1)]
    assert ComparisonReport.of(found).shown()["samples"][0] == {
        "source_id": f"dedup:{39:032x}",
        "headline": "Number 39",
        "before": {"sentiment": "negative", "polarity": -0.39},
        "after": {"sentiment": "neutral", "polarity": 0.0},
    }


def test_a_change_from_one_side_to_the_other_is_larger_than_one_from_or_to_unscored() -> None:
    found = compared(
        *((stored(1, None, None), GOOD), (stored(2, "positive", 0.5), BAD)),
        *((stored(3, "negative", -0.6), UNSCORED), (stored(4, None, None), NEUTRAL)),
    )
    assert [each.source_id[-1] for each in found.samples] == ["2", "3", "1", "4"]
    found = compared((stored(2, "positive", 0.5), NEUTRAL), (stored(1, "positive", 0.5), NEUTRAL))
    assert [each.source_id[-1] for each in found.samples] == ["1", "2"]


def test_a_sentiment_that_a_person_confirmed_stays() -> None:
    confirmed = stored(1, "positive", 0.5, verdict="right")
    assert rating_of_confirmed(confirmed, BAD) == Rating(sentiment="positive", polarity=1.0)
    assert rating_of_confirmed(confirmed, Rating(sentiment="positive", polarity=0.1)).polarity == 0.1
    assert rating_of_confirmed(stored(1, "positive", 0.5), BAD) == BAD
    assert rating_of_confirmed(stored(1, None, None, verdict="right"), BAD) == BAD
