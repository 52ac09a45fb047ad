"""Stories and the signals that follow from them."""

from __future__ import annotations

from functools import cached_property

from services.articles.splitting import ArticleSplits
from services.container.container import Container, new_id
from services.mentions.due import SIGNALS_STAGE
from services.signals.reading import Signals
from services.signals.writing import SignalWriter
from services.stories.handler import Grouping
from services.stories.pins import GroupingCorrections
from services.stories.reading import Ledger, Stories
from services.stories.writing import GroupWriter
from services.work.handling import Handler


class StoryPart:
    """The services of stories and signals."""

    def __init__(self, of: Container) -> None:
        self._of = of

    @cached_property
    def grouping(self) -> Grouping:
        of = self._of
        writer = GroupWriter(of.store, of.announcer, of.clock)
        return Grouping(of.store, writer, of.grouping_announcer, of.clock, new_id)

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
