"""A story with its members, a signal, and why things were put together, as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Self

from pydantic import Field

from models.article import LISTED_SOURCES, Article, JoinRule
from models.correction import GroupingCorrectionKind
from models.resources.base import PARTS_LEFT_OUT, Resource, Shape, Stored, View, added, links, path
from models.resources.figures import Counts
from models.story import SILENCE, Reason, Signal, Story, StoryMember, first_article
from models.values import Count, Day, IdPart, Polarity, Sentiment, Text, Time, parse_time

StoryState = Literal["open", "closed"]


class StoryPublisher(Shape):
    """A publisher of a story, with the number of its articles there."""

    publisher_id: Text = Field(
        description="The publisher; where it is not known, `source:` and the id of the first source."
    )
    publisher_name: Text | None = Field(description="Its name; null if it is not known.")
    articles: Count = Field(description="How many of the articles are its.")


class StoryTool(Counts[Count]):
    """What the articles of a story say of one tool."""

    tool_id: IdPart = Field(description="The tool.")
    tool: Text | None = Field(description="The name of the tool; null for one that cannot be read.")
    articles: Count = Field(description="How many of the articles mention the tool.")
    average_sentiment: Polarity | None = Field(
        description="Mean `polarity` of the scored mentions; null if none was scored."
    )


class StoryMemberResource(Resource):
    """The article of a member, and why it is in the story."""

    DOCUMENTS = (StoryMember,)

    headline: str = Field(description="The headline of its canonical reading.")
    url: str = Field(description="The link of its canonical reading.")
    publisher_name: str | None = Field(description="The name of its publisher.")
    sources: tuple[str, ...] = Field(description="The first 20 sources of the article.")
    tool_ids: tuple[str, ...] = Field(description="The tools that it mentions.")
    sentiment: Sentiment | None = Field(description="The sentiment of the whole article; null if there is none.")
    reason: Reason | None = Field(
        description="Why it is in the story, as in the merge ledger; null for the article that begins the story."
    )
    links: dict[str, str] = Field(description="Paths: the article.")

    @classmethod
    def of(cls, member: StoryMember, article: Article, publisher_name: str | None) -> Self:
        reading = article.canonical
        return cls.made(
            member,
            "default",
            headline=reading.headline,
            url=reading.url,
            publisher_name=publisher_name,
            sources=article.sources[:LISTED_SOURCES],
            tool_ids=member.detected_tool_ids,
            sentiment=article.sentiment,
            reason=member.story_reason,
            links=links(article=path("articles", member.source_id)),
        )


class StoryResource(Stored):
    """Articles about one event."""

    DOCUMENTS = (Story,)

    day: Day = Field(description="The day on which its first article was published.")
    state: Literal["open", "closed"] = Field(
        description="`open` until 72 hours after its last article, then `closed`. A late article that was "
        "published earlier can still join it."
    )
    closes_at: Time = Field(description="When it closes, or closed, unless another article joins it.")
    links: dict[str, str] = Field(description="Paths: the story itself, its ledger, its first article.")
    publishers: list[StoryPublisher] | None = added(
        "The publishers with the number of their articles, those with most first; named as in `publisher_ids`."
    )
    tools: list[StoryTool] | None = added("What the first 500 articles say of each tool.")
    members: list[StoryMemberResource] | None = added("The first 500 articles, in the order of their publication.")
    unreadable: list[str] | None = PARTS_LEFT_OUT

    @classmethod
    def of(cls, story: Story, now: datetime, view: View = "default") -> Self:
        """A story is open until SILENCE after its last article, unless another article joins it."""
        closes_at = story.timestamp + SILENCE
        own = path("stories", story.event_id)
        first = path("articles", first_article(story.event_id))
        return cls.made(
            story,
            view,
            state="open" if parse_time(now) <= closes_at else "closed",
            closes_at=closes_at,
            links=links(self=own, ledger=f"{own}/ledger", first_article=first),
        )


class SignalResource(Stored):
    """What one story suggests for one tool."""

    DOCUMENTS = (Signal,)

    signal_id: str = Field(description="The id, which follows from kind, topic and story.")
    tool: str | None = Field(description="The tool's name.")
    headline: str | None = Field(
        description="The headline of the story; null if the story is gone, or has one article left."
    )
    links: dict[str, str] = Field(description="Paths: the tool, and the story.")

    @classmethod
    def of(cls, signal: Signal, tool: str | None, headline: str | None, view: View = "default") -> Self:
        """`tool` and `headline` are the names of the tool and of the story, None if they are gone."""
        return cls.made(
            signal,
            view,
            signal_id=signal.id,
            tool=tool,
            headline=headline,
            links=links(tool=path("tools", signal.tool_id), story=path("stories", signal.event_id)),
        )


class SourceInArticle(Shape):
    """A source of an article, with the rule that joined it."""

    source: str = Field(description="The feed.")
    rule: JoinRule | None = Field(
        description="The rule by which it is in the article: `joined_by` of its attribution; null: not known."
    )
    fields: dict[str, str | None] = Field(description="What it had in common with the article, by name.")
    joined_at: Time = Field(description="When it joined the article.")
    run_id: str | None = Field(description="The run that added it; null: not known.")


class ReasonOfStory(Resource):
    """Why two articles were put together."""

    DOCUMENTS = (Reason,)


class NearDuplicate(ReasonOfStory):
    """The article that another one repeats, with the reason."""

    near_duplicate_of: str | None = Field(description="The article that it repeats.")


class PlaceInStory(Shape):
    """The story of an article, with the reason."""

    event_id: str = Field(description="The story.")
    reason: ReasonOfStory | None = Field(description="Why it is there; the article that begins a story has no reason.")


class CorrectionNamed(Shape):
    """A correction that names the article."""

    correction_id: str = Field(description="The correction.")
    kind: GroupingCorrectionKind = Field(description="What was said.")
    state: Literal["active", "undone"] = Field(description="Whether it applies.")
    made_at: Time = Field(description="When it was made.")
    undone_at: Time | None = Field(description="When it was undone; null while it applies.")


class LedgerEntry(Shape):
    """Why an article is put together as it is."""

    source_id: str = Field(description="The article.")
    headline: str = Field(description="Its headline.")
    sources: tuple[SourceInArticle, ...] = Field(description="Its sources, in the order in which they joined it.")
    near_duplicate: NearDuplicate | None = Field(
        description="The article that it repeats in almost the same words, with the reason; null if none."
    )
    story: PlaceInStory | None = Field(description="Its story; null until the article is grouped.")
    corrections: tuple[CorrectionNamed, ...] = Field(
        description="The corrections that name the article, without their authors."
    )
