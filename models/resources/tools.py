"""A tool, its references, a merge of two tools, and what a change would do, as the API shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import Field

from models.resources.base import Resource, Shape, Stored, View, added, links, path
from models.states import ToolStatus
from models.tool import ADDED_BY, NameRule, Reference, ReferenceRole, Reviews, Tool, ToolId, ToolMerge, reference_id
from models.values import Count, Day, IdPart, Share, SourceKey, Text, Time


class PrecisionFigures(Shape):
    """How often the analyzer was right about mentions that people have reviewed."""

    reviewed: Count = Field(description="Mentions with a verdict.")
    about_tool: Count = Field(description="Those whose verdict is not `not_this_tool`.")
    precision: Share | None = Field(description="`about_tool` / `reviewed`, 0 to 1; null while nothing is reviewed.")
    scored: Count = Field(
        description="Mentions about the tool to which the analyzer had given a sentiment, and the person too."
    )
    sentiment_right: Count = Field(description="Those for which both are the same.")
    sentiment_accuracy: Share | None = Field(
        description="`sentiment_right` / `scored`, 0 to 1; null while there is none."
    )


_NO_REVIEWS = Reviews()


class Precision(PrecisionFigures):
    """How often the analyzer was right about mentions that people have reviewed, in all and by analyzer."""

    by_analyzer: dict[str, PrecisionFigures] = Field(
        description="The same figures for each analyzer and version that had scored the mentions, such as `embedded/4`."
    )

    @classmethod
    def of(cls, reviews: Mapping[str, Reviews]) -> Self:
        """The measured precision of the analyzer versions in `reviews` together, and of each."""
        total = _NO_REVIEWS
        for each in reviews.values():
            total = total.plus(each)
        by_analyzer = {version: PrecisionFigures.shaped(each.shown()) for version, each in sorted(reviews.items())}
        return cls.shaped({**total.shown(), "by_analyzer": by_analyzer})


class ToolResource(Stored):
    """A product, library or ticker that the app watches."""

    STORED_AS: ClassVar[Mapping[str, str]] = {"name": "primary_name"}

    tool_id: ToolId = Field(description="The id, a UUID.")
    name: Text = Field(description="The name by which people know the tool. It belongs to this tool only.")
    status: ToolStatus = Field(description="`ACTIVE`, `DEPRECATED` or `MERGED`.")
    aliases: tuple[Text, ...] = Field(description="Other names of the tool.")
    tickers: tuple[Text, ...] = Field(
        description="Its tickers: found as `$MSFT`, as `NASDAQ: MSFT`, or among the tags and tickers of the source."
    )
    keywords: tuple[Text, ...] = Field(description="Words that mean the tool too; several tools may share a keyword.")
    excluded: tuple[Text, ...] = Field(description="Phrases that rule the tool out.")
    muted_sources: tuple[SourceKey, ...] = Field(
        description="Feeds whose articles do not mention the tool unless another source published them too."
    )
    name_rules: dict[str, NameRule] = Field(
        description="By name, when it counts: only in this case, and only near one of these words."
    )
    discovery_date: Day | None = Field(
        description="The day of the first article that named the tool; not of one that is not about it, by "
        "the verdict of a person."
    )
    discovery_reference: IdPart | None = Field(description="The id of that first article.")
    scored_by: Text | None = Field(
        description="Analyzer and version that scored the mentions; after the analyzer changed, the old one until "
        "a reanalysis."
    )
    searched_since: Time | None = Field(
        description="Since when a backfill has searched the articles for the tool, if that is before the tool was "
        "created; else null."
    )
    precision: Precision = Field(
        description="The measured precision of the tool's mentions. Reviewed mentions are no random sample: "
        "people look at those that seem wrong."
    )
    merged_into: ToolId | None = Field(description="The tool that replaces it, if the status is `MERGED`.")
    merging_into: ToolId | None = Field(description="The tool of a merge that is under way.")
    links: dict[str, str] = Field(
        description="Paths: the tool itself, its sentiment, evidence, history, mentions, articles, references, "
        "stories, signals, corrections, merges."
    )
    reanalysis_offered: bool = added(
        "In `GET tools/{tool}`: whether another analyzer or version than the present one judged some of its mentions "
        "of the last 30 days, as of the last recount."
    )
    run_id: str = added("The run that this request began, in the response to a change; absent if it needed none.")

    @classmethod
    def of(cls, tool: Tool, view: View = "default") -> Self:
        own = path("tools", tool.tool_id)
        discovery = tool.discovery_reference
        return cls.made(
            tool,
            view,
            precision=Precision.of(tool.reviews),
            links=links(
                self=own,
                **{name: f"{own}/{name}" for name in _PARTS},
                evidence=f"{own}/sentiment/evidence",
                discovery=path("articles", discovery) if discovery else None,
                merged_into=path("tools", tool.merged_into) if tool.merged_into else None,
            ),
        )


_PARTS = ("sentiment", "history", "mentions", "articles", "references", "stories", "signals", "corrections", "merges")


class ReferenceResource(Resource):
    """One article that mentions the tool, also after the article and its mention have expired."""

    reference_id: str = Field(description="A UUID, always the same for the same tool and article.")
    source_id: str = Field(description="The id of the article.")
    article_url: str | None = Field(description="Where the article is served; null once it has expired.")
    title: Text | None = Field(description="The headline.")
    published_at: Time = Field(description="When the article was published or first seen, whichever is earlier.")
    source: Text | None = Field(description="The publisher; the feed if the publisher is unknown.")
    source_identifier: Text = Field(description="The URL; the id of the article if it has none.")
    role: ReferenceRole = Field(description="As of a mention. `DISCOVERY` is the article that is the tool's first now.")
    event_id: IdPart | None = Field(description="The story of the article; null if it had none.")
    created_at: Time = Field(description="When the mention was first stored.")
    added_by_workflow: str = Field(description="`analyze_articles`.")
    links: dict[str, str] = Field(description="Paths: the article while it is served, its tool, its story.")

    @classmethod
    def of(cls, reference: Reference, tool: Tool, view: View = "default", *, article_exists: bool) -> Self:
        article = path("articles", reference.source_id) if article_exists else None
        return cls.made(
            reference,
            view,
            reference_id=reference_id(tool.tool_id, reference.source_id),
            article_url=article,
            role=reference.role_for(tool),
            added_by_workflow=ADDED_BY,
            links=links(
                article=article,
                tool=path("tools", tool.tool_id),
                story=path("stories", reference.event_id) if reference.event_id else None,
            ),
        )


class MergeResource(Stored):
    """A merge of two tools."""

    tool_id: ToolId = Field(description="The tool that got the names and mentions.")
    merged_tool_id: ToolId = Field(description="The tool that was merged.")
    merged_name: Text = Field(description="The name of the tool that was merged.")
    names: tuple[Text, ...] = Field(description="The names of the merged tool, which the other tool got.")
    tickers: tuple[Text, ...] = Field(description="Its tickers, which the other tool got.")
    keywords: tuple[Text, ...] = Field(description="Its keywords, which the other tool got.")
    excluded: tuple[Text, ...] = Field(description="Its excluded phrases, which the other tool got.")
    muted_sources: tuple[SourceKey, ...] = Field(description="Its muted sources, which the other tool got.")
    author: Text | None = Field(description="Who merged them; null if nobody was named.")
    reason: Text | None = Field(description="Why they were merged; null if nobody said.")
    made_at: Time = Field(description="When they were merged.")
    made_by_run: IdPart = Field(description="The run of the merge.")
    links: dict[str, str] = Field(description="Paths: both tools, and the run.")

    @classmethod
    def of(cls, merge: ToolMerge, view: View = "default") -> Self:
        return cls.made(
            merge,
            view,
            links=links(
                tool=path("tools", merge.tool_id),
                merged_tool=path("tools", merge.merged_tool_id),
                run=path("runs", merge.made_by_run),
            ),
        )


class NameInArticle(Shape):
    """A name that was found in an article."""

    name: str = Field(description="As it is written in the article.")
    kind: str = Field(description="What kind of name it is.")
    where: str = Field(description="The part of the article.")
    cues: tuple[str, ...] = Field(description="For a name that is also something else: what beside it decided.")


class PreviewedArticle(Shape):
    """An article that a change would add or remove."""

    source_id: str = Field(description="The article.")
    headline: str = Field(description="Its headline.")
    timestamp: Time = Field(description="When it was published.")
    matches: tuple[NameInArticle, ...] = Field(description="The names that were found.")


class ToolPreview(Shape):
    """Which articles a change of a tool would add or remove."""

    would_add: Count = Field(description="How many articles the tool would get.")
    would_remove: Count = Field(description="How many it would lose.")
    articles_looked_at: Count = Field(description="The newest articles of the last 30 days, at most 20,000.")
    complete: bool = Field(description="False: there were more.")
    taken_by: dict[str, str] = Field(description="By name of the change, the tool that owns it already.")
    added: tuple[PreviewedArticle, ...] = Field(description="Up to ten of them.")
    removed: tuple[PreviewedArticle, ...] = Field(description="Up to ten of them.")


class ReferencesFacts(Shape):
    """The other fields of a list of references."""

    not_kept: dict[str, int] = Field(
        description="By day, how many references are missing at most: of a day with several thousand only the latest "
        "are kept."
    )


class MeasuredPrecision(Shape):
    """The measured precision, on the first page of a list of corrections."""

    precision: Precision = added("Of the tool.")
    precision_of_all_tools: Precision = added("Of all tools together.")
