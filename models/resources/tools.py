"""Tools, references, merges, what a change would do, and what came of lists of tools, as the API shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import Field

from models.resources.base import Resource, Shape, Stored, View, added, links, path
from models.resources.runs import RunStarted
from models.tool import ADDED_BY, Reference, ReferenceRole, Reviews, Tool, ToolMerge, reference_id
from models.values import Count, Share, Time


class PrecisionFigures(Resource):
    """How often the analyzer was right about mentions that people have reviewed."""

    DOCUMENTS = (Reviews,)

    precision: Share | None = Field(description="`about_tool` / `reviewed`, 0 to 1; null while nothing is reviewed.")
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

    DOCUMENTS = (Tool,)

    STORED_AS: ClassVar[Mapping[str, str]] = {"name": "primary_name"}

    precision: Precision = Field(
        description="The measured precision of the tool's mentions. Reviewed mentions are no random sample: "
        "people look at those that seem wrong."
    )
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

    DOCUMENTS = (Reference,)

    reference_id: str = Field(description="A UUID, always the same for the same tool and article.")
    article_url: str | None = Field(description="Where the article is served; null once it has expired.")
    role: ReferenceRole = Field(description="As of a mention. `DISCOVERY` is the article that is the tool's first now.")
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

    DOCUMENTS = (ToolMerge,)

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


class NamedTool(Shape):
    """A tool with its name."""

    tool_id: str = Field(description="The tool.")
    name: str = Field(description="Its name.")


class RefusedTool(Shape):
    """An entry of a list that is no tool."""

    line: int | None = Field(description="The line in the document.")
    name: str | None = Field(description="Its name.")
    reason: str = Field(description="Why it was refused.")


class ToolsApplied(Shape):
    """The result of applying a list of tools."""

    added: tuple[NamedTool, ...] = Field(description="The new tools.")
    changed: tuple[NamedTool, ...] = Field(description="Tools that were there, and are as the list has them now.")
    known: tuple[NamedTool, ...] = Field(description="Tools that were so already.")
    refused: tuple[RefusedTool, ...] = Field(description="Entries that were not applied.")
    runs: tuple[str, ...] = Field(description="The runs that do what follows from the changes.")


class MergeStarted(RunStarted):
    """The run of a merge."""

    undo: str = Field(description="How to undo the merge.")
