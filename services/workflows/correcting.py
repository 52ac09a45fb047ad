"""Corrections by people: verdicts on mentions, muted sources, excluded phrases, and undoing them.

A verdict on a mention is a run of one page: it writes the correction with its tool in one batch, then analyses the
article for this tool. The caller waits for it. If the worker dies, the run's message finishes it. A muted source or an
excluded phrase changes what the tool is detected by, as a changed name does: a backfill follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from models.article import Article
from models.correction import (
    Correction,
    after_undoing,
    after_verdict,
    phrase_correction,
    source_correction,
    time_of_verdict,
)
from models.errors import ChangedMeanwhile, Conflict, NotFound
from models.mention import SentimentScore
from models.request import SignedBody
from models.resources.corrections import NewCorrectionBody
from models.run import BACKFILL, CORRECT, JobRun
from models.tool import Tool
from services.mentions.corrections import judged_passages, kept_passages, passages_hash
from services.mentions.understanding import understand
from services.store.containers import ARTICLES, MENTIONS
from services.work.driver import PageResult, RunImpossible, Workflows
from services.workflows import Services


async def correct(of: Services, run: JobRun) -> PageResult:
    """Makes or undoes a verdict on a mention: `subject` is the tool, `parameters.correction` the new correction, or
    `parameters.undo` who undoes it and why."""
    tool_id, source_id = run.subject or "", str(run.parameters.get("article"))
    try:
        tool, _ = await of.corrections.change(tool_id, source_id, partial(_corrected, of, run))
    except (Conflict, NotFound) as error:
        raise RunImpossible(str(error)) from error
    only = frozenset({tool_id, tool.tool_id})
    written = await of.writer.write([source_id], only=only, invalidate=of.generations.raise_all)
    written.require_all()
    return PageResult(None, 1, {"rescored": written.written, "removed": written.removed}, {}, (tool.tool_id,))


def _corrected(of: Services, run: JobRun, tool: Tool, before: Correction | None) -> tuple[Tool, Correction]:
    now = of.clock()
    undo: Any = run.parameters.get("undo")
    if undo:
        if before is None:
            raise NotFound("correction: is gone")
        return tool, after_undoing(before, undo["run_id"], undo["author"], undo.get("reason"), now)
    given: Any = run.parameters.get("correction")
    new = Correction.from_document(given).changed(now, made_by_run=run.run_id, tool_id=tool.tool_id)
    after = after_verdict(before, new, now)
    if after is not before:
        _require_active(tool)
    return tool, after


@dataclass(frozen=True, slots=True)
class CorrectionChanges:
    """Makes and undoes corrections while the caller waits."""

    of: Services
    workflows: Workflows

    async def make(self, text: str, wanted: NewCorrectionBody) -> tuple[Tool, Correction, JobRun | None]:
        """The tool and the correction. After a verdict on a mention, no process serves a figure without it. For a
        source or a phrase, the caller sends the message of the run that is returned.

        Raises NotFound, Conflict, and ChangedMeanwhile if the article was edited since its mention was scored.
        """
        tool = _require_active(await self.of.catalog.get(text))
        if wanted.subject == "MENTION":
            return (*await self._judge(tool, wanted), None)
        if wanted.subject == "SOURCE":
            await self.of.feeds.get(wanted.named)
        correction_id = (source_correction if wanted.subject == "SOURCE" else phrase_correction)(wanted.named)
        return await self._change_detection(tool, correction_id, wanted)

    async def undo(self, text: str, correction_id: str, signed: SignedBody) -> tuple[Tool, Correction, JobRun | None]:
        """As `make`. Undoing again changes nothing."""
        tool = await self.of.catalog.get(text)
        correction = await self.of.corrections.get(tool.tool_id, correction_id)
        if not correction.is_active:
            return tool, correction, None
        _require_active(tool)
        if correction.subject != "MENTION":
            return await self._change_detection(tool, correction_id, signed)
        source_id = correction.source_id or ""
        undo = {"run_id": correction.made_by_run, "author": signed.author, "reason": signed.reason}
        run = await self.of.runs.accept(CORRECT, tool.tool_id, article=source_id, undo=undo)
        return (*await self._carried_out(run, tool.tool_id, source_id), None)

    async def _judge(self, tool: Tool, wanted: NewCorrectionBody) -> tuple[Tool, Correction]:
        source_id = (await self.of.articles.get(wanted.named)).source_id
        before = await self.of.corrections.find(tool.tool_id, source_id)
        new = await self._judged(tool, source_id, before, wanted, self.of.clock())
        run = await self.of.runs.accept(
            CORRECT,
            tool.tool_id,
            article=source_id,
            verdict=wanted.chosen_verdict,
            correction=new.to_document(),
        )
        return await self._carried_out(run, tool.tool_id, source_id)

    async def _carried_out(self, run: JobRun, tool_id: str, source_id: str) -> tuple[Tool, Correction]:
        await self.workflows.carry_out(run)
        await self.of.generations.known_everywhere()
        tool = await self.of.catalog.get(tool_id)
        return tool, await self.of.corrections.get(tool.tool_id, source_id)

    async def _judged(
        self, tool: Tool, source_id: str, before: Correction | None, wanted: NewCorrectionBody, now: datetime
    ) -> Correction:
        """The correction with what is judged: the article and its mention as they are now."""
        detector = await self.of.watchlist.detector()
        stored = await self.of.store.read(MENTIONS.name, tool.tool_id, source_id)
        scored = None if stored is None else SentimentScore.from_document(stored)
        document = await self.of.store.read(ARTICLES.name, source_id, Article.ID)
        if document is None:
            raise NotFound(f"article: there is none with the id {source_id!r}")
        analysis = understand(Article.from_document(document), detector, frozenset({tool.tool_id}))
        article = analysis.article
        if scored is None or not scored.counts:
            if before is None or tool.tool_id not in analysis.detected:
                raise NotFound(f"article: {source_id} has no mention of the tool {tool.primary_name!r}")
        elif scored.revision not in (None, article.canonical.revision):
            if article.analysis_due_since is None:
                raise Conflict("article: was edited, and the edit could not be analysed; its mention is older")
            raise ChangedMeanwhile("article: was edited, and is analysed just now: read its mention, and try again")
        said = scored.said_by_analyzer if scored is not None else before.said if before is not None else None
        passages = judged_passages(analysis.questions, tool.tool_id)
        return wanted.correction(
            *(tool.tool_id, now),
            source_id=source_id,
            label=_label(wanted.chosen_verdict, scored),
            made_at=time_of_verdict(before, now),
            made_by_run="-",
            headline=article.canonical.headline,
            language=analysis.questions.language,
            revision=article.canonical.revision,
            passages=kept_passages(passages),
            passages_hash=passages_hash(passages),
            said=said,
        )

    async def _change_detection(
        self, tool: Tool, correction_id: str, asked: SignedBody
    ) -> tuple[Tool, Correction, JobRun]:
        """Changes what the tool is detected by: with a new correction, or back with the undoing of one. The run that is
        returned searches the last 30 days for the tool."""

        def change(tool: Tool, before: Correction | None) -> tuple[Tool, Correction]:
            now, tool = self.of.clock(), _require_active(tool)
            if isinstance(asked, NewCorrectionBody):
                made = {"made_at": time_of_verdict(before, now), "made_by_run": run.run_id}
                new = asked.correction(tool.tool_id, now, feed_id=asked.source, phrase=asked.phrase, **made)
                return new.added_to(tool, now), after_verdict(before, new, now)
            if before is None:
                raise NotFound("correction: is gone")
            after = after_undoing(before, before.made_by_run, asked.author, asked.reason, now)
            return before.taken_from(tool, now), after

        async with self.of.runs.accepted_for(BACKFILL, tool.tool_id, tools=[tool.tool_id]) as run:
            changed, after = await self.of.corrections.change(tool.tool_id, correction_id, change)
            await self.of.catalog.announce()
        return changed, after, run


def _label(verdict: str, scored: SentimentScore | None) -> Any:
    """The sentiment that the verdict gives or confirms."""
    if verdict == "right":
        return scored.sentiment if scored is not None and scored.counts else None
    return None if verdict == "not_this_tool" else verdict


def _require_active(tool: Tool) -> Tool:
    if tool.status != "ACTIVE":
        raise Conflict(f"tool: {tool.primary_name!r} is not watched; make it ACTIVE first")
    return tool
