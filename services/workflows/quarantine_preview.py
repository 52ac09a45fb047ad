"""What each decision about a batch in quarantine would do: articles, locators, mentions and figures. Writes nothing.

The work of a release and of the analysis that follows is done in a rehearsal, so the preview cannot differ from it.
"""

from __future__ import annotations

import random
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

from models.article import Article
from models.cache import SentimentCacheEntry
from models.errors import Conflict, InvalidInput
from models.feed import Feed, FeedDocument
from models.quarantine import Decision, QuarantineItem
from models.raw_item import RawItem
from models.run import RELEASE_BATCH
from models.tool import Tool
from services.articles.adding_ids import NewIds
from services.articles.entries import AMBIGUOUS, EntryIngestion, source_of
from services.articles.entry_documents import SourceAttempt
from services.articles.matching import DocumentCache
from services.articles.new_ids import Ambiguous
from services.articles.quarantine import Quarantine, QuarantinedBatches
from services.feeds.leases import Lease
from services.figures.coverage import Coverage
from services.figures.entries import Entries, Generations, ToolEntries
from services.figures.recount import Recount
from services.mentions.analyzers.choice import Analyzers
from services.mentions.announcing import RefreshAnnouncer
from services.mentions.writing import MentionWriter
from services.ports import Clock, Document, Store
from services.store.containers import ARTICLES, FEEDS, LOCATORS, MENTIONS
from services.tools.catalog import Catalog
from services.tools.watchlist import Watchlist
from services.workflows.rehearsal import Rehearsal, SilentQueues, rehearsal

MOST_PREVIEWED = 1_000
"""Entries of a batch. A preview of more would take longer than a response may."""
MOST_TOOLS = 50
MOST_SAMPLES = 20
_ANALYSED_AT_ONCE = 100
_PREVIEW = "preview"
_FIGURES = (
    *("total_mentions", "positive_count", "negative_count", "neutral_count", "unscored_mentions"),
    "average_sentiment",
)


@dataclass(frozen=True, slots=True)
class ToolEffect:
    """What would change for one tool. `figures`: by period, each figure `before` and `after`."""

    tool_id: str
    tool: str
    mentions_added: int
    mentions_removed: int
    figures: Mapping[str, Mapping[str, Mapping[str, float]]]


@dataclass(slots=True)
class Effect:
    """What one decision would do. `ids_added` are the entries whose ids would be added to articles that are stored,
    `changed_articles` those that would get a source or an edit. `left_out` entries would not be ingested. `tools` has
    the tools with the most changes, `tools_changed` is the number of all."""

    new_articles: int = 0
    changed_articles: int = 0
    ids_added: int = 0
    left_out: int = 0
    mentions_added: int = 0
    mentions_removed: int = 0
    tools_changed: int = 0
    tools: list[ToolEffect] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class QuarantinePreview:
    store: Store
    quarantine: Quarantine
    watchlist: Watchlist
    analyzers: Analyzers
    clock: Clock

    async def of(self, quarantine_id: str) -> dict[str, Any]:
        """The effect of each decision, by its name. Raises InvalidInput for a full text, and Conflict for an item that
        was reviewed."""
        item = await self.quarantine.get(quarantine_id)
        if item.kind != "BATCH":
            raise InvalidInput("quarantine_id", "a batch of a feed: what a full text changes is known once it is read")
        if item.decided is not None:
            raise Conflict(f"quarantine item {quarantine_id} was reviewed already: {item.decided}")
        items = await QuarantinedBatches(self.store).items(item)
        looked_at = items[:MOST_PREVIEWED]
        feed = await self.store.read(FEEDS.name, item.subject, Feed.ID)
        lease = _lease(cast(FeedDocument, feed), self.clock()) if feed is not None else None
        effects, ambiguous = await self._effects(item, lease, looked_at)
        return {
            "quarantine_id": item.quarantine_id,
            "entries": len(items),
            "entries_looked_at": len(looked_at),
            "complete": len(looked_at) == len(items),
            "effects": {decision: asdict(each) for decision, each in effects.items()},
            "ambiguous": [_sample(each) for each in ambiguous[:MOST_SAMPLES]],
        }

    async def _effects(
        self, item: QuarantineItem, lease: Lease | None, items: Sequence[RawItem]
    ) -> tuple[dict[Decision, Effect], Sequence[Ambiguous]]:
        """Dropping has no effect, and neither has any decision once the feed is gone."""
        effects: dict[Decision, Effect] = {decision: Effect() for decision in item.decisions}
        ambiguous: Sequence[Ambiguous] = ()
        effects["drop"].left_out = item.item_count
        if lease is None:
            return effects, ambiguous
        if "same_articles_new_ids" in effects:
            attempt = SourceAttempt(source_of(lease.feed), _PREVIEW, 1, lease.started_at)
            ambiguous = (await NewIds(self.store).sorted_out(items, attempt)).ambiguous
        async with rehearsal(self.store, self.clock) as untouched:
            present = _Figures(untouched, self.clock)
            for decision in effects.keys() - {"drop"}:
                effects[decision] = await self._effect(lease, items, decision, present)
        return effects, ambiguous

    async def _effect(self, lease: Lease, items: Sequence[RawItem], decision: Decision, present: _Figures) -> Effect:
        async with rehearsal(self.store, self.clock) as stage:
            have_new_ids = decision == "same_articles_new_ids"
            entries = EntryIngestion(stage, DocumentCache(0), timedelta(days=1), _announce_nothing, random.random)
            ingested = await entries.ingest_released(lease, items, have_new_ids=have_new_ids)
            await self._analyse(stage, sorted(ingested.written.due))
            effect = await _counted(stage)
            effect.left_out = ingested.skipped.get(AMBIGUOUS, 0)
            await self._add_tools(effect, stage, present)
            return effect

    async def _analyse(self, stage: Rehearsal, due: Sequence[str]) -> None:
        catalog = Catalog(stage, self.clock, lambda: str(uuid.uuid4()))
        announcer = RefreshAnnouncer(stage, SilentQueues(), self.clock)
        writer = MentionWriter(stage, catalog, self.watchlist, self.analyzers.present, announcer, self.clock)
        for start in range(0, len(due), _ANALYSED_AT_ONCE):
            await writer.write(due[start : start + _ANALYSED_AT_ONCE])

    async def _add_tools(self, effect: Effect, stage: Rehearsal, present: _Figures) -> None:
        added, removed = Counter[str](), Counter[str]()
        for before, after in await stage.written(MENTIONS.name):
            tool_id = (after or before or {})["tool_id"]
            added[tool_id] += _counts(after) and not _counts(before)
            removed[tool_id] += _counts(before) and not _counts(after)
        effect.mentions_added, effect.mentions_removed = added.total(), removed.total()
        changed = added + removed
        names = Counter({tool_id: changed[tool_id] for tool_id in added.keys() | removed.keys()})
        effect.tools_changed = len(names)
        later = _Figures(stage, self.clock)
        for tool_id, _ in sorted(names.items(), key=lambda each: (-each[1], each[0]))[:MOST_TOOLS]:
            tool = await later.tool(tool_id)
            figures = _compared(await present.of(tool), await later.of(tool))
            effect.tools.append(ToolEffect(tool_id, tool.primary_name, added[tool_id], removed[tool_id], figures))


class _Figures:
    """The entries of tools, computed in a rehearsal."""

    def __init__(self, stage: Rehearsal, clock: Clock) -> None:
        self._catalog = Catalog(stage, clock, lambda: str(uuid.uuid4()))
        self._entries = Entries(stage, Recount(stage), Generations(stage, clock), Coverage(stage), clock)
        self._known: dict[str, ToolEntries] = {}

    async def tool(self, tool_id: str) -> Tool:
        return await self._catalog.get(tool_id)

    async def of(self, tool: Tool) -> ToolEntries:
        if tool.tool_id not in self._known:
            self._known[tool.tool_id] = await self._entries.computed(tool)
        return self._known[tool.tool_id]


async def _counted(stage: Rehearsal) -> Effect:
    effect = Effect()
    known = await stage.written(ARTICLES.name)
    articles = [pair for pair in known if (pair[1] or pair[0] or {})["id"] == Article.ID]
    effect.new_articles = sum(before is None for before, _ in articles)
    effect.changed_articles = sum(before is not None for before, _ in articles)
    aliases = [after for before, after in await stage.written(LOCATORS.name) if before is None and after is not None]
    aliases = [each for each in aliases if each["entity_type"] == "LocatorAlias"]
    stored = [stage.before.get((ARTICLES.name, each["source_id"], Article.ID)) for each in aliases]
    effect.ids_added = sum(each is not None for each in stored)
    return effect


def _counts(mention: Document | None) -> bool:
    return mention is not None and not mention.get("removed_at")


def _compared(before: ToolEntries, after: ToolEntries) -> dict[str, dict[str, dict[str, float]]]:
    return {period: {"before": _figures(before[period]), "after": _figures(after[period])} for period in after}


def _figures(entry: SentimentCacheEntry) -> dict[str, float]:
    return {name: getattr(entry, name) for name in _FIGURES}


def _sample(ambiguous: Ambiguous) -> dict[str, Any]:
    item = ambiguous.candidate.entry.item
    return {"url": item.url, "headline": item.headline, "article_ids": list(ambiguous.source_ids)}


def _lease(feed: FeedDocument, now: datetime) -> Lease:
    """As a worker would have it, but not stored."""
    return Lease(Feed.from_document(feed), feed, _PREVIEW, 1, RELEASE_BATCH, now)


async def _announce_nothing(source_ids: Iterable[str], feed_id: str | None = None) -> None:
    pass
