"""What articles say about tools: the detector, the analysis, corrections and passages."""

from __future__ import annotations

from functools import cached_property

from services.container.container import Container
from services.documents.archived import FullTexts
from services.mentions.analyzers.port import LocalAnalyzer
from services.mentions.correction_documents import Corrections
from services.mentions.due import ANALYSIS_STAGE
from services.mentions.passages import MentionPassages
from services.mentions.writing import Analysis, Delays, MentionWriter
from services.tools.detector import Watchlist
from services.work.handling import Handler


class MentionPart:
    """The services that find and score mentions."""

    def __init__(self, of: Container) -> None:
        self._of = of

    @cached_property
    def watchlist(self) -> Watchlist:
        return Watchlist(self._of.tools, self._of.clock)

    @cached_property
    def writer(self) -> MentionWriter:
        of = self._of
        return MentionWriter(
            *(of.store, of.tools, self.watchlist, of.analyzers.present, of.announcer, of.clock, FullTexts(of.archive))
        )

    @cached_property
    def analysis(self) -> Handler:
        of, counts = self._of, self._of.figures.counters.writer
        delays = Delays(of.clock, counts.soon)
        counts.register(delays.take)  # they are flushed with those of the cache
        analysis = Analysis(self.writer, of.clock, delays.analyzed)
        return Handler(ANALYSIS_STAGE, analysis.work, of.store, of.announcer, of.clock)

    @cached_property
    def corrections(self) -> Corrections:
        return Corrections(self._of.store, self._of.tools, self._of.clock)

    @cached_property
    def passages(self) -> MentionPassages:
        of, present = self._of, self._of.analyzers.present
        judge = present if isinstance(present, LocalAnalyzer) else None
        return MentionPassages(of.store, self.watchlist, FullTexts(of.archive), judge)
