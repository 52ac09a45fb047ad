"""What people said of a tool's mentions, of its sources, and of phrases with its name; and of articles and stories:
which belong together, and which do not.

The one truth about them: mentions and fields of the tool follow from it (services/mentions/corrections.py), and so does
what the grouping obeys (services/stories/pins.py).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from models.article import ARTICLE_KEPT
from models.errors import InvalidInput
from models.stored import StoredDocument, WordsJudgement
from models.tool import MAX_NAMES, OfTool, Reviews, Tool, ToolId, normalize_name
from models.values import (
    Count,
    Day,
    Flag,
    IdPart,
    Sentiment,
    SourceKey,
    Text,
    Time,
    UnixSeconds,
    Value,
    format_time,
    internal,
    lives,
    optional,
)

CorrectionVerdict = Literal["right", "not_this_tool", "positive", "negative", "neutral", "mute", "exclude"]
Subject = Literal["MENTION", "SOURCE", "PHRASE"]

MENTION_VERDICTS: tuple[CorrectionVerdict, ...] = ("right", "not_this_tool", "positive", "negative", "neutral")
SENTIMENTS: tuple[Sentiment, ...] = ("positive", "negative", "neutral")
VERDICTS: dict[Subject, tuple[CorrectionVerdict, ...]] = {
    "MENTION": MENTION_VERDICTS,
    "SOURCE": ("mute",),
    "PHRASE": ("exclude",),
}
PREFIX = "CORRECTION:"
AFTER_PREFIX = "CORRECTION;"
"""";" is the character after ":"."""


def source_correction(feed_id: str) -> str:
    """The id of the correction that mutes a source, without its prefix."""
    return f"SOURCE:{feed_id}"


def phrase_correction(phrase: str) -> str:
    """The id of the correction that excludes a phrase, without its prefix. Hashed, since a phrase may have characters
    that ids must not have."""
    return "PHRASE:" + hashlib.sha256(normalize_name(phrase).encode()).hexdigest()[:32]


class VersionedJudgement(WordsJudgement):
    """An analyzer's judgement, with the analyzer and its version."""

    analyzer: Text = Field(description="The analyzer that judged it.")
    analyzer_version: Text = Field(description="The version of that analyzer.")


class JudgedPassage(Value):
    """A headline or sentence."""

    text: Text = Field(description="The headline or sentence.")
    names: tuple[tuple[Count, Count], ...] = Field(
        default=(), description="Start and end of each name of the tool in `text`, in characters."
    )
    other_names: tuple[tuple[Count, Count], ...] = Field(
        default=(), description="Start and end of each name of another tool in `text`."
    )


class Statement(Value):
    """What a person said, which may be undone."""

    reason: Text | None = optional("Why, in the words of the author; null if none was given.")
    author: Text = Field(description="The name of the person who said so.")
    made_at: Time = Field(description="When the person said so.")
    made_by_run: IdPart = Field(description="The run that stored it.")
    undone_at: Time | None = optional("When it was undone; null while it is not.")
    undone_by: Text | None = optional("Who undid it; null while it is not undone.")
    undone_reason: Text | None = optional("Why it was undone; null while it is not.")

    @property
    def is_active(self) -> bool:
        return self.undone_at is None

    @model_validator(mode="after")
    def _is_undone_by_somebody(self) -> Self:
        if (self.undone_at is None) != (self.undone_by is None):
            raise ValueError("undone_at and undone_by must be there together, or neither")
        return self


class Verdict(Statement):
    """What a person said of a mention, a source or a phrase."""

    verdict: CorrectionVerdict = Field(
        description="`not_this_tool`, `positive`, `negative`, `neutral` or `right` of a mention; `mute` of a source; "
        "`exclude` of a phrase."
    )
    label: Sentiment | None = optional("The sentiment that the person gave, or confirmed by `right`; otherwise null.")


class PastVerdict(Verdict):
    """An earlier verdict on the same subject."""

    tool_id: ToolId | None = optional("Set if the verdict was on a tool that was merged since.")


class Correction(OfTool, Verdict):
    """The verdict of a person on one subject: the mention of the tool by the article `source_id`, the source `feed_id`,
    or the `phrase`. Never expires.

    `passages_hash` is a hash of all that the article says about the tool, as `passages` may be cut. A correction with
    `undone_at` is not applied.
    """

    entity_type: Literal["Correction"] = "Correction"
    tool_id: ToolId = Field(description="The tool.")
    subject: Subject = Field(description="`MENTION`, `SOURCE` or `PHRASE`.")
    source_id: IdPart | None = optional("The article whose mention is corrected; else null.")
    feed_id: SourceKey | None = optional("The feed whose articles are never about the tool; else null.")
    phrase: Text | None = optional("The phrase in which the name means something else; else null.")
    headline: Text | None = optional("The headline of the article, as it was judged.")
    language: Text | None = optional("The language of the article, as it was judged.")
    revision: Text | None = internal("The revision of the article that was judged.")
    passages: tuple[JudgedPassage, ...] = Field(
        default=(),
        description="What was judged: the headline if it counts, and the sentences that name the tool, at most 8,000 "
        "characters. Each has `text`, and the start and end of the tool's `names` and of `other_names` in it.",
    )
    passages_hash: Text | None = None
    said: VersionedJudgement | None = optional("What the analyzer had said when the mention was judged.")
    history: tuple[PastVerdict, ...] = Field(
        default=(),
        description="The earlier verdicts on the same subject, oldest first, at most 50. Each has those fields that "
        "say who judged what, when and why. `tool_id` is set if the verdict was on a tool that was merged since.",
    )

    @property
    def id(self) -> str:
        return PREFIX + self.correction_id

    @property
    def correction_id(self) -> str:
        """The id as people use it: for a mention, the id of its article."""
        if self.feed_id is not None:
            return source_correction(self.feed_id)
        return str(self.source_id) if self.phrase is None else phrase_correction(self.phrase)

    def added_to(self, tool: Tool, now: datetime) -> Tool:
        """The tool with the muted source or the excluded phrase. Raises InvalidInput if the tool has no room for it."""
        field, value, others = self._in_tool(tool)
        listed: tuple[str, ...] = getattr(tool, field)
        if others != listed:
            return tool
        if len(listed) >= MAX_NAMES:
            raise InvalidInput(field, f"a tool has at most {MAX_NAMES}")
        return tool.changed(now, **{field: (*listed, value)})

    def taken_from(self, tool: Tool, now: datetime) -> Tool:
        field, _, others = self._in_tool(tool)
        return tool.changed(now, **{field: others})

    def _in_tool(self, tool: Tool) -> tuple[str, str, tuple[str, ...]]:
        """The field of the tool, its entry, and the other entries. Phrases mean the same in any case and spacing."""
        if self.feed_id is not None:
            others = tuple(each for each in tool.muted_sources if each != self.feed_id)
            return "muted_sources", self.feed_id, others
        phrase = self.phrase or ""
        same = normalize_name(phrase)
        return "excluded", phrase, tuple(each for each in tool.excluded if normalize_name(each) != same)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        given = {"MENTION": self.source_id, "SOURCE": self.feed_id, "PHRASE": self.phrase}
        if [subject for subject, value in given.items() if value is not None] != [self.subject]:
            raise ValueError("a correction must have source_id, feed_id or phrase, as its subject is")
        if self.verdict not in VERDICTS[self.subject]:
            raise ValueError(f"the verdict on a {self.subject} must be one of {', '.join(VERDICTS[self.subject])}")
        if self.verdict in SENTIMENTS and self.label != self.verdict:
            raise ValueError("label must be the sentiment of the verdict")
        return self


MAX_PAST = 50
"""The most earlier verdicts that a correction keeps: the newest."""
_JUDGED_FIELDS = ("headline", "language", "revision", "passages", "passages_hash", "said")


def after_verdict(before: Correction | None, new: Correction, now: datetime) -> Correction:
    """The correction after the verdict of `new`; the same object if that verdict was made before, or says the same.

    If a verdict was made meanwhile that was asked for later, the new one goes into the history only: its worker had
    died.
    """
    if before is None:
        return new
    if new.made_by_run in _runs_of(before):
        return before
    if _latest(before) > new.made_at:
        return before.changed(now, history=_with_history(before, _past(new)))
    if before.is_active and all(
        getattr(before, name) == getattr(new, name)
        for name in ("verdict", "label", "reason", "author", "revision", "passages_hash", "said")
    ):
        return before
    return before.changed(now, **_said_by(new), history=_with_history(before, _past(before)))


def after_undoing(before: Correction, undoes: str, author: str, reason: str | None, now: datetime) -> Correction:
    """The correction without effect; the same object if it has none already, or if the verdict of the run `undoes` is
    no longer the present one."""
    if not before.is_active or before.made_by_run != undoes:
        return before
    return before.changed(now, undone_at=now, undone_by=author, undone_reason=reason)


def carried(of_target: Correction | None, of_source: Correction, target_id: str, now: datetime) -> Correction:
    """The correction of a merged tool as a correction of the tool that replaces it. A verdict of the target itself
    wins; then the source's goes into the history. The same object as `of_target` if that was done before."""
    own = _past(of_source).model_copy(update={"tool_id": of_source.tool_id})
    if of_target is None:
        return of_source.changed(now, tool_id=target_id).with_etag(None)
    if of_source.made_by_run in _runs_of(of_target):
        return of_target
    if of_target.is_active or not of_source.is_active:
        return of_target.changed(now, history=_with_history(of_target, *of_source.history, own))
    history = _with_history(of_target, *of_source.history, _past(of_target))
    return of_target.changed(now, **_said_by(of_source), history=history)


def _said_by(correction: Correction) -> dict[str, Any]:
    """The verdict, and what was judged."""
    return {name: getattr(correction, name) for name in (*Verdict.model_fields, *_JUDGED_FIELDS)}


def _past(correction: Correction) -> PastVerdict:
    return PastVerdict(**{name: getattr(correction, name) for name in Verdict.model_fields})


def _with_history(correction: Correction, *more: PastVerdict) -> tuple[PastVerdict, ...]:
    """The earlier verdicts of the correction with more of them, oldest first."""
    return tuple(sorted((*correction.history, *more), key=lambda each: each.made_at)[-MAX_PAST:])


def _runs_of(correction: Correction) -> set[str]:
    """The runs that made its verdicts."""
    return {correction.made_by_run, *(each.made_by_run for each in correction.history)}


def _latest(correction: Correction) -> datetime:
    """When the present verdict was made or undone."""
    return max(correction.made_at, correction.undone_at or correction.made_at)


def time_of_verdict(before: Correction | None, now: datetime) -> datetime:
    """When a verdict is made that follows this one, also if the clock is behind that of the worker which made it."""
    return now if before is None else max(now, _latest(before))


def review(correction: Correction | None) -> tuple[str, Reviews] | None:
    """The analyzer and version that a verdict says something of, and what it counts for. None without a verdict on a
    mention."""
    if correction is None or correction.said is None or correction.subject != "MENTION" or not correction.is_active:
        return None
    said = correction.said
    is_about = correction.verdict != "not_this_tool"
    is_scored = is_about and said.sentiment is not None and correction.label is not None
    counts = Reviews(
        reviewed=1,
        about_tool=int(is_about),
        scored=int(is_scored),
        sentiment_right=int(is_scored and said.sentiment == correction.label),
    )
    return f"{said.analyzer}/{said.analyzer_version}", counts


def with_reviews(tool: Tool, changes: Iterable[tuple[Correction | None, Correction | None]], now: datetime) -> Tool:
    """The tool after its corrections changed from the first of each pair to the second. None: there is none."""
    reviews, count = dict(tool.reviews), tool.corrections
    for before, after in changes:
        count += any(each is not None and each.subject == "MENTION" for each in (before, after))
        for sign, found in ((-1, review(before)), (1, review(after))):
            if found is not None:
                version, counts = found
                reviews[version] = reviews.get(version, Reviews()).plus(counts, sign)
    kept = {version: each for version, each in reviews.items() if each.reviewed}
    return tool.changed(now, corrections=count, reviews=kept)


GroupingCorrectionKind = Literal["SPLIT_ARTICLE", "SPLIT_STORY", "ONE_STORY", "NOT_ONE_STORY"]
MAX_ARTICLES = 200
"""On each side of a correction: each of them is written."""

_ID = re.compile(r"correction:(\d{4})(\d{2})(\d{2}):[A-Za-z0-9-]{1,64}")


def grouping_correction_id(run_id: str, made_at: datetime) -> str:
    """The id of the correction that a run makes."""
    return f"correction:{made_at.astimezone(UTC):%Y%m%d}:{run_id}"


def partition_of_correction(correction_id: str) -> str:
    """The day on which it was made. Raises ValueError for a text that is not such an id."""
    found = _ID.fullmatch(correction_id)
    if found is None:
        raise ValueError("must be the id of a correction, such as correction:20260221:<run>")
    return "-".join(found.groups())


class GroupingCorrection(StoredDocument, Statement):
    """A statement of a person about articles, in the partition of the day on which it was made.

    A correction with `undone_at` is not applied. It expires when all of its articles have expired.
    """

    CONTAINER: ClassVar[str] = "stories"
    PARTITION_FIELD: ClassVar[str] = "day"
    ID_OF: ClassVar[str] = "correction_id"

    entity_type: Literal["GroupingCorrection"] = "GroupingCorrection"
    ttl_timestamp: UnixSeconds | None = lives(days=ARTICLE_KEPT.days)
    day: Day = Field(description="The day on which it was made.")
    correction_id: IdPart = Field(description="The id. A correction expires with its articles, after 30 days.")
    kind: GroupingCorrectionKind = Field(description="`SPLIT_ARTICLE`, `SPLIT_STORY`, `ONE_STORY` or `NOT_ONE_STORY`.")
    articles: tuple[IdPart, ...] = Field(
        min_length=1,
        max_length=MAX_ARTICLES,
        description="What it is about: each pair of an article in the one and an article in the other. After "
        "`SPLIT_STORY`, `articles` left the story of `others`; after `SPLIT_ARTICLE`, the article in `others` is the "
        "new one.",
    )
    others: tuple[IdPart, ...] = Field(
        min_length=1,
        max_length=MAX_ARTICLES,
        description="The other side: each pair of an article in `articles` and one in `others`.",
    )
    source: SourceKey | None = optional(
        "The source that became an article of its own; null without a split of an article."
    )
    was_first: Flag | None = optional("Whether that source was the first of its article; null without a split.")
    event_ids: tuple[IdPart, ...] = Field(default=(), description="The stories that the person named.")

    @classmethod
    def made(cls, said: Mapping[str, Any], run_id: str, made_at: datetime) -> Self:
        """The correction that a run makes of what a person said."""
        return cls(
            **said,
            created_at=made_at,
            day=format_time(made_at)[:10],
            correction_id=grouping_correction_id(run_id, made_at),
            made_at=made_at,
            made_by_run=run_id,
        )

    def across_from(self, source_id: str) -> tuple[str, ...]:
        """The articles that the correction is about together with this one."""
        if source_id in self.articles:
            return self.others
        return self.articles if source_id in self.others else ()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.day != partition_of_correction(self.correction_id):
            raise ValueError("day must be that of the correction_id")
        if set(self.articles) & set(self.others):
            raise ValueError("an article must be in articles or in others")
        if (self.kind == "SPLIT_ARTICLE") != (self.source is not None):
            raise ValueError("source must be there if, and only if, an article is split")
        return self
