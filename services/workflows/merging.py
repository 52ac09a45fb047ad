"""Making one tool answer as another: its names move, its mentions become the other's, its entries go.

The source says first where it goes, so that no other merge takes it elsewhere when this one is interrupted. The target
lists the names before the source is marked as merged, each by its ETag: of two merges that would make tools answer for
each other in a circle, one fails at that. Then the articles that mention the source are settled anew: they name the
target now. A mention whose article is no more is copied before it is buried. A target that is itself merged meanwhile
is followed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from models.article import Article
from models.errors import ChangedMeanwhile, Conflict, NotFound, Unavailable
from models.mention import SentimentScore
from models.run import JobRun
from models.tool import Tool, ToolReference, normalize_name
from services.figures.entries import Generations
from services.figures.recount import Recount
from services.mentions.dirty_hours import mark_hours
from services.mentions.mentions import removed
from services.mentions.settling import UNREADABLE, Settling
from services.ports import Clock, Document, Page, Query, Store
from services.runs.workflows import RunImpossible, Step
from services.store.containers import ARTICLES, CATALOG, MENTIONS
from services.store.listed import listed
from services.tools.catalog import Catalog
from services.tools.names import TRIES

PAGE = 200
ROUNDS = 20
WRITING_AT_ONCE = 16


async def to_be_merged(catalog: Catalog, source: str, into: str) -> tuple[Tool, Tool]:
    """Both tools, if they can be merged as things are. Raises NotFound, Conflict."""
    one = await catalog.get(source)
    try:
        other = await catalog.get(into)
    except NotFound as error:
        raise NotFound(f"into: {error}") from None
    if other.status != "ACTIVE":
        raise Conflict(f"into: {other.primary_name!r} is not watched; make it ACTIVE first")
    if one.tool_id == other.tool_id:
        raise Conflict(f"into: {into!r} is the same tool")
    if one.merging_into not in (None, other.tool_id):
        raise Conflict(f"tool: {one.primary_name!r} is just being merged into {one.merging_into}")
    return one, other


class Merging:
    """A workflow: `subject` is the tool that goes, `parameters.into` the one that answers in its place."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        settling: Settling,
        recount: Recount,
        generations: Generations,
        clock: Clock,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._settling = settling
        self._recount = recount
        self._generations = generations
        self._clock = clock

    async def step(self, run: JobRun) -> Step:
        source_id, into = run.subject or "", str(run.parameters.get("into"))
        checkpoint = run.checkpoint or {}
        if not checkpoint:
            await self._join(source_id, into)
            return Step({"mentions": True})
        target = await self._catalog.find(into)
        if target is None or target.status != "ACTIVE":
            raise RunImpossible(f"tool: {into} is not watched any more; make it ACTIVE, and send the run again")
        after = checkpoint.get("after")
        query = Query(partition=source_id, limit=PAGE, after=after if isinstance(after, str) else None)
        page = await self._store.query(MENTIONS.name, query)
        failed = await self._move([each["source_id"] for each in page.items], source_id, target)
        counts = {"mentions": len(page.items)}
        if page.next is not None:
            return Step({"mentions": True, "after": page.next}, len(page.items), counts, failed)
        for tool_id in (source_id, target.tool_id):
            await self._recount.recount_tool(tool_id, self._clock())
            await self._generations.raise_(tool_id)
        return Step(None, len(page.items), counts, failed, (source_id, target.tool_id))

    async def _join(self, source_id: str, into: str) -> None:
        for _ in range(TRIES):
            source = await self._catalog.names.tool(source_id)
            target = await self._catalog.find(into)
            if source is None or target is None or target.status != "ACTIVE" or target.tool_id == source_id:
                await self._let_go(source_id, into)
                raise RunImpossible(f"tool: {into} is not watched any more, or has itself been merged")
            if source.merged_into is not None:
                answering = await self._catalog.find(source_id)
                if answering is None or answering.tool_id != target.tool_id:
                    raise RunImpossible(f"tool: {source_id} has been merged into {source.merged_into}")
            elif source.merging_into not in (None, into):
                raise RunImpossible(f"tool: {source_id} is being merged into {source.merging_into}")
            elif not await self._joined(source, target, into):
                continue
            for name in source.names:
                await self._catalog.names.move(name, "ALIAS", source_id, target.tool_id)
            await self._move_discovery(source, target.tool_id)
            await self._catalog.announce()
            return
        raise ChangedMeanwhile(f"tool: {source_id} or {into} keeps changing")

    async def _let_go(self, source_id: str, into: str) -> None:
        """The source may be merged elsewhere."""
        for _ in range(TRIES):
            source = await self._catalog.names.tool(source_id)
            if source is None or source.merging_into != into:
                return
            with contextlib.suppress(ChangedMeanwhile):
                free = source.changed(self._clock(), merging_into=None)
                await self._store.replace(CATALOG.name, free.to_document(), source.stored_etag or "")
                return
        raise ChangedMeanwhile(f"tool: {source_id} keeps changing")

    async def _joined(self, source: Tool, target: Tool, into: str) -> bool:
        now = self._clock()
        try:
            if source.merging_into is None:
                leaving = source.changed(now, merging_into=into)
                source = Tool.from_document(
                    await self._store.replace(CATALOG.name, leaving.to_document(), source.stored_etag or "")
                )
            merged = source.changed(now, status="MERGED", merged_into=target.tool_id, merging_into=None)
            # Always written, so that a merge of the target that is under way fails.
            await self._store.replace(CATALOG.name, joined(target, source, now).to_document(), target.stored_etag or "")
            await self._store.replace(CATALOG.name, merged.to_document(), source.stored_etag or "")
        except ChangedMeanwhile:
            return False
        return True

    async def _move_discovery(self, source: Tool, target_id: str) -> None:
        target = await self._catalog.names.tool(target_id)
        first = source.discovery_reference
        if target is None or first is None or target.discovery_reference != first:
            return
        document = await self._store.read(CATALOG.name, source.tool_id, f"NOVAREF:{first}")
        if document is not None:
            reference = ToolReference.from_document(document).changed(self._clock(), tool_id=target_id)
            await self._store.upsert(CATALOG.name, reference.to_document())

    async def _move(self, source_ids: Sequence[str], source_id: str, target: Tool) -> dict[str, str]:
        """The mentions of one page, until each is the target's and buried as the source's; why some are not."""
        found = await self._store.read_many(ARTICLES.name, [(each, Article.ID) for each in source_ids])
        alive = [each for each, article in zip(source_ids, found, strict=True) if article is not None]
        failed = (await self._settling.settle(alive, only=frozenset({source_id, target.tool_id}))).failed
        waiting = [each for each, article in zip(source_ids, found, strict=True) if article is None]
        for _ in range(ROUNDS):
            if not waiting:
                return failed
            waiting = await self._copied(waiting, source_id, target, failed)
        raise Unavailable(f"{len(waiting)} mentions keep changing", retry_after=1.0)

    async def _copied(self, ids: Sequence[str], source_id: str, target: Tool, failed: dict[str, str]) -> list[str]:
        """One round; the ids of those that somebody else wrote meanwhile."""
        theirs = await self._mentions(source_id, ids, failed)
        ours = await self._mentions(target.tool_id, ids, failed)
        theirs = {key: one for key, one in theirs.items() if key not in failed}
        now = self._clock()
        wanted = {
            one.source_id: taken_over(one, ours.get(one.source_id), target, now)
            for one in theirs.values()
            if one.counts
        }
        raced = await self._write([each for each in wanted.values() if each is not ours.get(each.source_id)])
        moments = [each.published_at for each in (*wanted.values(), *ours.values())]
        await mark_hours(self._store, target.tool_id, moments, now)
        buried = [removed(one, now) for key, one in theirs.items() if key not in raced]
        raced |= await self._write([each for each in buried if each is not theirs[each.source_id]])
        await mark_hours(self._store, source_id, [one.published_at for one in theirs.values()], now)
        return sorted(raced)

    async def _mentions(self, tool_id: str, ids: Sequence[str], failed: dict[str, str]) -> dict[str, SentimentScore]:
        found = await self._store.read_many(MENTIONS.name, [(tool_id, each) for each in ids]) if ids else []
        page = listed(Page([each for each in found if each is not None]), SentimentScore.from_document, "id")
        failed |= dict.fromkeys(page.unreadable, UNREADABLE)
        return {each.source_id: each for each in page.items}

    async def _write(self, mentions: Sequence[SentimentScore]) -> set[str]:
        new = [each for each in mentions if each.stored_etag is None]
        raced: set[str] = set()
        if new:
            created = await self._store.create_many(MENTIONS.name, [each.to_document() for each in new])
            raced |= {each.source_id for each, won in zip(new, created, strict=True) if not won}
        known = [(each.to_document(), each.stored_etag) for each in mentions if each.stored_etag is not None]
        return raced | await self._replaced(MENTIONS.name, known)

    async def _replaced(self, container: str, documents: Sequence[tuple[Document, str]]) -> set[str]:
        gate = asyncio.Semaphore(WRITING_AT_ONCE)

        async def lost(document: Document, etag: str) -> bool:
            async with gate:
                try:
                    await self._store.replace(container, document, etag)
                except ChangedMeanwhile:
                    return True
                return False

        results = await asyncio.gather(*(lost(*each) for each in documents))
        return {document["source_id"] for (document, _), raced in zip(documents, results, strict=True) if raced}


def joined(target: Tool, source: Tool, now: datetime) -> Tool:
    """The target, known by what the source was known by as well."""
    known = {normalize_name(name) for name in target.names}
    aliases = [name for name in source.names if normalize_name(name) not in known]
    rules = {name: rule for name, rule in source.name_rules.items() if name in aliases}
    says: dict[str, Any] = {
        "aliases": (*target.aliases, *aliases),
        "name_rules": {**target.name_rules, **rules},
        **{
            field: tuple(dict.fromkeys((*getattr(target, field), *getattr(source, field))))
            for field in ("tickers", "keywords", "excluded")
        },
    }
    theirs, ours = source.discovery_date, target.discovery_date
    if theirs is not None and (ours is None or theirs < ours):
        says |= {"discovery_date": theirs, "discovery_reference": source.discovery_reference}
    return target.changed(now, **says)


def taken_over(theirs: SentimentScore, ours: SentimentScore | None, target: Tool, now: datetime) -> SentimentScore:
    """The target's mention by an article of which the source has one. Its own stays, if it counts."""
    if ours is not None and ours.counts:
        matches = tuple(dict.fromkeys((*ours.matches, *theirs.matches)))
        return ours if matches == ours.matches else ours.changed(now, matches=matches)
    role = theirs.role
    if target.discovery_reference == theirs.source_id:
        role = "DISCOVERY"
    elif role == "DISCOVERY":
        role = "TIMELINE_SOURCE"
    copied = {**theirs.__dict__, "tool_id": target.tool_id, "role": role, "updated_at": now}
    return SentimentScore(**copied) if ours is None else ours.changed(now, **copied)
