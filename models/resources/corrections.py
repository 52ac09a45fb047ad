"""Corrections of mentions, and of articles and stories, as the API shows them."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field

from models.correction import Correction, CorrectionVerdict, JudgedPassage, PastVerdict, Subject, VersionedJudgement
from models.grouping_correction import GroupingCorrection, GroupingCorrectionKind
from models.resources.base import Stored, View, added, internal, links, path
from models.tool import ToolId
from models.values import Day, Flag, IdPart, Sentiment, SourceKey, Text, Time

CorrectionState = Literal["active", "outdated", "undone"]


class CorrectionResource(Stored):
    """The verdict of a person on a mention, a source or a phrase."""

    correction_id: str = Field(
        description="Of a mention, the id of its article; otherwise `SOURCE:` or `PHRASE:` with the feed or a hash."
    )
    state: Literal["active", "outdated", "undone"] = Field(
        description="`active`; `outdated`: not applied though nobody has undone it, since the article was "
        "edited, or a change of the tool removed the source or phrase; or `undone`."
    )
    tool_id: ToolId = Field(description="The tool.")
    subject: Subject = Field(description="`MENTION`, `SOURCE` or `PHRASE`.")
    source_id: IdPart | None = Field(description="The article whose mention is corrected; else null.")
    feed_id: SourceKey | None = Field(description="The feed whose articles are never about the tool; else null.")
    phrase: Text | None = Field(description="The phrase in which the name means something else; else null.")
    verdict: CorrectionVerdict = Field(
        description="`not_this_tool`, `positive`, `negative`, `neutral` or `right` of a mention; `mute` of a "
        "source; `exclude` of a phrase."
    )
    label: Sentiment | None = Field(
        description="The sentiment that the person gave, or confirmed by `right`; otherwise null."
    )
    reason: Text | None = Field(description="Why, in the words of the author; null if none was given.")
    author: Text = Field(description="The name of the person who said so.")
    made_at: Time = Field(description="When the verdict was asked for.")
    made_by_run: IdPart = Field(description="The run that made the verdict.")
    headline: Text | None = Field(description="The headline of the article, as it was judged.")
    language: Text | None = Field(description="The language of the article, as it was judged.")
    passages: tuple[JudgedPassage, ...] = Field(
        description="What was judged: the headline if it counts, and the sentences that name the tool, at most "
        "8,000 characters. Each has `text`, and the start and end of the tool's `names` and of "
        "`other_names` in it."
    )
    said: VersionedJudgement | None = Field(description="What the analyzer had said when the mention was judged.")
    undone_at: Time | None = Field(description="When the correction was undone; null while it is not.")
    undone_by: Text | None = Field(description="Who undid it; null while it is not undone.")
    undone_reason: Text | None = Field(description="Why it was undone; null while it is not.")
    history: tuple[PastVerdict, ...] = Field(
        description="The earlier verdicts on the same subject, oldest first, at most 50. Each has those fields "
        "that say who judged what, when and why. `tool_id` is set if the verdict was on a tool that "
        "was merged since."
    )
    links: dict[str, str] = Field(description="Paths: the correction itself, the tool, and the article or feed.")
    run_id: str | None = added("The run that this request began, in the response to a change; null if it needed none.")
    revision: Text | None = internal("The revision of the article that was judged.")

    @classmethod
    def of(cls, correction: Correction, state: CorrectionState, view: View = "default") -> Self:
        """`state`: whether the verdict is applied, which depends on the tool and the mention as they are now."""
        tool, article, feed = path("tools", correction.tool_id), correction.source_id, correction.feed_id
        return cls.made(
            correction,
            view,
            correction_id=correction.correction_id,
            state=state,
            links=links(
                self=path("tools", correction.tool_id, "corrections", correction.correction_id),
                tool=tool,
                article=path("articles", article) if article else None,
                feed=path("feeds", feed) if feed else None,
                run=path("runs", correction.made_by_run),
            ),
        )


class GroupingCorrectionResource(Stored):
    """What a person said of articles and stories."""

    correction_id: IdPart = Field(description="The id. A correction expires with its articles, after 30 days.")
    state: Literal["active", "undone"] = Field(description="`active` or `undone`.")
    day: Day = Field(description="The day on which it was made.")
    kind: GroupingCorrectionKind = Field(description="`SPLIT_ARTICLE`, `SPLIT_STORY`, `ONE_STORY` or `NOT_ONE_STORY`.")
    articles: tuple[IdPart, ...] = Field(
        description="What it is about: each pair of an article in the one and an article in the other. After "
        "`SPLIT_STORY`, `articles` left the story of `others`; after `SPLIT_ARTICLE`, the article in "
        "`others` is the new one."
    )
    others: tuple[IdPart, ...] = Field(
        description="The other side: each pair of an article in `articles` and one in `others`."
    )
    source: SourceKey | None = Field(
        description="The source that became an article of its own; null without a split of an article."
    )
    was_first: Flag | None = Field(
        description="Whether that source was the first of its article; null without a split."
    )
    event_ids: tuple[IdPart, ...] = Field(description="The stories that the person named.")
    reason: Text | None = Field(description="Why, in the words of the author; null if none was given.")
    author: Text = Field(description="The name of the person who said so.")
    made_at: Time = Field(description="When the correction was made.")
    made_by_run: IdPart = Field(description="The run that did it.")
    undone_at: Time | None = Field(description="When it was undone; null while it applies.")
    undone_by: Text | None = Field(description="Who undid it; null while it applies.")
    undone_reason: Text | None = Field(description="Why it was undone; null while it applies.")
    links: dict[str, str] = Field(description="Paths: the correction itself, and the run that made it.")

    @classmethod
    def of(cls, correction: GroupingCorrection, view: View = "default") -> Self:
        return cls.made(
            correction,
            view,
            state="active" if correction.is_active else "undone",
            links=links(self=path("corrections", correction.correction_id), run=path("runs", correction.made_by_run)),
        )
