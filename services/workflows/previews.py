"""Previews: what a change of a tool's fields of detection, or a decision about a batch in quarantine, would do.

Nothing is written. What is stored is compared with what the changed tool would find. An article whose analysis is due
counts by what the tool finds in it now, so that only the change counts. A decision is counted from the batch: articles,
ids, and mentions as the detector finds tools in the articles that would be new; what becomes of an edited article is
known once it is analysed. A full text is judged anew, as its page is in the archive.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from models.article import Article, ArticleDocument
from models.errors import Conflict
from models.feed import Feed
from models.quarantine import QuarantineItem
from models.raw_item import RawItem
from models.resources.articles import AmbiguousEntry, EffectOfDecision, EffectOnTool, QuarantinePreview
from models.resources.tools import NameInArticle, PreviewedArticle, ToolFields, ToolPreview
from models.tool import Tool
from models.values import format_time
from services.articles.entries import source_of
from services.articles.identity import Candidate, Source, SourceAttempt, entries_of
from services.articles.matching import KnownEntries, candidates_of, grouped, matches_of, separated
from services.articles.merge import merge
from services.articles.quarantine import Ambiguous, Quarantine, items_of, sort_out
from services.articles.writing import followed, known_articles
from services.documents.archived import MAX_SCORED
from services.documents.judging import PageFinding, Text, Unknown
from services.mentions.corrections import corrections_of_mentions, removes
from services.mentions.understanding import detect
from services.ports import Clock, Document, Store, readable
from services.store.containers import ARTICLES, FEEDS, LOCATORS
from services.tools.catalog import Catalog, changed_tool, owns
from services.tools.detector import Detected, Detector, Watchlist
from services.workflows.changes import LOOKED_BACK, published_since

MAX_ARTICLES = 20_000
MAX_SAMPLES = 10
MAX_ENTRIES = 1_000
"""Entries of a batch. A preview of more would take longer than a response may."""
MAX_AMBIGUOUS = 20
MAX_TOOLS = 50
NO_EFFECT = EffectOfDecision(
    new_articles=0, changed_articles=0, ids_added=0, left_out=0, mentions_added=0, tools_changed=0, tools=()
)
_PREVIEW = "preview"


@dataclass(frozen=True, slots=True)
class _Change:
    """An article that the tool would get, or lose; `detected` is what the tool finds or found in it."""

    article: Article
    is_added: bool
    detected: Detected

    @property
    def shown(self) -> PreviewedArticle:
        article, cues = self.article, self.detected.cues
        matches = [
            NameInArticle(name=each.name, kind=each.kind, where=each.where, cues=tuple(cues.get(each.name, ())))
            for each in self.detected.reasons
        ]
        headline, timestamp = article.canonical.headline, article.timestamp
        return PreviewedArticle(
            source_id=article.source_id, headline=headline, timestamp=timestamp, matches=tuple(matches)
        )


def _changes(documents: Iterable[Document], tool_id: str, old: Detector, new: Detector) -> list[_Change]:
    """What changes for the tool once `new` takes the place of `old`."""
    found = []
    for document in documents:
        article = readable(document, Article.from_document)
        if article is None:
            continue
        after = detect(article, new).get(tool_id)
        is_analyzed = article.status == "analyzed" and article.analysis_due_since is None
        if is_analyzed and (tool_id in article.detected_tool_ids) == (after is not None):
            continue
        before = detect(article, old).get(tool_id)
        if is_analyzed or (before is None) != (after is None):
            found.append(_Change(article, after is not None, after or before or Detected(())))
    return found


@dataclass(frozen=True, slots=True)
class Previews:
    """Tries changes of tools, and decisions about batches, without making them."""

    store: Store
    catalog: Catalog
    quarantine: Quarantine
    judged: Callable[[str], Awaitable[tuple[Article, PageFinding]]]
    watchlist: Watchlist
    clock: Clock

    async def of_tool(self, tool: Tool, change: ToolFields) -> ToolPreview:
        """What `change`, which `tool_change` checked, would do to the tool's mentions in the articles of the last 30
        days, the newest first. Raises InvalidInput."""
        now = self.clock()
        after = changed_tool(tool, change, now)
        counts, looked_at, cursor = Counter[bool](), 0, None
        samples: dict[bool, list[PreviewedArticle]] = {True: [], False: []}
        if after.status == "ACTIVE":  # another is not searched for, and keeps its mentions
            present = await self.watchlist.detector()
            others = [each for each in present.tools.values() if each.tool_id != tool.tool_id]
            changed = await asyncio.to_thread(Detector, [*others, after])
            since = format_time(now - LOOKED_BACK)
            while looked_at < MAX_ARTICLES:
                page = await self.store.query(ARTICLES.name, published_since(since, cursor, newest_first=True))
                changes = await asyncio.to_thread(_changes, page.items, tool.tool_id, present, changed)
                if tool.corrections:
                    changes = await self._without_corrected(tool.tool_id, changes)
                counts.update(each.is_added for each in changes)
                for each in changes:
                    if len(samples[each.is_added]) < MAX_SAMPLES:
                        samples[each.is_added].append(each.shown)
                looked_at, cursor = looked_at + len(page.items), page.next
                if cursor is None:
                    break
        return ToolPreview(
            would_add=counts[True],
            would_remove=counts[False],
            articles_looked_at=looked_at,
            complete=cursor is None,
            taken_by=await self._taken_by(tool, after),
            added=tuple(samples[True]),
            removed=tuple(samples[False]),
        )

    async def _taken_by(self, tool: Tool, after: Tool) -> dict[str, str]:
        """The tools that own a name of the change already, by name."""
        found = {name: await self.catalog.find(name) for name in after.names if not owns(tool, name)}
        return {name: each.tool_id for name, each in found.items() if each is not None and each.tool_id != tool.tool_id}

    async def _without_corrected(self, tool_id: str, changes: Sequence[_Change]) -> list[_Change]:
        """Without articles of which a person said that they are not about the tool: they have no mention, and get
        none."""
        keys = [(tool_id, each.article.source_id) for each in changes]
        found = (await corrections_of_mentions(self.store, keys)).items
        not_about = {each.source_id for each in found if removes(each)}
        return [each for each in changes if each.article.source_id not in not_about]

    async def of_item(self, quarantine_id: str) -> QuarantinePreview:
        """The effect of each decision, by its name. Dropping has none, and neither has any decision once the feed is
        gone. Raises Conflict for an item that was reviewed."""
        item = await self.quarantine.get(quarantine_id)
        if item.decision is not None:
            raise Conflict(f"quarantine item {quarantine_id} was reviewed already: {item.decision}")
        if item.kind == "DOCUMENT":
            return await self._of_document(item)
        items = await items_of(self.store, item)
        looked_at = items[:MAX_ENTRIES]
        effects: dict[str, EffectOfDecision] = dict.fromkeys(item.decisions, NO_EFFECT)
        ambiguous: Sequence[Ambiguous] = ()
        feed = await self.store.read(FEEDS.name, item.subject, Feed.ID)
        if feed is not None:
            source = source_of(Feed.from_document(feed))
            attempt = SourceAttempt(source, _PREVIEW, 1, self.clock())
            candidates = await asyncio.to_thread(_candidates, looked_at, source, attempt)
            present = frozenset(each.url for each in looked_at)
            effects["new_articles"] = await self._effect(candidates, attempt, present)
            if "same_articles_new_ids" in effects:
                found = await sort_out(self.store, looked_at, attempt)
                new, ambiguous = {each.locator_id for each in found.new}, found.ambiguous
                of_new = [each for each in candidates if each.locator_id in new]
                effect = await self._effect(of_new, attempt, present)
                counts = {"ids_added": len(found.known), "left_out": len(ambiguous)}
                effects["same_articles_new_ids"] = effect.model_copy(update=counts)
        effects["drop"] = NO_EFFECT.model_copy(update={"left_out": item.item_count})
        return QuarantinePreview(
            quarantine_id=item.quarantine_id,
            entries=len(items),
            entries_looked_at=len(looked_at),
            complete=len(looked_at) == len(items),
            effects=effects,
            ambiguous=tuple(map(_sample, ambiguous[:MAX_AMBIGUOUS])),
        )

    async def _of_document(self, item: QuarantineItem) -> QuarantinePreview:
        """An approval has the page fetched again. Until then, its copy in the archive says what comes of it."""
        article, found = await self.judged(item.subject)
        effects, text = dict.fromkeys(item.decisions, NO_EFFECT), ""
        if isinstance(found, Text):
            finding, text = "VALID: the text would be scored", found.text
            of_text = article.model_copy(update={"text_for_analysis": text[:MAX_SCORED]})
            named = await asyncio.to_thread(detect, of_text, await self.watchlist.detector())
            added = Counter(named.keys() - set(article.detected_tool_ids))
            effects["CLEARED_RETRY_APPROVED"] = await self._counted(added, changed_articles=1)
        elif isinstance(found, Unknown):
            finding, text = f"QUARANTINED: {found.why}", found.seen
        else:
            finding = f"SKIPPED_UNAVAILABLE: {found.reason}"
        counts = {"entries": 1, "entries_looked_at": 1, "complete": True}
        shown = {**counts, "effects": effects, "ambiguous": (), "finding": finding, "text": text}
        return QuarantinePreview.shaped({"quarantine_id": item.quarantine_id, **shown})

    async def _effect(
        self, candidates: Sequence[Candidate], attempt: SourceAttempt, present: Collection[str]
    ) -> EffectOfDecision:
        """The effect of ingesting these entries, matched as ingestion does. `present` are the URLs of the batch."""
        locators = list(dict.fromkeys(each.locator_id for each in candidates))
        aliases = await self.store.read_many(LOCATORS.name, [(each, each) for each in locators])
        known = {name: each for name, each in zip(locators, aliases, strict=True) if each is not None}
        groups = grouped(matches_of(candidates, known, attempt.source, attempt.at))
        stored = await known_articles(self.store, groups)
        groups, stored = await followed(self.store, separated(groups, stored, attempt.source.key, present), stored)
        changed = sum((each := stored[key]) is not None and not each.get("deleted_at") for key in groups)
        made = [merge(None, None, group, attempt).article for key, group in groups.items() if stored[key] is None]
        articles = [each for each in made if each is not None]
        found = await asyncio.to_thread(_detected, articles, await self.watchlist.detector())
        return await self._counted(found, new_articles=len(articles), changed_articles=changed)

    async def _counted(self, found: Counter[str], **articles: int) -> EffectOfDecision:
        """The effect of so many more mentions of each tool."""
        detector = await self.watchlist.detector()
        most = sorted(found.items(), key=lambda each: (-each[1], each[0]))[:MAX_TOOLS]
        names = {tool_id: detector.tools[tool_id].primary_name for tool_id, _ in most}
        tools = [EffectOnTool(tool_id=each, tool=names[each], mentions_added=count) for each, count in most]
        counts = {"mentions_added": found.total(), "tools_changed": len(found), "tools": tuple(tools)}
        return NO_EFFECT.model_copy(update={**articles, **counts})


def _candidates(items: Sequence[RawItem], source: Source, attempt: SourceAttempt) -> list[Candidate]:
    return candidates_of(entries_of(source, items), source, attempt.at, KnownEntries())


def _detected(articles: Iterable[ArticleDocument], detector: Detector) -> Counter[str]:
    """How many of the articles name each tool."""
    return Counter(tool_id for each in articles for tool_id in detect(Article.from_document(each), detector))


def _sample(ambiguous: Ambiguous) -> AmbiguousEntry:
    item = ambiguous.candidate.entry.item
    return AmbiguousEntry(url=item.url, headline=item.headline, article_ids=ambiguous.source_ids)
