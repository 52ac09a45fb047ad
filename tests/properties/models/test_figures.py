"""Percentages, tallies and headlines hold their promises for every input."""

from __future__ import annotations

import random
import string
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from models.cache import percentages
from models.tally import MILLIONTHS, Tally
from services.articles.identity import normalize_headline

COUNT = st.integers(0, 10**9)
SIZE = st.integers(1, 10_000).map(lambda number: number / 10_000)
POSITIVE = st.tuples(st.just("positive"), SIZE)
NEGATIVE = st.tuples(st.just("negative"), SIZE.map(lambda size: -size))
NEUTRAL = st.tuples(st.just("neutral"), st.just(0.0))
UNSCORED = st.tuples(st.none(), st.none())
MENTION = POSITIVE | NEGATIVE | NEUTRAL | UNSCORED


def tallied(mentions: list[tuple[Any, Any]]) -> Tally:
    whole = Tally()
    for sentiment, polarity in mentions:
        whole = whole.plus(Tally.of(sentiment, polarity))
    return whole


@given(COUNT, COUNT, COUNT)
def test_percentages_sum_to_exactly_100_or_are_all_0(positive: int, negative: int, neutral: int) -> None:
    shares = percentages(positive, negative, neutral)
    tenths = [round(share * 10) for share in shares]
    assert [share == tenth / 10 for share, tenth in zip(shares, tenths, strict=True)] == [True] * 3
    total = positive + negative + neutral
    assert sum(tenths) == (1000 if total else 0)
    for count, tenth in zip((positive, negative, neutral), tenths, strict=True):
        assert not total or abs(tenth - count * 1000 / total) < 1


@given(st.lists(MENTION, max_size=30), st.randoms(use_true_random=False))
def test_a_tally_does_not_depend_on_the_order_of_arrivals(
    mentions: list[tuple[Any, Any]], shuffle: random.Random
) -> None:
    shuffled = list(mentions)
    shuffle.shuffle(shuffled)
    tally = tallied(mentions)
    assert tally == tallied(shuffled)
    assert tally.total + tally.unscored == len(mentions)
    assert -1 <= tally.average_sentiment <= 1
    assert abs(tally.polarity_millionths) <= tally.total * MILLIONTHS


@given(st.text())
@example("İSTANBUL “Yeni” ürün — ½ TL!")
@example("ΑΣ. ΟΔΟΣ")
@example("1️⃣ ❤️")
def test_normalizing_a_headline_twice_is_normalizing_it_once(headline: str) -> None:
    once = normalize_headline(headline)
    assert normalize_headline(once) == once
    assert once == " ".join(once.split())


@given(st.text(string.printable), st.sampled_from("“”—…€❤"))
def test_ascii_takes_a_short_way_to_the_same_headline(headline: str, dropped: str) -> None:
    assert normalize_headline(headline + dropped) == normalize_headline(headline)
