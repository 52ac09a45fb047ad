"""A quarantined item as the API shows it."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from models.quarantine import QuarantineItem
from models.resources.base import Shape, Stored, View, added, links, path
from models.values import Count


class QuarantineResource(Stored):
    """A batch of entries of a feed, or a full text, that waits for the review of a person."""

    DOCUMENTS = (QuarantineItem,)

    links: dict[str, str] = Field(description="Paths: the preview of a batch; the feed, or the article.")
    run_id: str | None = added("The run that this request began, in the response to a change; null if it needed none.")

    @classmethod
    def of(cls, item: QuarantineItem, view: View = "default") -> Self:
        is_batch = item.kind == "BATCH"
        return cls.made(
            item,
            view,
            links=links(
                preview=path("quarantine", item.quarantine_id, "preview") if is_batch else None,
                feed=path("feeds", item.subject) if is_batch else None,
                article=None if is_batch else path("articles", item.subject),
            ),
        )


class EffectOnTool(Shape):
    """What a decision would do to a tool."""

    tool_id: str = Field(description="The tool.")
    tool: str = Field(description="Its name.")
    mentions_added: Count = Field(description="Mentions that it would get, as its names are found in the new articles.")


class EffectOfDecision(Shape):
    """What a decision would do."""

    new_articles: Count = Field(description="Articles that would be created.")
    changed_articles: Count = Field(description="Articles that would get a source or an edit.")
    ids_added: Count = Field(description="Ids that would be added to stored articles.")
    left_out: Count = Field(description="Entries that would not be ingested.")
    mentions_added: Count = Field(description="Mentions of all tools that the new articles would have.")
    tools_changed: Count = Field(description="How many tools these are.")
    tools: tuple[EffectOnTool, ...] = Field(description="The 50 with most of them.")


class AmbiguousEntry(Shape):
    """An entry that may be several articles."""

    url: str = Field(description="Its URL.")
    headline: str = Field(description="Its headline.")
    article_ids: tuple[str, ...] = Field(description="The articles that it may be.")


class QuarantinePreview(Shape):
    """What each decision about a batch would do."""

    quarantine_id: str = Field(description="The item.")
    entries: Count = Field(description="Entries of the batch.")
    entries_looked_at: Count = Field(description="Those that the preview looked at, at most 1,000.")
    complete: bool = Field(description="Whether these are all.")
    effects: dict[str, EffectOfDecision] = Field(description="By decision: what it would do.")
    ambiguous: tuple[AmbiguousEntry, ...] = Field(description="Up to 20 entries that may be several articles.")
