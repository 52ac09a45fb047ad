"""Stories of several outlets, grouped and turned into signals by workers on one store."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

from models.story import Signal, SignalsDue
from models.tool import Tool
from services.mentions.due import SIGNALS_STAGE
from services.ports import Query, Store, Where, query_all
from services.signals.writing import SignalWriter
from services.store.containers import ARTICLES, SIGNALS, STORIES
from services.topology import GENERATE_IDEAS
from services.work.announcing import Sweeper
from services.work.handling import Handler
from tests.builders import forgetful
from tests.documents import article, reading
from tests.functional.stories.world import LEAD, OUTAGE
from tests.functional.stories.world import World as StoriesWorld

SAID = 0.3846
"""The polarity of an article that is `good` in headline and text."""


class World(StoriesWorld):
    async def told(self, number: int, outlet: str, how: str = "", headline: str = OUTAGE, text: str = LEAD) -> str:
        """An analysed article of this outlet, published so many minutes ago. `how`: `good` or `bad`."""
        now = self.watch.now
        revision = f"r{next(self._ids)}"
        headline = f"{headline}, {how}" if how else headline
        url = f"https://www.{outlet}.com/{revision}"
        stored = article(
            dedup_key=f"{number:08x}{sum(outlet.encode()):08x}{'0' * 16}",
            created_at=now,
            headline=headline,
            matched_tickers=(),
            canonical=reading(headline=headline, revision=revision, url=url),
            text_for_analysis=text.replace("An outage", f"An outage, {how or 'short'},"),
            timestamp=now - timedelta(minutes=number),
            analysis_due_since=now,
        )
        await self.store.create(ARTICLES.name, stored.to_document())
        await self.delivered([stored.source_id])
        return stored.source_id

    def signal_writer(self, store: Store | None = None) -> SignalWriter:
        return SignalWriter(store or self.store, self.worker.catalog, self.watch)

    def handler(self, store: Store | None = None) -> Handler:
        store = store or self.store
        return Handler(SIGNALS_STAGE, self.signal_writer(store).work, store, forgetful(self.queues), self.watch)

    async def sweep(self) -> int:
        return await Sweeper(self.store, self.queues, forgetful(self.queues), self.watch).sweep(SIGNALS_STAGE)

    def messages(self) -> list[list[str]]:
        """The stories that the messages of `generate-ideas` name since the last call."""
        return [json.loads(each)["event_ids"] for each in self.queues.sent.pop(GENERATE_IDEAS, [])]

    async def decide(self) -> None:
        """Works on all messages of `generate-ideas`."""
        for event_ids in self.messages():
            handled = await self.handler().handle(event_ids)
            assert not handled.failed

    async def count(self) -> None:
        """The messages of `generate-ideas` do."""

    async def grouped(self) -> None:
        """Groups what is due, and decides the signals that follow."""
        await self.group()
        await self.decide()

    async def signals(self, tool: Tool | None = None) -> dict[str, Signal]:
        """The signals that hold, by kind; with a story more than one of a kind, the last."""
        return {each.kind: each for each in await self.all_signals(tool) if each.withdrawn_at is None}

    async def all_signals(self, tool: Tool | None = None) -> list[Signal]:
        query = Query(partition=None if tool is None else tool.tool_id, order="by_time", limit=500)
        return [Signal.from_document(each) for each in await query_all(self.store, SIGNALS.name, query)]

    async def marks(self) -> dict[str, SignalsDue]:
        where = (Where("entity_type", "eq", "SignalsDue"),)
        found = await query_all(self.store, STORIES.name, Query(where, limit=500))
        return {each["event_id"]: SignalsDue.from_document(each) for each in found}

    async def event_of(self, source_id: str) -> str:
        event = (await self.read(source_id)).event_id
        assert event is not None
        return event

    async def all_is_decided(self) -> None:
        """No mark is left, and deciding all stories again changes nothing."""
        assert await self.marks() == {}
        before = [each.to_document() for each in await self.all_signals()]
        events = {each.event_id for each in await self.living() if each.event_id} | {
            each["event_id"] for each in before
        }
        await asyncio.gather(*(self.signal_writer().write(event) for event in sorted(events)))
        assert [each.to_document() for each in await self.all_signals()] == before
