"""What people said of articles and stories: which belong together, and which do not.

The one truth about it: what the grouping obeys follows from these documents (services/stories/pins.py).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from models.article import ARTICLE_KEPT
from models.stored import StoredDocument
from models.values import Day, Flag, IdPart, SourceKey, Text, Time, UnixSeconds, lives, optional

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


class GroupingCorrection(StoredDocument):
    """A statement of a person about articles, in the partition of the day on which it was made.

    A correction with `undone_at` is not applied. It expires when all of its articles have expired.
    """

    CONTAINER: ClassVar[str] = "stories"
    PARTITION_FIELD: ClassVar[str] = "day"

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
    reason: Text | None = optional("Why, in the words of the author; null if none was given.")
    author: Text = Field(description="The name of the person who said so.")
    made_at: Time = Field(description="When the correction was made.")
    made_by_run: IdPart = Field(description="The run that did it.")
    undone_at: Time | None = optional("When it was undone; null while it applies.")
    undone_by: Text | None = optional("Who undid it; null while it applies.")
    undone_reason: Text | None = optional("Why it was undone; null while it applies.")

    @property
    def partition(self) -> str:
        return self.day

    @property
    def id(self) -> str:
        return self.correction_id

    @property
    def is_active(self) -> bool:
        return self.undone_at is None

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
        if (self.undone_at is None) != (self.undone_by is None):
            raise ValueError("undone_at and undone_by must be there together, or neither")
        return self
