"""The sources of a mention in the raw layer."""

from __future__ import annotations

from typing import Any

import pytest

from services.figures.history import MAX_RAW_MENTIONS, sources_of
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
