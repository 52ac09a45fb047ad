"""Merging: replaces one tool (the source) by another (the target), which gets its names and mentions.

First the source records its target, so that no other merge starts if this one is interrupted. Then the target gets the
source's names, in one batch with the record of the merge, and only then the source becomes MERGED. Both tools are
written by ETag: of two merges that would replace two tools by each other, one fails. A MERGED tool gets no more
corrections: those that it has are set aside, and carried over to the target. Then the mentions move, page by page. An
article that mentions the source is analysed again, so that it mentions the target; the mention of an expired article is
copied and then removed. If the target is merged meanwhile, the tool that it was merged into becomes the target. A
target that somebody no longer wants to be watched is watched until the mentions have moved. Undoing: unmerging.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from models.article import Article
from models.errors import ChangedMeanwhile, Conflict, NotFound, Unavailable
from models.mention import SentimentScore
from models.run import JobRun
from models.tool import Tool
from models.tool_merge import ToolMerge
from services.figures.entries import Generations
from services.figures.recount import Recount
from services.mentions.announcing import RefreshAnnouncer
from services.mentions.carried_corrections import CarriedCorrections
from services.mentions.correction_documents import Corrections
from services.mentions.dirty_hours import mark_dirty
from services.mentions.understanding import removed
from services.mentions.writing import UNREADABLE_MENTION, MentionWriter, operation_of
from services.ports import Clock, Operation, Query, Replace, Store, Upsert, listed_documents
from services.runs.driver import Counted, PageResult, RunImpossible, page_after
from services.store.containers import ARTICLES, CATALOG, MENTIONS
from services.tools.catalog import Catalog
from services.tools.merges import Merges
from services.tools.names import TRIES
from services.workflows.merge_rules import moved, with_names_of, with_taken

PAGE = 200
ROUNDS = 20


async def mergeable(catalog: Catalog, merges: Merges, source: str, into: str) -> tuple[Tool, Tool]:
    """The source and the target. Raises NotFound, and Conflict if they cannot be merged now."""
    tool = await merges.require_own(source)
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
    """A workflow: `subject` is the source, `parameters.into` the target, `author` and `reason` who asked for it and
    why. The first page merges the tools, the next ones carry over corrections if there are any, and the other pages are
    the source's mentions by id."""

    store: Store
    catalog: Catalog
    merges: Merges
    writer: MentionWriter
    announcer: RefreshAnnouncer
    corrections: Corrections
    carried: CarriedCorrections
    recount: Recount
    generations: Generations
    clock: Clock

    async def page(self, run: JobRun) -> PageResult:
        source_id, into = run.subject or "", str(run.parameters.get("into"))
        if not run.checkpoint:
            await self._merge_tools(run, source_id, into)
            has_corrections = await self.corrections.of_merged(source_id)
            return PageResult({"corrections": True} if has_corrections else {"mentions": True})
        source, target = await self.catalog.names.tool(source_id), await self.catalog.find(source_id)
        if (
            source is None
            or target is None
            or source.status != "MERGED"
            or source.merged_by_run not in (None, run.run_id)
        ):
            raise RunImpossible(f"tool: the merge of {source_id} was undone meanwhile")
        if target.status != "ACTIVE":
            await self._watch(run, source, target)
        if run.checkpoint.get("corrections"):
            return await self._carry_corrections(source_id, target)
        mentions = await self.store.query(MENTIONS.name, Query(partition=source_id, limit=PAGE, after=page_after(run)))
        failed = await self._move_mentions([each["source_id"] for each in mentions.items], source_id, target)
        counts: Counted = {"mentions": len(mentions.items)}
        if mentions.next is not None:
            return PageResult({"mentions": True, "after": mentions.next}, len(mentions.items), counts, failed)
        record = await self.merges.read(target.tool_id, source_id, run.run_id)
        if record is not None and record.target_was_deprecated:
            await self.catalog.watch_no_more(target.tool_id)
        for tool_id in (source_id, target.tool_id):
            await self.recount.recount_tool(tool_id, self.clock())
            await self.generations.raise_(tool_id)
        return PageResult(None, len(mentions.items), counts, failed, (source_id, target.tool_id))

    async def _carry_corrections(self, source_id: str, target: Tool) -> PageResult:
        """Carries some corrections over to the target, and applies them: an article whose mention of the source was
        removed by a verdict is among no mentions that the later pages move. Only then the source's are deleted."""
        corrections = await self.corrections.of_merged(source_id)
        await self.carried.set_aside(corrections)
        target_id = await self.corrections.carry(corrections, target.tool_id)
        articles = [each.source_id for each in corrections if each.source_id is not None]
        only = frozenset({source_id, target_id})
        failed = (await self.writer.write(articles, only=only, invalidate=self.generations.raise_all)).failed
        await self.corrections.drop(corrections)
        following = {"corrections": True} if await self.corrections.of_merged(source_id) else {"mentions": True}
        return PageResult(following, 0, {"corrections": len(corrections)}, failed)

    async def _merge_tools(self, run: JobRun, source_id: str, into: str) -> None:
        for _ in range(TRIES):
            source = await self.catalog.names.tool(source_id)
            target = await self.catalog.find(into)
            record = None if target is None else await self.merges.read(target.tool_id, source_id, run.run_id)
            if record is not None and not record.is_active:
                raise RunImpossible(f"tool: the merge of {source_id} was undone meanwhile")
            # A target that has the names already keeps them, also if it is no longer watched.
            is_possible = target is not None and (target.status == "ACTIVE" or record is not None)
            if source is None or target is None or not is_possible or target.tool_id == source_id:
                await self._release(source_id, into)
                raise RunImpossible(f"tool: {into} is not watched any more, or has itself been merged")
            if source.merged_into is not None:
                replacement = await self.catalog.find(source_id)
                is_other = source.merged_by_run not in (None, run.run_id)
                if is_other or replacement is None or replacement.tool_id != target.tool_id:
                    raise RunImpossible(f"tool: {source_id} has been merged into {source.merged_into}")
            elif source.merging_into not in (None, into):
                raise RunImpossible(f"tool: {source_id} is being merged into {source.merging_into}")
            elif not await self._write_tools(run, source, target, record):
                continue
            for name in source.names:
                await self.catalog.names.move(name, "ALIAS", source_id, target.tool_id)
            await self.catalog.announce()
            return
        raise ChangedMeanwhile(f"tool: {source_id} or {into} keeps changing")

    async def _watch(self, run: JobRun, source: Tool, target: Tool) -> None:
        """Makes the target ACTIVE until the mentions have moved: else no article would mention it. Raises
        ChangedMeanwhile."""
        now = self.clock()
        record = await self.merges.read(target.tool_id, source.tool_id, run.run_id)
        record = (record or new_record(run, source, target, now)).changed(now, target_was_deprecated=True)
        writes: list[Operation] = [
            Replace(target.changed(now, status="ACTIVE").to_document(), target.stored_etag or ""),
            Upsert(record.to_document()),
        ]
        await self.store.batch(CATALOG.name, target.tool_id, writes)
        await self.catalog.announce()

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

    async def _write_tools(self, run: JobRun, source: Tool, target: Tool, record: ToolMerge | None) -> bool:
        """False if either tool was written since it was read."""
        now, into = self.clock(), str(run.parameters.get("into"))
        try:
            if source.merging_into is None:
                leaving = source.changed(now, merging_into=into)
                stored = await self.store.replace(CATALOG.name, leaving.to_document(), source.stored_etag or "")
                source = Tool.from_document(stored)
            merged = source.changed(
                now,
                status="MERGED",
                merged_into=target.tool_id,
                merging_into=None,
                unmerged_from=None,
                merged_by_run=run.run_id,
            )
            # The target is written even if it has the names already, so that a concurrent merge of the target fails.
            joined = with_names_of(target, source, now)
            taken = with_taken(record or new_record(run, source, target, now), target, joined, source, now)
            writes: list[Operation] = [
                Replace(joined.to_document(), target.stored_etag or ""),
                Upsert(taken.to_document()),
            ]
            await self.store.batch(CATALOG.name, target.tool_id, writes)
            await self.store.replace(CATALOG.name, merged.to_document(), source.stored_etag or "")
        except ChangedMeanwhile:
            return False
        return True

    async def _move_mentions(self, source_ids: Sequence[str], source_id: str, target: Tool) -> dict[str, str]:
        """Moves the mentions by these articles. Returns the articles whose mentions stayed, with the reasons."""
        found = await self.store.read_many(ARTICLES.name, [(each, Article.ID) for each in source_ids])
        stored = [each for each, article in zip(source_ids, found, strict=True) if article is not None]
        copied = [each for each, article in zip(source_ids, found, strict=True) if article is None]
        failed: dict[str, str] = {}
        for _ in range(ROUNDS):
            if not copied:
                break
            copied = await self._copy_mentions(copied, source_id, target, failed)
        else:
            raise Unavailable(f"{len(copied)} mentions keep changing", retry_after=1.0)
        tools = frozenset({source_id, target.tool_id})
        return failed | (await self.writer.write(stored, only=tools, invalidate=self.generations.raise_all)).failed

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
        return await write_mentions(self.store, mentions)


def new_record(run: JobRun, source: Tool, target: Tool, now: datetime) -> ToolMerge:
    author, reason = run.parameters.get("author"), run.parameters.get("reason")
    return ToolMerge(
        created_at=now,
        updated_at=now,
        tool_id=target.tool_id,
        merged_tool_id=source.tool_id,
        merged_name=source.primary_name,
        was_deprecated=True if source.status == "DEPRECATED" else None,
        author=None if author is None else str(author),
        reason=None if reason is None else str(reason),
        made_at=now,
        made_by_run=run.run_id,
    )


async def write_mentions(store: Store, mentions: Sequence[SentimentScore]) -> set[str]:
    """Returns the articles whose mentions were not written, since another writer has changed them."""
    outcomes = await store.batch_many(MENTIONS.name, [(each.tool_id, [operation_of(each)]) for each in mentions])
    return {each.source_id for each, done in zip(mentions, outcomes, strict=True) if not isinstance(done, list)}
