"""What people said of a tool's mentions, of its sources, and of phrases with its name.

The one truth about them: mentions and fields of the tool follow from it (services/mentions/corrections.py).
"""

from __future__ import annotations

import hashlib
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from models.scored import WordsJudgement
from models.stored import StoredDocument
from models.tool import ToolId, normalize_name
from models.values import Count, IdPart, Sentiment, SourceKey, Text, Time, Value

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


class AnalyzerJudgement(WordsJudgement):
    """What an analyzer said of a mention: the fields of a SentimentScore under the same names."""


class VersionedJudgement(AnalyzerJudgement):
    """An analyzer's judgement, with the analyzer and its version."""

    analyzer: Text = Field(description="The analyzer that judged it.")
    analyzer_version: Text = Field(description="The version of that analyzer.")


class JudgedPassage(Value):
    """A headline or sentence. `names` are the places that name the tool, `other_names` those that name other tools:
    their start and end in `text`."""

    text: Text = Field(description="The headline or sentence.")
    names: tuple[tuple[Count, Count], ...] = Field(
        default=(), description="Start and end of each name of the tool in `text`, in characters."
    )
    other_names: tuple[tuple[Count, Count], ...] = Field(
        default=(), description="Start and end of each name of another tool in `text`."
    )


class PastVerdict(Value):
    """An earlier verdict on the same subject. `tool_id` is set if it was made on a tool that was merged since."""

    verdict: CorrectionVerdict = Field(description="What the person said.")
    label: Sentiment | None = Field(
        default=None, description="The sentiment that the person gave, or confirmed by `right`; otherwise null."
    )
    reason: Text | None = Field(default=None, description="Why, in the person's words.")
    author: Text = Field(description="Who said so.")
    made_at: Time = Field(description="When the verdict was asked for.")
    made_by_run: IdPart = Field(description="The run that made it.")
    tool_id: ToolId | None = Field(default=None, description="Set if the verdict was on a tool that was merged since.")
    undone_at: Time | None = Field(default=None, description="When it was undone; null if it was replaced.")
    undone_by: Text | None = Field(default=None, description="Who undid it.")
    undone_reason: Text | None = Field(default=None, description="Why it was undone.")


class Correction(StoredDocument):
    """The verdict of a person on one subject: the mention of the tool by the article `source_id`, the source `feed_id`,
    or the `phrase`. Never expires.

    `made_at` is when the verdict was asked for, `made_by_run` the run that made it. `label` is the sentiment that the
    person gave or confirmed; null if the verdict is about no sentiment. `revision` is the article's revision that was
    judged, `passages` what it says about the tool, and `passages_hash` a hash of all of it, as `passages` may be cut.
    `said` is what the analyzer had said. A correction with `undone_at` is not applied. `history` has the earlier
    verdicts on the subject, oldest first.
    """

    CONTAINER: ClassVar[str] = "catalog"

    entity_type: Literal["Correction"] = "Correction"
    tool_id: ToolId
    subject: Subject
    source_id: IdPart | None = None
    feed_id: SourceKey | None = None
    phrase: Text | None = None
    verdict: CorrectionVerdict
    label: Sentiment | None = None
    reason: Text | None = None
    author: Text
    made_at: Time
    made_by_run: IdPart
    headline: Text | None = None
    language: Text | None = None
    revision: Text | None = None
    passages: tuple[JudgedPassage, ...] = ()
    passages_hash: Text | None = None
    said: VersionedJudgement | None = None
    undone_at: Time | None = None
    undone_by: Text | None = None
    undone_reason: Text | None = None
    history: tuple[PastVerdict, ...] = ()

    @property
    def partition(self) -> str:
        return self.tool_id

    @property
    def id(self) -> str:
        return PREFIX + self.correction_id

    @property
    def correction_id(self) -> str:
        """The id as people use it: for a mention, the id of its article."""
        if self.feed_id is not None:
            return source_correction(self.feed_id)
        return str(self.source_id) if self.phrase is None else phrase_correction(self.phrase)

    @property
    def is_active(self) -> bool:
        return self.undone_at is None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        given = {"MENTION": self.source_id, "SOURCE": self.feed_id, "PHRASE": self.phrase}
        if [subject for subject, value in given.items() if value is not None] != [self.subject]:
            raise ValueError("a correction must have source_id, feed_id or phrase, as its subject is")
        if self.verdict not in VERDICTS[self.subject]:
            raise ValueError(f"the verdict on a {self.subject} must be one of {', '.join(VERDICTS[self.subject])}")
        if self.verdict in SENTIMENTS and self.label != self.verdict:
            raise ValueError("label must be the sentiment of the verdict")
        if (self.undone_at is None) != (self.undone_by is None):
            raise ValueError("undone_at and undone_by must be there together, or neither")
        return self
