"""Merging: replaces one tool (the source) by another (the target), which gets its names, mentions and corrections.

First the source records its target, so that no other merge starts if this one is interrupted. Then the target gets the
source's names, in one batch with the record of the merge, and only then the source becomes MERGED. Both tools are
written by ETag: of two merges that would replace two tools by each other, one fails. A MERGED tool gets no more
corrections: those that it has move to the target. Then the mentions move, page by page. An article that mentions the
source is analysed again, so that it mentions the target; the mention of an expired article is in no window any more,
and expires too. If the target is merged meanwhile, the tool that it was merged into becomes the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from models.correction import Correction
from models.errors import Conflict, NotFound
from models.run import JobRun
from models.tool import Tool, ToolMerge
from services.ports import Operation, Query, Replace, Upsert
from services.store.change import change, until_unchanged
from services.store.containers import CATALOG, MENTIONS
from services.tools.catalog import Catalog, owns
from services.work.driver import Counted, PageResult, RunImpossible, page_after
from services.workflows import Services

PAGE = 200


async def mergeable(catalog: Catalog, source: str, into: str) -> tuple[Tool, Tool]:
    """The source and the target. Raises NotFound, and Conflict if they cannot be merged now."""
    tool = await catalog.own(source)
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


async def merge(of: Services, run: JobRun) -> PageResult:
    """`subject` is the source, `parameters.into` the target, `author` and `reason` who asked for it and why. The first
    page merges the tools, the next ones move corrections, and the other pages are the source's mentions by id."""
    source_id = run.subject or ""
    if not run.checkpoint:
        await until_unchanged(partial(_merge_tools, of, run), f"tool {source_id}")
        return PageResult({"corrections": True})
    target = await of.catalog.find(source_id)
    if target is None or target.status != "ACTIVE":
        # No article would mention the target. Once it is watched again, the last 30 days are searched for it.
        raise RunImpossible(f"tool: the target of the merge of {source_id} is not watched any more")
    tools = frozenset({source_id, target.tool_id})
    if run.checkpoint.get("corrections") and (corrections := await of.corrections.of_merged(source_id)):
        return await _move_corrections(of, corrections, tools, target)
    mentions = await of.store.query(MENTIONS.name, Query(partition=source_id, limit=PAGE, after=page_after(run)))
    articles = [each["source_id"] for each in mentions.items]
    failed = (await of.writer.write(articles, only=tools, invalidate=of.generations.raise_all)).failed
    counts: Counted = {"mentions": len(mentions.items)}
    if mentions.next is not None:
        return PageResult({"mentions": True, "after": mentions.next}, len(mentions.items), counts, failed)
    for tool_id in sorted(tools):
        await of.recount.recount_tool(tool_id, of.clock())
        await of.generations.raise_(tool_id)
    return PageResult(None, len(mentions.items), counts, failed, (source_id, target.tool_id))


async def _merge_tools(of: Services, run: JobRun) -> None:
    """Raises ChangedMeanwhile if either tool was written meanwhile."""
    source_id, into = run.subject or "", str(run.parameters.get("into"))
    source, target = await of.catalog.by_id(source_id), await of.catalog.find(into)
    if source is None or target is None or target.tool_id == source_id or not _may_get_names(target, source):
        await _release(of, source_id, into)
        raise RunImpossible(f"tool: {into} is not watched any more, or has itself been merged")
    if source.merged_into is None:
        if source.merging_into not in (None, into):
            raise RunImpossible(f"tool: {source_id} is being merged into {source.merging_into}")
        await _write_tools(of, run, source, target)
    elif (known := await of.catalog.find(source_id)) is None or known.tool_id != target.tool_id:
        raise RunImpossible(f"tool: {source_id} has been merged into {source.merged_into}")
    for name in source.names:
        await of.catalog.claim(name, target, instead_of=source_id)
    await of.catalog.announce()


async def _write_tools(of: Services, run: JobRun, source: Tool, target: Tool) -> None:
    now = of.clock()
    if source.merging_into is None:
        leaving = source.changed(now, merging_into=str(run.parameters.get("into")))
        stored = await of.store.replace(CATALOG.name, leaving.to_document(), source.stored_etag or "")
        source = Tool.from_document(stored)
    # The target is written even if it has the names already, so that a concurrent merge of the target fails.
    writes: list[Operation] = [
        Replace(target.with_names_of(source, now).to_document(), target.stored_etag or ""),
        Upsert(ToolMerge.of(source, target.tool_id, run.parameters, run.run_id, now).to_document()),
    ]
    await of.store.batch(CATALOG.name, target.tool_id, writes)
    merged = source.changed(now, status="MERGED", merged_into=target.tool_id, merging_into=None)
    await of.store.replace(CATALOG.name, merged.to_document(), source.stored_etag or "")


async def _release(of: Services, source_id: str, into: str) -> None:
    """Allows another merge of the source."""

    def released(document: Any) -> Any:
        source = None if document is None else Tool.from_document(document)
        if source is None or source.merging_into != into:
            return None
        return source.changed(of.clock(), merging_into=None).to_document()

    await change(of.store, CATALOG.name, source_id, Tool.ID, released)


async def _move_corrections(
    of: Services, corrections: Sequence[Correction], tools: frozenset[str], target: Tool
) -> PageResult:
    """Moves some corrections to the target, and applies them: an article whose mention of the source was removed by
    a verdict is among no mentions that the later pages move. Only then the source's are deleted."""
    await of.corrections.carry(corrections, target.tool_id)
    articles = [each.source_id for each in corrections if each.source_id is not None]
    failed = (await of.writer.write(articles, only=tools, invalidate=of.generations.raise_all)).failed
    await of.corrections.drop(corrections)
    return PageResult({"corrections": True}, 0, {"corrections": len(corrections)}, failed)


def _may_get_names(target: Tool, source: Tool) -> bool:
    """A target that an interrupted try gave the names keeps them, also if it is no longer watched."""
    return target.status == "ACTIVE" or all(owns(target, name) for name in source.names)
