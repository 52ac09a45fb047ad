"""The detector of all active tools, which a worker keeps while the catalog stays the same."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

from services.ports import Clock
from services.tools.catalog import Catalog
from services.tools.detector import Detector

REBUILT_AFTER = timedelta(minutes=1)
"""The age at which a detector is built again even without an announcement: a worker may have died before it announced
its change."""


@dataclass(frozen=True, slots=True)
class _Built:
    """A detector that was built."""

    detector: Detector
    version: str | None
    since: datetime


class Watchlist:
    """The detector of all active tools, kept in memory while the catalog's version stays the same."""

    def __init__(self, catalog: Catalog, clock: Clock) -> None:
        self._catalog = catalog
        self._clock = clock
        self._built: _Built | None = None
        self._building = asyncio.Lock()

    async def detector(self, *, anew: bool = False) -> Detector:
        """A detector with every change that was announced before this call; with `anew`, with every stored change."""
        version = await self._catalog.version()
        built = self._built
        if not anew and built is not None and self._is_current(built, version):
            return built.detector
        async with self._building:
            if anew or self._built is None or self._built is built or not self._is_current(self._built, version):
                since = self._clock()
                detector = await asyncio.to_thread(Detector, await self._catalog.active())
                self._built = _Built(detector, version, since)
            return self._built.detector

    async def tickers(self) -> tuple[str, ...]:
        """The tickers of all active tools, in order."""
        detector = await self.detector()
        return tuple(sorted({ticker for tool in detector.tools.values() for ticker in tool.tickers}))

    def _is_current(self, built: _Built, version: str | None) -> bool:
        return built.version == version and timedelta(0) <= self._clock() - built.since < REBUILT_AFTER
