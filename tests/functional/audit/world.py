"""A whole app on one store: feeds on a shelf, articles, mentions and figures, and an audit of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from models.article import Article
from models.operations import AuditRound
from models.tool import Tool
from services.mentions.due import ANALYSIS_STAGE, RefreshMessage
from services.operations.audit import Audit
from services.operations.audit_rules import Difference
from services.ports import Document, Query, Store
from services.store.containers import ARTICLES, CONTAINERS, MENTIONS
from services.topology import ANALYZE_ARTICLES, REFRESH_TOOLS
from tests.functional.articles.world import Item, SettableClock, World, item
from tests.functional.mentions.world import World as MentionsWorld


class AuditWorld:
    """`pause` runs between the two readings of a part."""

    def __init__(self, store: Store, clock: SettableClock) -> None:
        self.store = store
        self.clock = clock
        self.began = clock.now
        self.ingestion = World(store, clock, first_id=10_000)
        self.mentions = MentionsWorld(store, clock)
        self.queues = self.mentions.queues
        self.figures = self.mentions.worker.services.figures
        self.analysis = self.mentions.worker.analysis
        self.pause: Callable[[], Any] | None = None
        self.paused = 0
        self.audit = self.new_audit()

    def new_audit(self, store: Store | None = None) -> Audit:
        async def sleep(seconds: float) -> None:
            self.paused += 1
            if self.pause is not None:
                await self.pause()

        return Audit(store or self.store, self.clock, sleep)

    async def filled(self, feeds: int = 2, entries: int = 6) -> list[Tool]:
        """Some feeds with an article in common, two tools, and all figures."""
        tools = [await self.mentions.tool("Hexwharf"), await self.mentions.tool("Pebblegrid")]
        for number in range(feeds):
            await self.ingestion.add_feed(f"feed-{number}", self.items(number, entries))
        await self.ingest_all(feeds)
        await self.work()
        for tool in tools:
            await self.figures.reader.read(tool.tool_id, "HOUR_24")
        return tools

    def items(self, feed: int, entries: int) -> list[Item]:
        own = [self._item(100 * feed + number) for number in range(entries)]
        return [*own, self._item(999, title="Hexwharf is the story of all feeds today", guid=f"shared-{feed}")]

    def _item(self, number: int, **changes: Any) -> Item:
        tool = ("Hexwharf", "Pebblegrid", "Nothing")[number % 3]
        fields = {"title": f"{tool} number {number} is good news again", "published": self.began - timedelta(hours=1)}
        return item(number, **{**fields, **changes})

    async def ingest_all(self, feeds: int) -> None:
        for number in range(feeds):
            self.clock.forward(minutes=1)
            await self.ingestion.poll(f"feed-{number}")

    def publish(self, feed: int, items: Iterable[Item]) -> None:
        self.ingestion.publish(f"feed-{feed}", items)

    async def work(self) -> None:
        """Analyses what is due and refreshes what is dirty, until nothing is left."""
        query = Query(order="by_analysis_due", limit=500)
        due = [each["source_id"] for each in (await self.store.query(ARTICLES.name, query)).items]
        await self.analysis.handle(due)
        while self.queues.sent.get(ANALYZE_ARTICLES) or self.queues.sent.get(REFRESH_TOOLS):
            for message in self.queues.sent.pop(ANALYZE_ARTICLES, []):
                await self.analysis.handle(ANALYSIS_STAGE.keys_of(message))
            for message in self.queues.sent.pop(REFRESH_TOOLS, []):
                await self.figures.refresh.work(RefreshMessage.from_message(message))
        tools = [tool.tool_id for tool in await self.mentions.worker.catalog.active()]
        await self.figures.refresh.work(RefreshMessage(tuple(tools)))

    async def served(self, tool: Tool) -> int:
        """The mentions of the last day, as they are served."""
        return (await self.figures.reader.read(tool.tool_id, "HOUR_24")).entry.total_mentions

    async def counting(self, tool: Tool) -> int:
        """The stored mentions. All were published in the last day."""
        mentions = (await self.store.query(MENTIONS.name, Query(partition=tool.tool_id, limit=1000))).items
        return sum(each.get("removed_at") is None for each in mentions)

    async def differences(self, *, tool_id: str | None = None) -> list[Difference]:
        found: list[Difference] = []
        async for part in self.audit.round(tool_id):
            found += part.differences
        return found

    async def kinds(self, **how: Any) -> list[str]:
        return sorted({each.kind for each in await self.differences(**how)})

    async def stepped(self) -> tuple[AuditRound, int]:
        """A whole round in portions, as the timer does it, and their number."""
        for number in range(1, 1000):
            ended = await self.audit.weekly()
            if ended is not None:
                return ended, number
        raise AssertionError("the round never ends")

    async def one(self, container: str, match: Callable[[Document], Any]) -> Document:
        """The first document of the container that matches."""
        after = None
        while True:
            page = await self.store.query(container, Query(limit=1000, after=after))
            for each in page.items:
                if match(each):
                    return each
            assert page.next is not None, f"nothing in {container}"
            after = page.next

    async def damage(self, container: str, match: Callable[[Document], Any], **changes: Any) -> Document:
        """Writes wrong fields into a stored document."""
        document = await self.one(container, match)
        return await self.store.upsert(container, {**document, **changes})

    async def lose(self, container: str, match: Callable[[Document], Any]) -> Document:
        document = await self.one(container, match)
        assert await self.store.delete(container, document[CONTAINERS[container].partition_key], document["id"])
        return document


def is_article(document: Document) -> bool:
    return bool(document["id"] == Article.ID)
