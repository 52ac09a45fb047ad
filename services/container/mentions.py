"""What articles say about tools, and the stories and signals that follow from them."""

from __future__ import annotations

from functools import cached_property

from services.articles.splitting import ArticleSplits
from services.container import Container, new_id
from services.documents.archived import FullTexts
from services.mentions.analyzers.port import LocalAnalyzer
from services.mentions.correction_documents import Corrections
from services.mentions.due import ANALYSIS_STAGE, SIGNALS_STAGE
from services.mentions.gathering import Gathering
from services.mentions.passages import MentionPassages
from services.mentions.writing import Analysis, Delays, MentionWriter
from services.signals.reading import Signals
from services.signals.writing import SignalWriter
from services.stories.pins import GroupingCorrections
from services.stories.reading import Ledger, Stories
from services.stories.writing import Grouping
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
        gathering = Gathering(of.store, of.tools, self.watchlist, FullTexts(of.archive))
        return MentionWriter(of.store, gathering, of.analyzers.present, of.announcer, of.clock)

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


class StoryPart:
    """The services of stories and signals."""

    def __init__(self, of: Container) -> None:
        self._of = of

    @cached_property
    def grouping(self) -> Grouping:
        of = self._of
        return Grouping(of.store, of.grouping_announcer, of.clock, new_id)

    @cached_property
    def corrections(self) -> GroupingCorrections:
        return GroupingCorrections(self._of.store, self._of.clock)

    @cached_property
    def splits(self) -> ArticleSplits:
        return ArticleSplits(self._of.store, self._of.clock)

    @cached_property
    def ledger(self) -> Ledger:
        return Ledger(self._of.store, self.corrections)

    @cached_property
    def reader(self) -> Stories:
        return Stories(self._of.store, self._of.tools, self._of.clock)

    @cached_property
    def signals(self) -> Signals:
        return Signals(self._of.store, self._of.tools)

    @cached_property
    def signal_work(self) -> Handler:
        of = self._of
        writer = SignalWriter(of.store, of.tools, of.clock)
        return Handler(SIGNALS_STAGE, writer.work, of.store, of.announcer, of.clock, portion=8)
