"""Counts how long articles wait for their analysis, for `GET metrics`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from models.operations import AnalysisTotals
from services.counting import Counts
from services.ports import Clock


class Delays:
    """`soon` asks for the counts to be stored soon."""

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
