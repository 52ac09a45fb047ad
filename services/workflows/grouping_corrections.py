"""Corrections of stories by people: split a story, join or keep apart two, and undoing it.

Each is a run of one page. The caller waits for it; if the worker dies, the run's message finishes it. The document of
the correction is all, and the grouping obeys it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.errors import Conflict, InvalidInput, NotFound
from models.grouping_correction import GroupingCorrection, Kind, grouping_correction_id
from models.run import JobRun
from models.values import format_time
from services.articles.reading import Articles
from services.figures.entries import Generations
from services.mentions.correction_form import Signed
from services.stories.pins import GroupingCorrections
from services.stories.stage import GroupingAnnouncer
from services.work.driver import CORRECT_GROUPING, PageResult, RunImpossible, Workflows


@dataclass(frozen=True, slots=True)
class CorrectingGrouping:
    """The workflow: `parameters.correction` is what is said, or `parameters.undo` names the correction that is undone,
    who undoes it and why."""

    corrections: GroupingCorrections

    async def page(self, run: JobRun) -> PageResult:
        try:
            after = await self._recorded(run)
        except NotFound as error:
            raise RunImpossible(str(error)) from error
        return PageResult(None, await self.corrections.name_in_articles(after))

    async def _recorded(self, run: JobRun) -> GroupingCorrection:
        undo: Any = run.parameters.get("undo")
        if isinstance(undo, Mapping):
            reason = undo.get("reason")
            text = None if reason is None else str(reason)
            return await self.corrections.undo(str(undo["correction_id"]), str(undo["author"]), text)
        given: Any = run.parameters.get("correction")
        made_at = run.started_at
        made = GroupingCorrection(
            **given,
            created_at=made_at,
            updated_at=made_at,
            day=format_time(made_at)[:10],
            correction_id=grouping_correction_id(run.run_id, made_at),
            made_at=made_at,
            made_by_run=run.run_id,
        )
        return await self.corrections.make(made)


@dataclass(frozen=True, slots=True)
class GroupingChanges:
    """What people ask for. Each method returns the correction as it is stored, after the run has ended."""

    articles: Articles
    corrections: GroupingCorrections
    workflows: Workflows
    generations: Generations
    grouping: GroupingAnnouncer

    async def split_story(self, event_id: str, article_ids: Sequence[str], signed: Signed) -> GroupingCorrection:
        """These articles leave the story together."""
        members = await self.corrections.members(event_id, "story")
        leaving = [(await self.articles.get(each)).source_id for each in article_ids]
        for each in leaving:
            if each not in members:
                raise InvalidInput("articles", f"must be articles of the story; {each} is not")
        rest = [each for each in members if each not in leaving]
        if not rest:
            raise Conflict("articles: these are all articles of the story")
        return await self._made("SPLIT_STORY", leaving, rest, [event_id], signed)

    async def relate_stories(self, kind: Kind, event_id: str, other_id: str, signed: Signed) -> GroupingCorrection:
        """Joins two stories, or keeps them apart."""
        one = await self.corrections.members(event_id, "event_id")
        if event_id == other_id:
            raise InvalidInput("story", "must be another story")
        other = await self.corrections.members(other_id, "story")
        return await self._made(kind, one, other, [event_id, other_id], signed)

    async def undo(self, correction_id: str, signed: Signed) -> GroupingCorrection:
        """Undoing again changes nothing. Raises NotFound."""
        correction = await self.corrections.get(correction_id)
        if not correction.is_active:
            return correction
        undo = {"correction_id": correction_id, "author": signed.author, "reason": signed.reason}
        run = await self.workflows.accept(CORRECT_GROUPING, correction.articles[0], undo=undo)
        return await self._carried_out(run, correction_id)

    async def _made(
        self, kind: Kind, articles: Sequence[str], others: Sequence[str], event_ids: Sequence[str], signed: Signed
    ) -> GroupingCorrection:
        said = {"kind": kind, "articles": list(articles), "others": list(others), "event_ids": list(event_ids)}
        correction = {**said, "author": signed.author, "reason": signed.reason}
        run = await self.workflows.accept(CORRECT_GROUPING, articles[0], correction=correction)
        return await self._carried_out(run, grouping_correction_id(run.run_id, run.started_at))

    async def _carried_out(self, run: JobRun, correction_id: str) -> GroupingCorrection:
        await self.workflows.carry_out(run)
        await self.generations.known_everywhere()
        await self.grouping.announce_corrected()
        return await self.corrections.get(correction_id)
