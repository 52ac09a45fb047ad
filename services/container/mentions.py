"""What articles say about tools, and the stories and signals that follow from them."""

from __future__ import annotations

from functools import cached_property, partial

from services.articles.splitting import ArticleSplits
from services.container import Part, new_id
from services.documents.archived import FullTexts
from services.mentions.analyzers.port import LocalAnalyzer
from services.mentions.corrections import Corrections
from services.mentions.due import ANALYSIS_STAGE, SIGNALS_STAGE
from services.mentions.gathering import Gathering
from services.mentions.passages import MentionPassages
from services.mentions.writing import Analysis, MentionWriter, count_delays
from services.signals.reading import Signals
from services.signals.writing import SignalWriter
from services.stories.pins import GroupingCorrections
from services.stories.reading import Ledger, Stories
from services.stories.writing import Grouping
from services.tools.detector import Watchlist
from services.work.handling import Handler


class MentionPart(Part):
    """The services that find and score mentions."""

    @cached_property
    def watchlist(self) -> Watchlist:
        return Watchlist(self.of.tools, self.of.clock)

    @cached_property
    def writer(self) -> MentionWriter:
        gathering = Gathering(self.of.store, self.of.tools, self.watchlist, FullTexts(self.of.archive))
        return MentionWriter(self.of.store, gathering, self.of.analyzers.present, self.of.announcer, self.of.clock)

    @cached_property
    def analysis(self) -> Handler:
        of = self.of
        # They are flushed with those of the cache.
        on_analyzed = partial(count_delays, of.figures.counters.writer, of.clock)
        analysis = Analysis(self.writer, of.clock, on_analyzed)
        return Handler(ANALYSIS_STAGE, analysis.work, of.store, of.announcer, of.clock)

    @cached_property
    def corrections(self) -> Corrections:
        return Corrections(self.of.store, self.of.tools, self.of.clock)

    @cached_property
    def passages(self) -> MentionPassages:
        of, present = self.of, self.of.analyzers.present
        judge = present if isinstance(present, LocalAnalyzer) else None
        return MentionPassages(of.store, self.watchlist, FullTexts(of.archive), judge)


class StoryPart(Part):
    """The services of stories and signals."""

    @cached_property
    def grouping(self) -> Grouping:
        return Grouping(self.of.store, self.of.grouping_announcer, self.of.clock, new_id)

    @cached_property
    def corrections(self) -> GroupingCorrections:
        return GroupingCorrections(self.of.store, self.of.clock)

    @cached_property
    def splits(self) -> ArticleSplits:
        return ArticleSplits(self.of.store, self.of.clock)

    @cached_property
    def ledger(self) -> Ledger:
        return Ledger(self.of.store, self.corrections)

    @cached_property
    def reader(self) -> Stories:
        return Stories(self.of.store, self.of.tools, self.of.clock)

    @cached_property
    def signals(self) -> Signals:
        return Signals(self.of.store, self.of.tools)

    @cached_property
    def signal_work(self) -> Handler:
        writer = SignalWriter(self.of.store, self.of.tools, self.of.clock)
        return Handler(SIGNALS_STAGE, writer.work, self.of.store, self.of.announcer, self.of.clock, portion=8)
