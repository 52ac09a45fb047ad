"""Corrections of mentions, and of articles and stories, as the API shows them."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field

from models.correction import Correction, GroupingCorrection
from models.resources.base import Stored, View, added, links, path

CorrectionState = Literal["active", "outdated", "undone"]


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
