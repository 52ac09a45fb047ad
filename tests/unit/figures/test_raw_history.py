"""The sources of a mention, and how many mentions the raw layer reads."""

from __future__ import annotations

from typing import Any

import pytest

from models.errors import InvalidInput
from services.figures.history import MAX_RAW_MENTIONS, refuse_too_many, sources_of
from services.figures.points import Point
from tests.documents import mention


def test_at_most_a_hundred_thousand_mentions_are_read() -> None:
    assert MAX_RAW_MENTIONS == 100_000


@pytest.mark.parametrize(
    ("article", "sources"),
    [
        ({"sources": ["reuters", "bbc"]}, [("reuters", None), ("bbc", None)]),
        (
            {"sources": ["reuters", "bbc"], "source_attribution": {"bbc": {"revision": "r2"}, "reuters": None}},
            [("reuters", None), ("bbc", "r2")],
        ),
        ({"sources": ["reuters"], "source_attribution": 7}, [("reuters", None)]),
        ({"sources": []}, [("wire", None)]),
        ({"sources": 7}, [("wire", None)]),
        ({}, [("wire", None)]),
        (None, [("wire", None)]),
    ],
)
def test_a_mention_counts_for_its_articles_sources_or_else_for_the_one_it_names(
    article: dict[str, Any] | None, sources: list[tuple[str, str | None]]
) -> None:
    assert list(sources_of(mention(source="wire"), article)) == sources
    assert list(sources_of(mention(source=None), None)) == [("unknown", None)]


def _points(*totals: int) -> list[Point]:
    figures = [{"total_mentions": total - 1, "unscored_mentions": 1, "analyzers": []} for total in totals]
    return [Point("day", f"2026-03-{day:02}", each) for day, each in enumerate(figures, 1)]


def test_as_many_mentions_as_are_allowed_are_not_refused() -> None:
    refuse_too_many(_points(3, 1, 2), 6)
    refuse_too_many([], 0)


@pytest.mark.parametrize(
    ("most", "refusal"),
    [
        (
            5,
            "days: at most 2 with layer=raw, any with layer=canonical: these days have 6 mentions of this tool, and at "
            "most 5 are read",
        ),
        (3, "days: at most 2 with layer=raw"),
        (2, "days: at most 1 with layer=raw"),
        (1, "days: none with layer=raw, any with layer=canonical: these days have 6"),
    ],
)
def test_more_are_refused_with_the_number_of_latest_days_that_would_do(most: int, refusal: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{refusal}"):
        refuse_too_many(_points(3, 1, 2), most)


def test_a_span_that_was_given_by_its_ends_is_refused_by_its_start() -> None:
    with pytest.raises(InvalidInput, match=r"^from: at most 2 days before `to` with layer=raw"):
        refuse_too_many(_points(3, 1, 2), 3, "from")
