"""A mention of a tool by an article as the API shows it."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from models.mention import SentimentScore
from models.resources.base import Stored, View, added, links, path


class MentionResource(Stored):
    """What one article says of one tool."""

    DOCUMENTS = (SentimentScore,)

    links: dict[str, str] = Field(description="Paths: the mention itself, the article, the tool, the story.")
    tool: str | None = added("The name of the tool, in `GET articles/{article_id}`.")

    @classmethod
    def of(cls, mention: SentimentScore, view: View = "default") -> Self:
        own = path("tools", mention.tool_id, "mentions", mention.source_id)
        return cls.made(
            mention,
            view,
            links=links(
                self=own,
                article=path("articles", mention.source_id),
                tool=path("tools", mention.tool_id),
                story=path("stories", mention.event_id) if mention.event_id else None,
            ),
        )
