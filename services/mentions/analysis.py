"""The work of the stage of the analysis, and how long articles wait for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from models.operations import AnalysisTotals
from services.counting import Counts
from services.mentions.due import ANALYSIS_STAGE
from services.mentions.gathering import ARCHIVE_UNAVAILABLE
from services.mentions.writing import MentionWriter
from services.ports import Clock, Document
from services.work.handling import Worked


class Analysis:
    """Analyses articles that are due. `on_analyzed` is told since when the analyses that are done were due."""

    def __init__(
        self,
        writer: MentionWriter,
        clock: Clock,
        on_analyzed: Callable[[Sequence[datetime]], None] = lambda due_since: None,
    ) -> None:
        self._writer = writer
        self._clock = clock
        self._on_analyzed = on_analyzed

    async def work(self, source_ids: Sequence[str], *, alone: bool) -> Worked:
        now, kill = self._clock(), list[str]()

        def is_wanted(document: Document) -> bool:
            if ANALYSIS_STAGE.due_at(document) is None or document.get("deleted_at") is not None:
                return False
            if alone:
                return True
            if not ANALYSIS_STAGE.is_due(document, now):
                return False
            if ANALYSIS_STAGE.has_killed(document):
                kill.append(document["source_id"])
                return False
            return True

        report = await self._writer.write(source_ids, is_wanted=is_wanted)
        self._on_analyzed(report.due_since)
        # An article whose text the archive does not give now stays due: no try of it counts.
        failed = {key: why for key, why in report.failed.items() if why != ARCHIVE_UNAVAILABLE}
        counts = {"analyzed": len(report.done), "mentions": report.written, "removed": report.removed}
        return Worked(len(report.done), failed, kill=kill, counts=counts)


class Delays:
    """Counts how long articles wait for their analysis, for `GET metrics`. `soon` asks for the counts to be stored
    soon."""

    def __init__(self, clock: Clock, soon: Callable[[], None]) -> None:
        self._clock = clock
        self._soon = soon
        self._counts: Counter[str] = Counter()

    def analyzed(self, due_since: Iterable[datetime]) -> None:
        """Articles whose analysis had been due since these times were analysed now."""
        now = self._clock()
        for since in due_since:
            seconds = max(0, int((now - since).total_seconds()))
            within = [f"within_{bound}_s" for bound in AnalysisTotals.BOUNDS_SECONDS if seconds <= bound]
            self._counts.update(["articles", *within])
            self._counts["seconds"] += seconds
        if self._counts:
            self._soon()

    def take(self) -> Iterator[Counts]:
        counts, self._counts = self._counts, Counter()
        if counts:
            yield AnalysisTotals.at(self._clock()), counts
