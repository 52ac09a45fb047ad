"""The judgement that follows from probabilities."""

import pytest

from services.mentions.analyzers.port import Judgement


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    [
        ((0.2, 0.1, 0.7), Judgement("positive", 0.7, 0.5)),
        ((0.7, 0.1, 0.2), Judgement("negative", 0.7, -0.5)),
        ((0.3, 0.6, 0.1), Judgement("neutral", 0.6, 0.0)),
        ((0.4, 0.4, 0.2), Judgement("neutral", 0.4, 0.0)),
        ((0.45, 0.1, 0.45), Judgement("neutral", 1.0, 0.0)),
        ((0.45001, 0.1, 0.44999), Judgement("neutral", 1.0, 0.0)),
        ((0.4499, 0.1001, 0.45), Judgement("positive", 0.45, 0.0001)),
    ],
)
def test_sentiment_and_polarity_agree(probabilities: tuple[float, float, float], expected: Judgement) -> None:
    assert Judgement.of(*probabilities) == expected


def test_a_mixed_text_is_neutral_the_more_surely_the_more_it_is_balanced() -> None:
    assert Judgement.mixed(0.4, 0.5) == Judgement("neutral", 0.9, 0.0)
    assert Judgement.mixed(0.5, 0.5) == Judgement("neutral", 1.0, 0.0)
