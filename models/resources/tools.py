"""Tools, references, merges, what a change would do, and what came of lists of tools, as the API shows them; and tools,
changes, merges and reanalyses as it takes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from models.request import Author, FeedId, Name, Names, Reason, Request, each_once
from models.resources.base import Resource, Shape, Stored, View, added, links, path
from models.resources.runs import RunStarted
from models.tool import (
    MAX_NAMES,
    NameRule,
    Reference,
    ReferenceRole,
    Reviews,
    Tool,
    ToolMerge,
    ToolName,
    reference_id,
)
from models.values import Count, Flag, Share, Time


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
        "stories, signals, corrections, merges, names."
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


_PARTS = (
    *("sentiment", "history", "mentions", "articles", "references", "stories", "signals", "corrections", "merges"),
    "names",
)


class ReferenceResource(Resource):
    """One article that mentions the tool, also after the article and its mention have expired."""

    DOCUMENTS = (Reference,)

    reference_id: str = Field(description="A UUID, always the same for the same tool and article.")
    article_url: str | None = Field(description="Where the article is served; null once it has expired.")
    role: ReferenceRole = Field(description="As of a mention. `DISCOVERY` is the article that is the tool's first now.")
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


class NameResource(Stored):
    """A name of a tool: the specification's NameMapping."""

    DOCUMENTS = (ToolName,)

    name_normalized: str = Field(description="The same for names that differ in case or spacing only.")
    links: dict[str, str] = Field(description="Paths: the tool.")

    @classmethod
    def of(cls, name: ToolName, view: View = "default") -> Self:
        tool = path("tools", name.tool_id)
        return cls.made(name, view, name_normalized=name.name_normalized, links=links(tool=tool))


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


TICKER = r"^[A-Z0-9][A-Z0-9.\-]{0,14}$"
ToolFields = Mapping[str, Any]
"""Fields of a tool that were entered and checked, by their stored names."""


def _ticker(text: str) -> str:
    ticker = text.strip().lstrip("$").upper()
    if not re.search(TICKER, ticker):
        raise ValueError("must be tickers such as AAPL or BRK.B, of up to 15 letters, digits, dots or hyphens")
    return ticker


Ticker = Annotated[str, AfterValidator(_ticker), Field(json_schema_extra={"pattern": TICKER})]
Tickers = Annotated[tuple[Ticker, ...], Field(max_length=MAX_NAMES), AfterValidator(each_once)]
ToolText = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1), Field(json_schema_extra={"pattern": "\\S"})
]
Sources = Annotated[tuple[FeedId, ...], Field(max_length=MAX_NAMES), AfterValidator(each_once)]


class NewNameRule(Request):
    """When a name counts."""

    case_sensitive: Flag = Field(default=False, description="Whether the name counts only in this case.")
    context: Names = Field(default=(), description="The name counts only near one of these words.")


_ABOUT_NAME = "A name belongs to one tool; case and spacing are ignored, punctuation is not (C, C#, C++)."
Rules = Annotated[dict[Name, NewNameRule], Field(max_length=MAX_NAMES)]


class NewTool(
    Request,
    examples={"a tool": {"name": "Visual Studio Code", "aliases": ["VS Code"], "tickers": ["MSFT"]}},
    null_is_absent=True,
):
    """A tool to add."""

    name: Name = Field(description=_ABOUT_NAME)
    aliases: Names = Field(default=(), description="Other names. A change replaces the list as a whole.")
    tickers: Tickers = Field(
        default=(),
        description="Found as $MSFT, as NASDAQ: MSFT, or among the tags and tickers of the source. They are requested "
        "from news APIs.",
    )
    keywords: Names = Field(default=(), description="Words that mean the tool too; several tools may share a keyword.")
    excluded: Names = Field(
        default=(),
        description="Phrases that rule the tool out. In a phrase with a name of the tool, the name does not count; any "
        "other phrase rules the tool out of every article that contains it.",
    )
    muted_sources: Sources = Field(
        default=(),
        description="Ids of feeds. An article that only these sources published does not mention the tool.",
    )
    name_rules: Rules = Field(
        default={},
        description="Rules by name: the name counts only in this case, and only near one of these words. A rule is for "
        "the name or an alias as it is written.",
    )

    def stored(self) -> ToolFields:
        """The fields that are given, by their stored names."""
        given: dict[str, Any] = {ToolResource.stored_name(name): value for name, value in self.given().items()}
        if "name_rules" in given:
            given["name_rules"] = {name: NameRule(**dict(rule)) for name, rule in self.name_rules.items()}
        return given


class ToolChange(NewTool, examples={"an alias": {"aliases": ["CPython"]}}, changes=ToolResource):
    """The fields to change; or what `GET` returned, with changes."""

    name: Name = Field(default="", description=_ABOUT_NAME)
    status: Literal["ACTIVE", "DEPRECATED"] = Field(
        default="ACTIVE",
        description="`DEPRECATED`: the tool is not searched for any more, and keeps its mentions.",
    )


class ToolMergeRequest(
    Request,
    examples={"merge": {"into": "Python", "author": "Ada", "reason": "one product"}},
    rules={
        "anyOf": [
            {"required": ["author"], "properties": {"author": {"type": "string"}}},
            {"properties": {"author": {"type": "null"}, "reason": {"type": "null"}}},
        ]
    },
):
    """The merge of a tool into another one. `reason` needs `author`."""

    into: ToolText = Field(description="The id, name or alias of the tool into which this one is merged.")
    author: Author | None = Field(default=None, description="The name of the person who says so.")
    reason: Reason | None = Field(default=None, description="Why.")

    @model_validator(mode="after")
    def _joined(self) -> Self:
        if self.reason is not None and self.author is None:
            raise ValueError("author: is needed: the name of the person")
        return self


class Reanalysis(
    Request,
    examples={"apply": {}, "compare": {"apply": False, "analyzer": "embedded"}},
    rules={
        "anyOf": [
            {"required": ["apply"], "properties": {"apply": {"const": False}}},
            {"properties": {"analyzer": {"type": "null"}}},
        ]
    },
):
    """Scores all mentions of the tool again, or compares only."""

    apply: Flag = Field(
        default=True, description="True if absent: the new scores are stored. False: they are only compared."
    )
    analyzer: Annotated[str, Field(json_schema_extra={"format": "analyzer"})] | None = Field(
        default=None,
        description="With `apply: false`: `embedded`, the shipped table; `azure-language`, which sends every passage "
        "to that service; or `candidate`, the table in `SENTIMENT_CANDIDATE_FILE`. The present analyzer if absent.",
    )

    @model_validator(mode="after")
    def _joined(self) -> Self:
        if self.apply and self.analyzer is not None:
            raise ValueError("analyzer: needs apply: false; only the scores of the present analyzer are stored")
        return self
