"""What each decision about a batch in quarantine would do, counted from the batch: articles, ids, and mentions by tool.

Nothing is written. Mentions are counted as the detector finds tools in the articles that would be new; what becomes of
an edited article is known once it is analysed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from models.article import Article, ArticleDocument
from models.errors import Conflict, InvalidInput
from models.feed import Feed
from models.raw_item import RawItem
from models.resources.articles import AmbiguousEntry, EffectOfDecision, EffectOnTool, QuarantinePreview
from services.articles.entries import source_of
from services.articles.entry_documents import SourceAttempt
from services.articles.identity import Candidate, Source, entry_of
from services.articles.matching import KnownEntries, candidates_of, grouped, matches_of, pinned, separated
from services.articles.merge import merge
from services.articles.new_ids import Ambiguous, NewIds
from services.articles.quarantine import Quarantine, QuarantinedBatches
from services.articles.writing import known_articles
from services.mentions.understanding import detect
from services.ports import Clock, Store
from services.store.containers import FEEDS, LOCATORS
from services.tools.detector import Detector, Watchlist

MAX_PREVIEWED = 1_000
"""Entries of a batch. A preview of more would take longer than a response may."""
MAX_TOOLS = 50
MAX_SAMPLES = 20
NO_EFFECT = EffectOfDecision(
    new_articles=0, changed_articles=0, ids_added=0, left_out=0, mentions_added=0, tools_changed=0, tools=()
)
_PREVIEW = "preview"


@dataclass(frozen=True, slots=True)
class QuarantinePreviews:
    """Counts what each decision about a batch would do."""

    store: Store
    quarantine: Quarantine
    watchlist: Watchlist
    clock: Clock

    async def of(self, quarantine_id: str) -> QuarantinePreview:
        """The effect of each decision, by its name. Dropping has none, and neither has any decision once the feed is
        gone. Raises InvalidInput for a full text, and Conflict for an item that was reviewed."""
        item = await self.quarantine.get(quarantine_id)
        if item.kind != "BATCH":
            raise InvalidInput("quarantine_id", "a batch of a feed: what a full text changes is known once it is read")
        if item.decision is not None:
            raise Conflict(f"quarantine item {quarantine_id} was reviewed already: {item.decision}")
        items = await QuarantinedBatches(self.store).items(item)
        looked_at = items[:MAX_PREVIEWED]
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
                found = await NewIds(self.store).sorted_out(looked_at, attempt)
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
            ambiguous=tuple(map(_sample, ambiguous[:MAX_SAMPLES])),
        )

    async def _effect(
        self, candidates: Sequence[Candidate], attempt: SourceAttempt, present: Collection[str]
    ) -> EffectOfDecision:
        """The effect of ingesting these entries, matched as ingestion does. `present` are the URLs of the batch."""
        locators = list(dict.fromkeys(each.locator_id for each in candidates))
        aliases = await self.store.read_many(LOCATORS.name, [(each, each) for each in locators])
        known = {name: each for name, each in zip(locators, aliases, strict=True) if each is not None}
        groups = grouped(matches_of(candidates, known, attempt.source, attempt.at))
        stored = await known_articles(self.store, attempt.source.key, groups)
        after = separated(groups, stored, present)
        while after is not groups:
            groups = after
            stored |= await known_articles(self.store, attempt.source.key, groups.keys() - stored.keys())
            after = pinned(groups, stored)
        articles_of = {key: stored[key].article for key in groups}
        changed = sum(each is not None and not each.get("deleted_at") for each in articles_of.values())
        made = [merge(None, None, group, attempt).article for key, group in groups.items() if articles_of[key] is None]
        articles = [each for each in made if each is not None]
        detector = await self.watchlist.detector()
        found = await asyncio.to_thread(_detected, articles, detector)
        most = sorted(found.items(), key=lambda each: (-each[1], each[0]))[:MAX_TOOLS]
        names = {tool_id: detector.tools[tool_id].primary_name for tool_id, _ in most}
        tools = [EffectOnTool(tool_id=each, tool=names[each], mentions_added=count) for each, count in most]
        return EffectOfDecision(
            new_articles=len(articles),
            changed_articles=changed,
            ids_added=0,
            left_out=0,
            mentions_added=found.total(),
            tools_changed=len(found),
            tools=tuple(tools),
        )


def _candidates(items: Sequence[RawItem], source: Source, attempt: SourceAttempt) -> list[Candidate]:
    entries = []
    for item in items:
        try:
            entries.append(entry_of(source, item))
        except ValueError:  # not valid Unicode: it is not ingested
            continue
    return candidates_of(entries, source, attempt.at, KnownEntries())


def _detected(articles: Iterable[ArticleDocument], detector: Detector) -> Counter[str]:
    """How many of the articles name each tool."""
    return Counter(tool_id for each in articles for tool_id in detect(Article.from_document(each), detector))


def _sample(ambiguous: Ambiguous) -> AmbiguousEntry:
    item = ambiguous.candidate.entry.item
    return AmbiguousEntry(url=item.url, headline=item.headline, article_ids=ambiguous.source_ids)
