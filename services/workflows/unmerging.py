"""Undoing a merge: the tool that was merged gets its names, mentions and corrections back from the target.

The names go first: each claim returns to the tool, which still lists its names, so that no other tool can take one.
Then, in one batch, the target loses what the merge gave it and the record says that the merge was undone. Only then the
tool becomes ACTIVE. Corrections are divided between both tools. Of a mention whose article has expired, the names that
were found decide. All other articles are analysed again for both tools: those that the target's mentions name, and then
those of the last 30 days, since an exclusion or a muted source may have kept some out. Each step can be done again.
Closed and frozen days stay as they are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from models.article import Article
from models.errors import ChangedMeanwhile, Conflict, Unavailable
from models.mention import SentimentScore
from models.run import JobRun
from models.tool import Tool, normalize_name
from models.tool_merge import ToolMerge
from services.figures.entries import Generations
from services.figures.recount import Recount
from services.mentions.announcing import RefreshAnnouncer
from services.mentions.carried_corrections import CarriedCorrections
from services.mentions.dirty_hours import mark_dirty
from services.mentions.understanding import detect
from services.mentions.writing import MentionWriter
from services.ports import Clock, Operation, Query, Replace, Store, Upsert, listed_documents, readable
from services.runs.driver import Counted, PageResult, RunImpossible, page_after
from services.store.containers import ARTICLES, CATALOG, MENTIONS
from services.tools.catalog import Catalog
from services.tools.detector import Detector
from services.tools.merges import Merges
from services.tools.names import TRIES, Kind, name_taken
from services.workflows.backfill import Backfill
from services.workflows.merge_rules import is_of, shared_out, without_names_of
from services.workflows.merging import write_mentions

PAGE = 200
ROUNDS = 20


async def undoable(catalog: Catalog, merge: ToolMerge) -> None:
    """Raises Conflict, with what to do about it, if the merge cannot be undone now."""
    tool, target = await catalog.names.tool(merge.merged_tool_id), await catalog.names.tool(merge.tool_id)
    if tool is None or target is None or tool.status != "MERGED" or tool.merged_into != target.tool_id:
        raise Conflict(f"tool: {merge.merged_name!r} is not merged into {merge.tool_id} any more")
    if target.status == "MERGED":
        raise Conflict(
            f"tool: {target.primary_name!r} was itself merged into {target.merged_into} since; undo that merge first"
        )
    if target.status != "ACTIVE":
        raise Conflict(
            f"tool: {target.primary_name!r} is not watched; make it ACTIVE first, so that it keeps its mentions"
        )
    if target.merging_into is not None:
        raise Conflict(f"tool: {target.primary_name!r} is being merged into {target.merging_into}")
    if target.primary_name_normalized in {normalize_name(name) for name in (*merge.names, *tool.names)}:
        raise Conflict(
            f"name: {target.primary_name!r} goes back to the tool {tool.tool_id}; "
            f"give {target.tool_id} another name first"
        )
    for name in tool.names:
        claim = await catalog.names.find(name)
        holder = None if claim is None else await catalog.names.tool(claim.tool_id)
        if claim is None or holder is None or claim.tool_id in (tool.tool_id, target.tool_id):
            continue
        if normalize_name(name) in {normalize_name(each) for each in holder.names}:
            taken = name_taken(name, claim.tool_id)
            raise Conflict(f"{taken} ({holder.primary_name!r}); remove it there first, and undo the merge then")


@dataclass(frozen=True, slots=True)
class Unmerging:
    """A workflow: `subject` is the tool that was merged, `parameters.target` the tool that it was merged into, `merge`
    the run of that merge, `author` and `reason` who undoes it and why. `checkpoint.step` names the step of the page."""

    store: Store
    catalog: Catalog
    merges: Merges
    writer: MentionWriter
    announcer: RefreshAnnouncer
    carried: CarriedCorrections
    backfill: Backfill
    recount: Recount
    generations: Generations
    clock: Clock

    async def page(self, run: JobRun) -> PageResult:
        step = str((run.checkpoint or {}).get("step", "tools"))
        if step == "tools":
            await self._separate(run)
            return PageResult({"step": "corrections"})
        merge, tool, target = await self._separated(run)
        if step == "corrections":
            return await self._corrections_carried(merge)
        if step == "verdicts":
            return await self._verdicts_since(run, merge)
        if step == "mentions":
            return await self._mentions(run, tool, target)
        return await self._articles(run, merge)

    async def _separate(self, run: JobRun) -> None:
        """Gives the tool its names back, and makes it ACTIVE."""
        target_id, merged_by = str(run.parameters["target"]), str(run.parameters["merge"])
        for _ in range(TRIES):
            tool, target = await self._tools(run)
            merge = await self.merges.latest_of(tool)
            if merge is None or (merge.tool_id, merge.made_by_run) != (target_id, merged_by):
                raise RunImpossible(f"tool: {tool.primary_name!r} was merged again since")
            if tool.status != "MERGED":
                await self.catalog.announce()
                return
            try:
                if merge.is_active:
                    await undoable(self.catalog, merge)
                    await self._return_names(tool, target)
            except Conflict as error:
                raise RunImpossible(str(error)) from error
            with contextlib.suppress(ChangedMeanwhile):
                if merge.is_active:
                    await self._undo(run, tool, target, merge)
                alone = await self.carried.reviewed_alone(tool, self.clock())
                back = alone.changed(self.clock(), status="ACTIVE", merged_into=None, unmerged_from=target_id)
                await self.store.replace(CATALOG.name, back.to_document(), tool.stored_etag or "")
                await self.catalog.announce()
                return
        raise ChangedMeanwhile(f"tool: {run.subject} or {target_id} keeps changing")

    async def _return_names(self, tool: Tool, target: Tool) -> None:
        """The claims of the names. Until the tool is ACTIVE again, they lead by it to the target. Raises Conflict."""
        for name in tool.names:
            kind: Kind = "PRIMARY" if name == tool.primary_name else "ALIAS"
            await self.catalog.names.move(name, kind, target.tool_id, tool.tool_id)
            await self.catalog.names.claim(name, kind, tool.tool_id)

    async def _undo(self, run: JobRun, tool: Tool, target: Tool, merge: ToolMerge) -> None:
        """The target without what the merge gave it, and the record, in one batch. Raises ChangedMeanwhile."""
        now, reason = self.clock(), run.parameters.get("reason")
        after = without_names_of(target, tool, merge, now)
        undone = merge.changed(
            now,
            undone_at=now,
            undone_by=str(run.parameters["author"]),
            undone_reason=None if reason is None else str(reason),
            undone_by_run=run.run_id,
        )
        writes: list[Operation] = [
            Replace(after.to_document(), target.stored_etag or ""),
            Upsert(undone.to_document()),
        ]
        await self.store.batch(CATALOG.name, target.tool_id, writes)

    async def _tools(self, run: JobRun) -> tuple[Tool, Tool]:
        tool = await self.catalog.names.tool(run.subject or "")
        target = await self.catalog.names.tool(str(run.parameters["target"]))
        if tool is None or target is None:
            raise RunImpossible(f"tool: {run.subject} or {run.parameters['target']} is gone")
        return tool, target

    async def _separated(self, run: JobRun) -> tuple[ToolMerge, Tool, Tool]:
        tool, target = await self._tools(run)
        merge = await self.merges.latest_of(tool)
        if merge is None or tool.status == "MERGED" or merge.made_by_run != run.parameters["merge"]:
            raise RunImpossible(f"tool: {tool.primary_name!r} was merged again since")
        return merge, tool, target

    async def _corrections_carried(self, merge: ToolMerge) -> PageResult:
        """The corrections that the merge carried over, some on each page."""
        aside = await self.carried.some_aside(merge.merged_tool_id)
        if not aside:
            return PageResult({"step": "verdicts"})
        failed = await self._divide(merge, [each.correction_id for each in aside])
        return PageResult({"step": "corrections"}, 0, {"corrections": len(aside)}, failed)

    async def _verdicts_since(self, run: JobRun, merge: ToolMerge) -> PageResult:
        """The verdicts that were made on the target since the merge."""
        found = await self.carried.made_since(merge, page_after(run))
        failed = await self._divide(merge, [each.correction_id for each in found.items])
        counts: Counted = {"corrections": len(found.items)}
        if found.next is not None:
            return PageResult({"step": "verdicts", "after": found.next}, 0, counts, failed)
        return PageResult({"step": "mentions"}, 0, counts, failed)

    async def _divide(self, merge: ToolMerge, correction_ids: Sequence[str]) -> dict[str, str]:
        if not correction_ids:
            return {}

        async def named(source_ids: Collection[str]) -> Mapping[str, tuple[bool, bool]]:
            return await self._named(merge, source_ids)

        articles = await self.carried.put_back(merge, correction_ids, named)
        only = frozenset({merge.merged_tool_id, merge.tool_id})
        return (await self.writer.write(articles, only=only, invalidate=self.generations.raise_all)).failed

    async def _named(self, merge: ToolMerge, source_ids: Collection[str]) -> Mapping[str, tuple[bool, bool]]:
        """Which of the two tools each article names; for one that has expired, by the names in the target's mention."""
        ids = sorted(source_ids)
        tools = (await self.catalog.known([merge.merged_tool_id, merge.tool_id])).items
        by_id = {tool.tool_id: tool for tool in tools}
        both = (merge.merged_tool_id, merge.tool_id)
        detector = Detector(tools)
        documents = await self.store.read_many(ARTICLES.name, [(each, Article.ID) for each in ids])
        found = await self.store.read_many(MENTIONS.name, [(merge.tool_id, each) for each in ids])
        mentions = {each.source_id: each for each in listed_documents(found, SentimentScore.from_document, "id").items}
        named: dict[str, tuple[bool, bool]] = {}
        for source_id, document in zip(ids, documents, strict=True):
            article = readable(document, Article.from_document)
            if article is not None:
                detected = detect(article, detector)
                named[source_id] = (both[0] in detected, both[1] in detected)
            elif source_id in mentions:
                matches = mentions[source_id].matches
                theirs = any(is_of(each, by_id[both[0]]) for each in matches)
                own = any(is_of(each, by_id[both[1]]) for each in matches)
                named[source_id] = (theirs, own or not theirs)
        return named

    async def _mentions(self, run: JobRun, tool: Tool, target: Tool) -> PageResult:
        page = await self.store.query(MENTIONS.name, Query(partition=target.tool_id, limit=PAGE, after=page_after(run)))
        ids = [each["source_id"] for each in page.items]
        found = await self.store.read_many(ARTICLES.name, [(each, Article.ID) for each in ids])
        stored = [each for each, article in zip(ids, found, strict=True) if article is not None]
        expired = [each for each, article in zip(ids, found, strict=True) if article is None]
        only = frozenset({tool.tool_id, target.tool_id})
        failed = (await self.writer.write(stored, only=only, invalidate=self.generations.raise_all)).failed
        for _ in range(ROUNDS):
            if not expired:
                break
            expired = await self._share_out(expired, tool, target)
        else:
            raise Unavailable(f"{len(expired)} mentions keep changing", retry_after=1.0)
        following = {"step": "articles"} if page.next is None else {"step": "mentions", "after": page.next}
        return PageResult(following, len(ids), {}, failed)

    async def _share_out(self, ids: Sequence[str], tool: Tool, target: Tool) -> list[str]:
        """Gives the tool its mentions by expired articles. Returns the articles whose mentions were written since they
        were read. The tool's mention is written before that of the target is removed."""
        of_target, of_tool = await self._read(target.tool_id, ids), await self._read(tool.tool_id, ids)
        now = self.clock()
        shared = {
            key: shared_out(each, of_tool.get(key), tool, target, now) for key, each in of_target.items() if each.counts
        }
        raced = await write_mentions(self.store, [theirs for theirs, _ in shared.values() if theirs is not None])
        stays = {key: each for key, (_, each) in shared.items() if each is not of_target[key] and key not in raced}
        raced |= await write_mentions(self.store, list(stays.values()))
        # Also of mentions that are right already: an earlier try may have died before this step.
        times = [each.published_at for each in (*of_target.values(), *of_tool.values())]
        for tool_id in (tool.tool_id, target.tool_id):
            await mark_dirty(self.store, tool_id, times, now)
        await self.generations.raise_all([tool.tool_id, target.tool_id])
        await self.announcer.announce([tool.tool_id, target.tool_id])
        return sorted(raced)

    async def _read(self, tool_id: str, ids: Sequence[str]) -> dict[str, SentimentScore]:
        found = await self.store.read_many(MENTIONS.name, [(tool_id, each) for each in ids])
        return {each.source_id: each for each in listed_documents(found, SentimentScore.from_document, "id").items}

    async def _articles(self, run: JobRun, merge: ToolMerge) -> PageResult:
        """The articles of the last 30 days; after the last of them, the end."""
        both = frozenset({merge.merged_tool_id, merge.tool_id})
        result = await self.backfill.search(both, run)
        if result.checkpoint is not None:
            return result
        if merge.was_deprecated:
            # It had to be detected until its mentions were back.
            await self.catalog.watch_no_more(merge.merged_tool_id)
        for tool_id in sorted(both):
            await self.recount.recount_tool(tool_id, self.clock())
            await self.generations.raise_(tool_id)
        return result
