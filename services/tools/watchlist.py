"""The detector of the tools as they are now, kept in memory as long as the catalog's version is the same."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

from services.ports import Clock
from services.tools.catalog import Catalog
from services.tools.detector import Detector

ANEW_AFTER = timedelta(minutes=1)
"""Whoever changed a tool may have died before announcing it."""


@dataclass(frozen=True, slots=True)
class _Held:
    detector: Detector
    version: str | None
    since: datetime


class Watchlist:
    def __init__(self, catalog: Catalog, clock: Clock) -> None:
        self._catalog = catalog
        self._clock = clock
        self._held: _Held | None = None
        self._building = asyncio.Lock()

    async def detector(self, *, anew: bool = False) -> Detector:
        """Knows every tool whose change was announced before this was asked; `anew`, also those that were not."""
        version = await self._catalog.version()
        held = self._held
        if not anew and held is not None and self._is_good(held, version):
            return held.detector
        async with self._building:
            if anew or self._held is None or self._held is held or not self._is_good(self._held, version):
                since = self._clock()
                detector = await asyncio.to_thread(Detector, await self._catalog.active())
                self._held = _Held(detector, version, since)
            return self._held.detector

    async def tickers(self) -> tuple[str, ...]:
        """Of all active tools, in order."""
        detector = await self.detector()
        return tuple(sorted({ticker for tool in detector.tools.values() for ticker in tool.tickers}))

    def _is_good(self, held: _Held, version: str | None) -> bool:
        return held.version == version and self._clock() - held.since < ANEW_AFTER
