"""Repairs what an audit found to differ, as far as it is derived from other documents. Makes up nothing.

Counts are rebuilt from mentions, totals and figures of runs from observations, by the code that made them. For a
mention that does not fit its article, the article is analysed again. Lost articles and observations stay lost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from models.article import Article
from models.errors import ChangedMeanwhile
from models.feed import Feed
from models.mention import SentimentScore
from models.run import IngestionBatch
from models.values import parse_time
from services.articles.announcing import Announce
from services.articles.attempts import added_by
from services.figures.entries import Generations
from services.figures.recount import Recount
from services.mentions.announcing import RefreshAnnouncer
from services.mentions.dirty_hours import mark_dirty
from services.mentions.understanding import removed
from services.operations.audit_rules import Difference, Kind, is_in_flight
from services.ports import Clock, Store
from services.runs import rules
from services.runs.engine import RunEngine
from services.store.containers import ARTICLES, FEEDS, MENTIONS

_COUNTS = ("hour_differs", "windows_differ")


@dataclass(frozen=True, slots=True)
class Repairs:
    store: Store
    clock: Clock
    engine: RunEngine
    recount: Recount
    generations: Generations
    announcer: RefreshAnnouncer
    announce: Announce

    async def repair_all(self, differences: Sequence[Difference]) -> list[Difference]:
        """Returns those that were not repaired. The counts of a tool are rebuilt once for all of its hours."""
        done: dict[tuple[str, ...], bool] = {}
        left = []
        for each in differences:
            key = ("counts", each.subject) if each.kind in _COUNTS else (each.kind, each.subject, each.about)
            if key not in done:
                done[key] = await self.repair(each)
            if not done[key]:
                left.append(each)
        return left

    async def repair(self, difference: Difference) -> bool:
        """Whether the difference was repaired, or its repair was announced. A document that another worker changed
        meanwhile is left to the next audit."""
        repairs: dict[Kind, Callable[[Difference], Awaitable[bool]]] = {
            "analysis_not_due": self._analyse,
            "mention_missing": self._analyse,
            "mention_not_detected": self._analyse,
            "correction_not_applied": self._analyse,
            "mention_of_deleted_article": self._analyse,
            "mention_without_article": self._remove_mention,
            "hour_differs": self._rebuild,
            "windows_differ": self._rebuild,
            "entry_differs": self._invalidate,
            "feed_total_differs": self._correct_total,
            "run_figures_differ": self._correct_run,
        }
        repair = repairs.get(difference.kind)
        try:
            return repair is not None and await repair(difference)
        except (ChangedMeanwhile, ValueError):
            return False

    async def _analyse(self, difference: Difference) -> bool:
        """Makes the analysis of the article due, with the tool among those that it looks at, and announces it."""
        document = await self.store.read(ARTICLES.name, difference.subject, Article.ID)
        if document is None:
            return False
        article, now = Article.from_document(document), self.clock()
        tools = article.tool_ids_ever_detected
        if difference.about and difference.about not in tools:
            tools = tuple(sorted({*tools, difference.about}))
        due = None if article.deleted_at is not None else article.analysis_due_since or now
        after = article.changed(now, tool_ids_ever_detected=tools, analysis_due_since=due)
        await self.store.replace(ARTICLES.name, after.to_document(), document["_etag"])
        await self.announce([article.source_id])
        return True

    async def _remove_mention(self, difference: Difference) -> bool:
        """As the analysis of a deleted article removes its mentions."""
        document = await self.store.read(MENTIONS.name, difference.about, difference.subject)
        if document is None:
            return True
        mention, now = SentimentScore.from_document(document), self.clock()
        await self.store.replace(MENTIONS.name, removed(mention, now).to_document(), document["_etag"])
        await mark_dirty(self.store, mention.tool_id, [parse_time(document["published_at"])], now)
        await self.generations.raise_(mention.tool_id)
        await self.announcer.announce([mention.tool_id])
        return True

    async def _rebuild(self, difference: Difference) -> bool:
        await self.recount.rebuild_tool(difference.subject, self.clock())
        await self.generations.raise_(difference.subject)
        return True

    async def _invalidate(self, difference: Difference) -> bool:
        await self.generations.raise_(difference.subject)
        return True

    async def _correct_total(self, difference: Difference) -> bool:
        document = await self.store.read(FEEDS.name, difference.subject, Feed.ID)
        if document is None or is_in_flight(document) or document["_etag"] not in difference.versions:
            return False
        feed, counted = Feed.from_document(document), int(difference.about)
        mean = round(counted / max(1, feed.fetch_count), 4)
        after = feed.changed(self.clock(), total_articles_fetched=counted, avg_articles_per_fetch=mean)
        await self.store.replace(FEEDS.name, after.to_document(), document["_etag"])
        return True

    async def _correct_run(self, difference: Difference) -> bool:
        run = await self.engine.find(difference.subject)
        if not isinstance(run, IngestionBatch) or not run.is_finished:
            return False
        corrected = []
        for each in await self.engine.attempts(run.run_id):
            added = await added_by(self.store, run.run_id, each.subject, each.attempt_no)
            corrected.append(
                each.changed(
                    self.clock(),
                    articles_found=max(each.articles_found or 0, added.new),
                    articles_new=added.new,
                    articles_stored=added.created,
                    collisions_detected=added.joined,
                )
            )
        await self.engine.close_with(run, corrected, rules.recounted_ingestion, is_new=False)
        return True
