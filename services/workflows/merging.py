"""Merging: replaces one tool (the source) by another (the target), which gets its names and mentions.

First the source records its target, so that no other merge starts if this one is interrupted. Then the target gets the
source's names, and only then the source becomes MERGED. Both tools are written by ETag: of two merges that would
replace two tools by each other, one fails. A MERGED tool gets no more corrections: those that it has are carried over
to the target. Then the mentions move, page by page. An article that mentions the source is analysed again, so that it
mentions the target; the mention of an expired article is copied and then removed. If the target is merged meanwhile,
the tool that it was merged into becomes the target.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from models.article import Article
from models.errors import ChangedMeanwhile, Conflict, NotFound, Unavailable
from models.mention import SentimentScore
from models.run import JobRun
from models.tool import Tool, ToolReference, normalize_name
from services.figures.entries import Generations
from services.figures.recount import Recount
from services.mentions.announcing import RefreshAnnouncer
from services.mentions.correction_documents import Corrections
from services.mentions.dirty_hours import mark_dirty
from services.mentions.understanding import removed
from services.mentions.writing import UNREADABLE_MENTION, MentionWriter, operation_of
from services.ports import Clock, Query, Store, listed_documents
from services.runs.driver import PageResult, RunImpossible, page_after
from services.store.containers import ARTICLES, CATALOG, MENTIONS
from services.tools.catalog import Catalog
from services.tools.names import TRIES

PAGE = 200
ROUNDS = 20


async def mergeable(catalog: Catalog, source: str, into: str) -> tuple[Tool, Tool]:
    """The source and the target. Raises NotFound, and Conflict if they cannot be merged now."""
    tool = await catalog.get(source)
    try:
        target = await catalog.get(into)
    except NotFound as error:
        raise NotFound(f"into: {error}") from None
    if target.status != "ACTIVE":
        raise Conflict(f"into: {target.primary_name!r} is not watched; make it ACTIVE first")
    if tool.tool_id == target.tool_id:
        raise Conflict(f"into: {into!r} is the same tool")
    if tool.merging_into not in (None, target.tool_id):
        raise Conflict(f"tool: {tool.primary_name!r} is being merged into {tool.merging_into}")
    return tool, target


@dataclass(frozen=True, slots=True)
class Merging:
    """A workflow: `subject` is the source, `parameters.into` the target. The first page merges the tools, the next
    ones carry over corrections if there are any, and the other pages are the source's mentions by id."""

    store: Store
    catalog: Catalog
    writer: MentionWriter
    announcer: RefreshAnnouncer
    corrections: Corrections
    recount: Recount
    generations: Generations
    clock: Clock

    async def page(self, run: JobRun) -> PageResult:
        source_id, into = run.subject or "", str(run.parameters.get("into"))
        if not run.checkpoint:
            await self._merge_tools(source_id, into)
            has_corrections = await self.corrections.of_merged(source_id)
            return PageResult({"corrections": True} if has_corrections else {"mentions": True})
        if run.checkpoint.get("corrections"):
            return await self._carry_corrections(source_id, into)
        target = await self.catalog.find(into)
        if target is None or target.status != "ACTIVE":
            raise RunImpossible(f"tool: {into} is not watched any more; make it ACTIVE, and send the run again")
        mentions = await self.store.query(MENTIONS.name, Query(partition=source_id, limit=PAGE, after=page_after(run)))
        failed = await self._move_mentions([each["source_id"] for each in mentions.items], source_id, target)
        counts = {"mentions": len(mentions.items)}
        if mentions.next is not None:
            return PageResult({"mentions": True, "after": mentions.next}, len(mentions.items), counts, failed)
        for tool_id in (source_id, target.tool_id):
            await self.recount.recount_tool(tool_id, self.clock())
            await self.generations.raise_(tool_id)
        return PageResult(None, len(mentions.items), counts, failed, (source_id, target.tool_id))

    async def _carry_corrections(self, source_id: str, into: str) -> PageResult:
        """Carries some corrections over to the target, and applies them: an article whose mention of the source was
        removed by a verdict is among no mentions that the later pages move. Only then the source's are deleted."""
        corrections = await self.corrections.of_merged(source_id)
        target_id = await self.corrections.carry(corrections, into)
        articles = [each.source_id for each in corrections if each.source_id is not None]
        only = frozenset({source_id, target_id})
        failed = (await self.writer.write(articles, only=only, invalidate=self.generations.raise_all)).failed
        await self.corrections.drop(corrections)
        following = {"corrections": True} if await self.corrections.of_merged(source_id) else {"mentions": True}
        return PageResult(following, 0, {"corrections": len(corrections)}, failed)

    async def _merge_tools(self, source_id: str, into: str) -> None:
        for _ in range(TRIES):
            source = await self.catalog.names.tool(source_id)
            target = await self.catalog.find(into)
            if source is None or target is None or target.status != "ACTIVE" or target.tool_id == source_id:
                await self._release(source_id, into)
                raise RunImpossible(f"tool: {into} is not watched any more, or has itself been merged")
            if source.merged_into is not None:
                replacement = await self.catalog.find(source_id)
                if replacement is None or replacement.tool_id != target.tool_id:
                    raise RunImpossible(f"tool: {source_id} has been merged into {source.merged_into}")
            elif source.merging_into not in (None, into):
                raise RunImpossible(f"tool: {source_id} is being merged into {source.merging_into}")
            elif not await self._write_tools(source, target, into):
                continue
            for name in source.names:
                await self.catalog.names.move(name, "ALIAS", source_id, target.tool_id)
            await self._move_discovery(source, target.tool_id)
            await self.catalog.announce()
            return
        raise ChangedMeanwhile(f"tool: {source_id} or {into} keeps changing")

    async def _release(self, source_id: str, into: str) -> None:
        """Allows another merge of the source."""
        for _ in range(TRIES):
            source = await self.catalog.names.tool(source_id)
            if source is None or source.merging_into != into:
                return
            with contextlib.suppress(ChangedMeanwhile):
                free = source.changed(self.clock(), merging_into=None)
                await self.store.replace(CATALOG.name, free.to_document(), source.stored_etag or "")
                return
        raise ChangedMeanwhile(f"tool: {source_id} keeps changing")

    async def _write_tools(self, source: Tool, target: Tool, into: str) -> bool:
        """False if either tool was written since it was read."""
        now = self.clock()
        try:
            if source.merging_into is None:
                leaving = source.changed(now, merging_into=into)
                stored = await self.store.replace(CATALOG.name, leaving.to_document(), source.stored_etag or "")
                source = Tool.from_document(stored)
            merged = source.changed(now, status="MERGED", merged_into=target.tool_id, merging_into=None)
            # The target is written even if it has the names already, so that a concurrent merge of the target fails.
            joined = with_names_of(target, source, now)
            await self.store.replace(CATALOG.name, joined.to_document(), target.stored_etag or "")
            await self.store.replace(CATALOG.name, merged.to_document(), source.stored_etag or "")
        except ChangedMeanwhile:
            return False
        return True

    async def _move_discovery(self, source: Tool, target_id: str) -> None:
        """Copies the source's reference to its first article, if that is the target's first article now."""
        target = await self.catalog.names.tool(target_id)
        first = source.discovery_reference
        if target is None or first is None or target.discovery_reference != first:
            return
        document = await self.store.read(CATALOG.name, source.tool_id, f"NOVAREF:{first}")
        if document is not None:
            reference = ToolReference.from_document(document).changed(self.clock(), tool_id=target_id)
            await self.store.upsert(CATALOG.name, reference.to_document())

    async def _move_mentions(self, source_ids: Sequence[str], source_id: str, target: Tool) -> dict[str, str]:
        """Moves the mentions by these articles. Returns the articles whose mentions stayed, with the reasons."""
        found = await self.store.read_many(ARTICLES.name, [(each, Article.ID) for each in source_ids])
        stored = [each for each, article in zip(source_ids, found, strict=True) if article is not None]
        tools = frozenset({source_id, target.tool_id})
        failed = (await self.writer.write(stored, only=tools, invalidate=self.generations.raise_all)).failed
        expired = [each for each, article in zip(source_ids, found, strict=True) if article is None]
        for _ in range(ROUNDS):
            if not expired:
                return failed
            expired = await self._copy_mentions(expired, source_id, target, failed)
        raise Unavailable(f"{len(expired)} mentions keep changing", retry_after=1.0)

    async def _copy_mentions(
        self, ids: Sequence[str], source_id: str, target: Tool, failed: dict[str, str]
    ) -> list[str]:
        """Copies mentions to the target and removes them from the source. Returns the ids of mentions that were written
        since they were read, which the caller tries again."""
        of_source = await self._mentions(source_id, ids, failed)
        of_target = await self._mentions(target.tool_id, ids, failed)
        of_source = {key: mention for key, mention in of_source.items() if key not in failed}
        now = self.clock()
        copies = [moved(each, of_target.get(key), target, now) for key, each in of_source.items() if each.counts]
        raced = await self._write([each for each in copies if each is not of_target.get(each.source_id)])
        published = [each.published_at for each in (*copies, *of_target.values())]
        await mark_dirty(self.store, target.tool_id, published, now)
        tombstones = [removed(each, now) for key, each in of_source.items() if key not in raced]
        raced |= await self._write([each for each in tombstones if each is not of_source[each.source_id]])
        await mark_dirty(self.store, source_id, [each.published_at for each in of_source.values()], now)
        await self.generations.raise_all([source_id, target.tool_id])
        await self.announcer.announce([source_id, target.tool_id])
        return sorted(raced)

    async def _mentions(self, tool_id: str, ids: Sequence[str], failed: dict[str, str]) -> dict[str, SentimentScore]:
        """The tool's mentions by article. Those that cannot be read are added to `failed`."""
        found = await self.store.read_many(MENTIONS.name, [(tool_id, each) for each in ids])
        mentions = listed_documents(found, SentimentScore.from_document, "id")
        failed |= dict.fromkeys(mentions.unreadable, UNREADABLE_MENTION)
        return {each.source_id: each for each in mentions.items}

    async def _write(self, mentions: Sequence[SentimentScore]) -> set[str]:
        """Returns the articles whose mentions were not written, since another writer has changed them."""
        outcomes = await self.store.batch_many(
            MENTIONS.name, [(each.tool_id, [operation_of(each)]) for each in mentions]
        )
        return {each.source_id for each, done in zip(mentions, outcomes, strict=True) if not isinstance(done, list)}


def with_names_of(target: Tool, source: Tool, now: datetime) -> Tool:
    """The target with the source's names and their rules, tickers, keywords, exclusions, muted sources, and the earlier
    first article."""
    known = {normalize_name(name) for name in target.names}
    aliases = [name for name in source.names if normalize_name(name) not in known]
    rules = {name: rule for name, rule in source.name_rules.items() if name in aliases}
    changes: dict[str, Any] = {
        "aliases": (*target.aliases, *aliases),
        "name_rules": {**target.name_rules, **rules},
        **{
            field: tuple(dict.fromkeys((*getattr(target, field), *getattr(source, field))))
            for field in ("tickers", "keywords", "excluded", "muted_sources")
        },
    }
    first, known_first = source.discovery_date, target.discovery_date
    if first is not None and (known_first is None or first < known_first):
        changes |= {"discovery_date": first, "discovery_reference": source.discovery_reference}
    return target.changed(now, **changes)


def moved(mention: SentimentScore, known: SentimentScore | None, target: Tool, now: datetime) -> SentimentScore:
    """The source's mention as a mention of the target. If the target has a mention by the same article that counts
    (`known`), that mention stays, with the matches of both."""
    if known is not None and known.counts:
        matches = tuple(dict.fromkeys((*known.matches, *mention.matches)))
        return known if matches == known.matches else known.changed(now, matches=matches)
    role = mention.role
    if target.discovery_reference == mention.source_id:
        role = "DISCOVERY"
    elif role == "DISCOVERY":
        role = "TIMELINE_SOURCE"
    copied = {**mention.__dict__, "tool_id": target.tool_id, "role": role, "updated_at": now}
    return SentimentScore(**copied) if known is None else known.changed(now, **copied)
