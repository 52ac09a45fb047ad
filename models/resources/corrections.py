"""Corrections of mentions, articles and stories, as the API shows and takes them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, Field, model_validator

from models.correction import MAX_ARTICLES, VERDICTS, Correction, CorrectionVerdict, GroupingCorrection, Subject
from models.mention import SentimentScore
from models.request import ArticleId, FeedId, Name, SignedBody, each_once
from models.resources.base import Stored, View, added, links, path
from models.story import STORY_ID
from models.tool import Tool, normalize_name

CorrectionState = Literal["active", "outdated", "undone"]
STATES: tuple[CorrectionState, ...] = get_args(CorrectionState)


class CorrectionResource(Stored):
    """The verdict of a person on a mention, a source or a phrase."""

    DOCUMENTS = (Correction,)

    correction_id: str = Field(
        description="Of a mention, the id of its article; otherwise `SOURCE:` or `PHRASE:` with the feed or a hash."
    )
    state: CorrectionState = Field(
        description="`active`; `outdated`: not applied though nobody has undone it, since the article was "
        "edited, or a change of the tool removed the source or phrase; or `undone`."
    )
    links: dict[str, str] = Field(description="Paths: the correction itself, the tool, and the article or feed.")
    run_id: str | None = added("The run that this request began, in the response to a change; null if it needed none.")

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


def state_of(
    correction: Correction, tool: Tool, mention: SentimentScore | None, *, has_article: bool = True
) -> CorrectionState:
    """`outdated`: nobody has undone the verdict, and it is not applied. `mention` is that of the correction, if there
    is one. Without an article, which has expired or was deleted, the verdict is labelled data only."""
    if not correction.is_active:
        return "undone"
    if correction.subject == "SOURCE":
        is_applied = correction.feed_id in tool.muted_sources
    elif correction.phrase is not None:
        is_applied = normalize_name(correction.phrase) in {normalize_name(each) for each in tool.excluded}
    elif mention is None or not mention.counts:
        is_applied = not has_article or correction.verdict == "not_this_tool"
    else:
        is_applied = mention.verdict == correction.verdict
    return "active" if is_applied else "outdated"


def labelled(correction: Correction) -> dict[str, Any] | None:
    """The correction as labelled data. None if it labels nothing: it is undone, no verdict on a mention, or confirms a
    mention without a sentiment."""
    is_other = correction.verdict == "not_this_tool"
    if correction.subject != "MENTION" or not correction.is_active or not (is_other or correction.label):
        return None
    texts, names, others, at = [], list[list[int]](), list[list[int]](), 0
    for each in correction.passages:
        texts.append(each.text)
        names += [[at + start, at + end] for start, end in each.names]
        others += [[at + start, at + end] for start, end in each.other_names]
        at += len(each.text) + 1
    return {
        "text": "\n".join(texts) or correction.headline,
        "names": names,
        "other_names": others,
        "label": "not_this_tool" if is_other else correction.label,
        "language": correction.language,
        "tool_id": correction.tool_id,
        "source_id": correction.source_id,
        "analyzer": correction.said.model_dump() if correction.said is not None else None,
    }


class GroupingCorrectionResource(Stored):
    """What a person said of articles and stories."""

    DOCUMENTS = (GroupingCorrection,)

    state: Literal["active", "undone"] = Field(description="`active` or `undone`.")
    links: dict[str, str] = Field(description="Paths: the correction itself, and the run that made it.")

    @classmethod
    def of(cls, correction: GroupingCorrection, view: View = "default") -> Self:
        return cls.made(
            correction,
            view,
            state="active" if correction.is_active else "undone",
            links=links(self=path("corrections", correction.correction_id), run=path("runs", correction.made_by_run)),
        )


_SUBJECTS: Mapping[str, Subject] = {"article": "MENTION", "source": "SOURCE", "phrase": "PHRASE"}


def _choice(name: str) -> dict[str, Any]:
    """The schema of a correction of this subject: whether its verdict is needed, and which it may have."""
    others: dict[str, Any] = {other: {"type": "null"} for other in _SUBJECTS if other != name}
    verdicts: list[str | None] = [*VERDICTS[_SUBJECTS[name]]]
    needed = [name, "verdict"] if len(verdicts) > 1 else [name]
    verdict = {"enum": verdicts if len(verdicts) > 1 else [*verdicts, None]}
    return {"required": needed, "properties": {name: {"type": "string"}, "verdict": verdict, **others}}


class NewCorrectionBody(
    SignedBody,
    examples={"muted source": {"source": "python-insider", "author": "Ada", "reason": "never about it"}},
    rules={"oneOf": [_choice(name) for name in _SUBJECTS]},
):
    """Exactly one of `article`, `source` and `phrase`."""

    article: ArticleId | None = Field(default=None, description="The id of the article whose mention is corrected.")
    source: FeedId | None = Field(default=None, description="The id of a feed whose articles are never about the tool.")
    phrase: Name | None = Field(default=None, description="A phrase in which the name means something else.")
    verdict: CorrectionVerdict | None = Field(
        default=None,
        description="With `article`, required: `not_this_tool` removes the mention; `positive`, `negative` and "
        "`neutral` are its sentiment; `right` confirms it. With `source`: `mute`. With `phrase`: `exclude`.",
    )

    @model_validator(mode="after")
    def _joined(self) -> Self:
        given = [name for name in _SUBJECTS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"article: one of {', '.join(_SUBJECTS)} is needed, and no other of them")
        allowed = VERDICTS[_SUBJECTS[given[0]]]
        if self.verdict not in allowed and not (self.verdict is None and len(allowed) == 1):
            raise ValueError(f"verdict: must be one of {', '.join(allowed)} with {given[0]}")
        return self

    @property
    def subject(self) -> Subject:
        return next(subject for name, subject in _SUBJECTS.items() if getattr(self, name) is not None)

    @property
    def named(self) -> str:
        """The article, the source or the phrase."""
        return self.article or self.source or self.phrase or ""

    @property
    def chosen_verdict(self) -> CorrectionVerdict:
        """The verdict. The one on a source or a phrase need not be given."""
        return self.verdict or VERDICTS[self.subject][0]

    def correction(self, tool_id: str, now: datetime, **fields: Any) -> Correction:
        """The correction of the tool that is asked for."""
        return Correction(
            created_at=now,
            tool_id=tool_id,
            subject=self.subject,
            verdict=self.chosen_verdict,
            reason=self.reason,
            author=self.author,
            **fields,
        )


_OTHER_ARTICLE = "dedup:1b4e28ba2fa1421e8f1a0b8e9c1f2d3a"


class ArticleSplit(
    SignedBody, examples={"a source": {"source": "python-insider", "author": "Ada", "reason": "another release"}}
):
    """The source to split off an article."""

    source: FeedId = Field(description="The source that becomes an article of its own.")


class StorySplit(
    SignedBody, examples={"an article": {"articles": [_OTHER_ARTICLE], "author": "Ada", "reason": "another event"}}
):
    """The articles to split off a story."""

    articles: Annotated[
        tuple[ArticleId, ...], Field(min_length=1, max_length=MAX_ARTICLES), AfterValidator(each_once)
    ] = Field(description="The articles that leave the story together.")


class StoryPair(
    SignedBody,
    examples={"another story": {"story": "story:20260222:7c9e6679f4f84a2b8d7e5f3a1b2c3d4e", "author": "Ada"}},
):
    """The other one of two stories."""

    story: ArticleId = Field(
        description="The id of the other story.", json_schema_extra={"pattern": STORY_ID, "maxLength": 47}
    )
