"""Articles that several feeds brought, analysed for two tools, and what must be true of them after any correction."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from models.article import Article
from models.request import SignedBody
from models.tool import Tool
from tests.functional.articles.killing import differences_of
from tests.functional.articles.world import START, Item, SettableClock, item
from tests.functional.articles.world import World as Ingesting
from tests.functional.mentions.world import World as Analysing

TITLE = "Weekly security release notes now available"
ADA = SignedBody(author="Ada", reason="two posts with one headline")
MORNING, AFTERNOON = START - timedelta(hours=11), START - timedelta(hours=5)
TEXTS = {"a": "Quorvia is good.", "b": "Pebblegrid is bad."}


def entry(feed: str, number: int = 1, **changes: Any) -> Item:
    fields: dict[str, Any] = {
        "title": TITLE,
        "link": f"https://{feed}.example/{number}",
        "guid": f"{feed}-{number}",
        "published": MORNING if feed == "a" else AFTERNOON,
        "text": TEXTS.get(feed, "Nothing."),
    }
    return item(number, **{**fields, **changes})


@dataclass
class SplitWorld:
    ingesting: Ingesting
    analysing: Analysing
    clock: SettableClock
    quorvia: Tool
    pebblegrid: Tool

    @classmethod
    async def of(cls, store: Any, clock: SettableClock) -> SplitWorld:
        analysing = Analysing(store, clock)
        tools = await analysing.tool("Quorvia"), await analysing.tool("Pebblegrid")
        return cls(Ingesting(store, clock, first_id=10_000), analysing, clock, *tools)

    async def brought(self, *feeds: str, **entries: list[Item]) -> Article:
        """One article that all feeds brought, in this order, and that is analysed."""
        for feed in feeds:
            await self.ingesting.add_feed(feed, entries.get(feed) or [entry(feed)])
            await self.ingesting.poll(feed)
        (article,) = await self.articles()
        await self.analyse()
        return article

    async def articles(self) -> list[Article]:
        """Those that are served, by time."""
        found = [Article.from_document(each) for each in await self.ingesting.articles()]
        served = [each for each in found if each.deleted_at is None]
        return sorted(served, key=lambda each: (each.timestamp, each.source_id))

    async def analyse(self) -> None:
        due = [each for each in await self.ingesting.articles() if each.get("analysis_due_since")]
        await self.analysing.delivered([each["source_id"] for each in due])

    async def sources(self) -> list[list[str]]:
        """The sources of each article."""
        return [sorted(each.source_attribution) for each in await self.articles()]

    async def mentioned(self, tool: Tool) -> dict[str, str]:
        """The articles that mention the tool, each with the hour that counts it."""
        return {key: f"{each.published_at:%H}" for key, each in (await self.analysing.mentions(tool)).items()}

    async def is_whole(self) -> None:
        """Each source of each article has its observations, and only there; figures and counts are those of what is
        stored; the audit finds nothing."""
        served = await self.articles()
        observed = Counter((each["source_id"], each["source"]) for each in await self.ingesting.observations())
        expected = set()
        for article in served:
            expected |= {(article.source_id, key) for key in article.source_attribution}
        assert set(observed) == expected
        for tool in (self.quorvia, self.pebblegrid):
            assert set(await self.analysing.mentions(tool)) <= {each.source_id for each in served}
            await self.analysing.is_counted(tool)
        assert await differences_of(self.ingesting.store, self.clock) == []
