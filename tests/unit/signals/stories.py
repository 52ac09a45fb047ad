"""Stories for the rules of signals: reports by minute, publisher and polarity."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from models.story import event_id
from services.signals.rules import Report, ToolStory
from tests.documents import ARTICLE_ID, NOW, TOOL_ID

EVENT = event_id(ARTICLE_ID, NOW)


def report(minutes: float, publisher: str, polarity: float | None = None) -> Report:
    return Report(f"dedup:{publisher}-{minutes:g}", NOW + timedelta(minutes=minutes), publisher, polarity)


def told(*reports: tuple[float, str] | tuple[float, str, float | None], **fields: Any) -> ToolStory:
    """A story with these reports, in any order."""
    found = tuple(sorted((report(*each) for each in reports), key=lambda each: (each.published_at, each.source_id)))
    given: dict[str, Any] = {"articles": len(found), "began_at": found[0].published_at if found else NOW, **fields}
    return ToolStory(TOOL_ID, EVENT, found, **given)
