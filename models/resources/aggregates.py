"""An aggregate of sentiment (SentimentCacheEntry) as the API shows it."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field

from models.cache import (
    FRESH_MINUTES,
    SentimentCacheEntry,
)
from models.resources.base import Stored, View, links, path
from models.resources.figures import Completeness, Counts
from models.values import Count


class AggregateResource(Counts[Count], Completeness, Stored):
    """The sentiment of one tool over one period."""

    DOCUMENTS = (SentimentCacheEntry,)

    id: str = Field(description="`tool_id` and `period`.")
    tool: str = Field(description="The tool's name.")
    is_stale: bool = Field(description=f"Whether the entry was computed more than {FRESH_MINUTES} minutes ago.")
    reanalysis_offered: bool = Field(
        description="Whether one of `analyzers` is not the present analyzer and version. `POST "
        "tools/{tool}/reanalyze` then brings all mentions of the figure to one version."
    )
    links: dict[str, str] = Field(description="Paths: the aggregate itself, its evidence, its history, its tool.")

    @classmethod
    def of(
        cls,
        entry: SentimentCacheEntry,
        tool: str,
        view: View = "default",
        *,
        is_stale: bool,
        reanalysis_offered: bool,
        **completeness: Any,
    ) -> Self:
        """`tool` is the name of the tool; `completeness` has pending_articles, failed_articles and complete."""
        own = path("tools", entry.tool_id)
        period = f"?period={entry.period}"
        return cls.made(
            entry,
            view,
            id=entry.id,
            tool=tool,
            is_stale=is_stale,
            reanalysis_offered=reanalysis_offered,
            **completeness,
            links=links(
                self=f"{own}/sentiment{period}",
                evidence=f"{own}/sentiment/evidence{period}",
                history=f"{own}/history",
                tool=own,
            ),
        )
