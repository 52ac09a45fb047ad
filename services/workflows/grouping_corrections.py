"""Corrections of articles and stories by people: split an article; split, join and keep apart stories; and undoing it.

Each is a run of one page. The caller waits for it; if the worker dies, the run's message finishes it. The grouping
obeys the document of the correction. The articles of a split are brought to what it says here, with their mentions and
figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from models.article import Article
from models.correction import GroupingCorrection, GroupingCorrectionKind, grouping_correction_id
from models.errors import Conflict, InvalidInput, NotFound
from models.request import SignedBody
from models.run import CORRECT_GROUPING, SPLIT_ARTICLE, JobRun
from services.mentions.due import REFRESH_STAGE
from services.ports import listed_documents
from services.store.containers import ARTICLES
from services.work.driver import PageResult, RunImpossible, Workflows
from services.workflows import Services


async def correct_grouping(of: Services, run: JobRun) -> PageResult:
    """`parameters.correction` is what is said, or `parameters.undo` names the correction that is undone, who undoes it
    and why."""
    try:
        after = await _recorded(of, run)
        if after.kind == "SPLIT_ARTICLE":
            await _split(of, after)
    except NotFound as error:
        raise RunImpossible(str(error)) from error
    concerned = await of.grouping_corrections.name_in_articles(after)
    tools = await _analysed(of, after) if after.kind == "SPLIT_ARTICLE" else ()
    return PageResult(None, concerned, changed_tools=tools)


async def _recorded(of: Services, run: JobRun) -> GroupingCorrection:
    undo: Any = run.parameters.get("undo")
    if undo:
        return await of.grouping_corrections.undo(undo["correction_id"], undo["author"], undo.get("reason"))
    given: Any = run.parameters.get("correction")
    return await of.grouping_corrections.make(GroupingCorrection.made(given, run.run_id, run.started_at))


async def _split(of: Services, correction: GroupingCorrection) -> None:
    (article,), (to,) = correction.articles, correction.others
    if correction.is_active:
        await of.splits.split(article, to, correction.source or "")
    else:
        await of.splits.take_back(article, to)


async def _analysed(of: Services, correction: GroupingCorrection) -> tuple[str, ...]:
    """Analyses both articles, so that mentions and figures are right when the caller returns. Returns the tools."""
    source_ids = (*correction.articles, *correction.others)
    written = await of.writer.write(source_ids, invalidate=of.generations.raise_all)
    written.require_all()
    found = await of.store.read_many(ARTICLES.name, [(each, Article.ID) for each in source_ids])
    articles = listed_documents(found, Article.from_document, "source_id").items
    tools = sorted({each for one in articles for each in (*one.tool_ids_ever_detected, *one.detected_tool_ids)})
    await of.generations.raise_all(tools)
    await of.announcer.announce(REFRESH_STAGE, tools)
    return tuple(tools)


@dataclass(frozen=True, slots=True)
class GroupingChanges:
    """What people ask for. Each method returns the correction as it is stored, after the run has ended."""

    of: Services
    workflows: Workflows

    async def split_article(self, article_id: str, source: str, signed: SignedBody) -> GroupingCorrection:
        """The source becomes an article of its own, with all sources that have its link. Asking again changes nothing.
        Raises NotFound, and Conflict if its link does not tell it from the others."""
        article = await self.of.articles.get(article_id)
        asked = ("SPLIT_ARTICLE", (article.source_id,), source)
        for each in await self.of.grouping_corrections.of_article(article):
            if each.is_active and (each.kind, each.articles, each.source) == asked:
                return each
        to = await self.of.splits.target(article.source_id, source)
        was_first = article.sources[0] == source
        more = {"source": source, "was_first": was_first}
        return await self._made("SPLIT_ARTICLE", [article.source_id], [to], [], signed, **more)

    async def split_story(self, event_id: str, article_ids: Sequence[str], signed: SignedBody) -> GroupingCorrection:
        """These articles leave the story together."""
        members = await self.of.grouping_corrections.members(event_id, "story")
        leaving = [(await self.of.articles.get(each)).source_id for each in article_ids]
        for each in leaving:
            if each not in members:
                raise InvalidInput("articles", f"must be articles of the story; {each} is not")
        rest = [each for each in members if each not in leaving]
        if not rest:
            raise Conflict("articles: these are all articles of the story")
        return await self._made("SPLIT_STORY", leaving, rest, [event_id], signed)

    async def relate_stories(
        self, kind: GroupingCorrectionKind, event_id: str, other_id: str, signed: SignedBody
    ) -> GroupingCorrection:
        """Joins two stories, or keeps them apart."""
        one = await self.of.grouping_corrections.members(event_id, "event_id")
        if event_id == other_id:
            raise InvalidInput("story", "must be another story")
        other = await self.of.grouping_corrections.members(other_id, "story")
        return await self._made(kind, one, other, [event_id, other_id], signed)

    async def undo(self, correction_id: str, signed: SignedBody) -> GroupingCorrection:
        """Undoing again changes nothing. Raises NotFound, and Conflict if an article of a split was deleted."""
        correction = await self.of.grouping_corrections.get(correction_id)
        if not correction.is_active:
            return correction
        is_split = correction.kind == "SPLIT_ARTICLE"
        for each in (*correction.articles, *correction.others) if is_split else ():
            try:
                await self.of.articles.get(each)
            except NotFound:
                raise Conflict(
                    f"correction: the article {each} was deleted or has expired, so the source cannot return"
                ) from None
        undo = {"correction_id": correction_id, "author": signed.author, "reason": signed.reason}
        workflow = SPLIT_ARTICLE if is_split else CORRECT_GROUPING
        run = await self.of.runs.accept(workflow, correction.articles[0], undo=undo)
        return await self._carried_out(run, correction_id)

    async def _made(
        self,
        kind: GroupingCorrectionKind,
        articles: Sequence[str],
        others: Sequence[str],
        event_ids: Sequence[str],
        signed: SignedBody,
        **more: Any,
    ) -> GroupingCorrection:
        said = {"kind": kind, "articles": list(articles), "others": list(others), "event_ids": list(event_ids), **more}
        correction = {**said, "author": signed.author, "reason": signed.reason}
        workflow = SPLIT_ARTICLE if kind == "SPLIT_ARTICLE" else CORRECT_GROUPING
        run = await self.of.runs.accept(workflow, articles[0], correction=correction)
        return await self._carried_out(run, grouping_correction_id(run.run_id, run.started_at))

    async def _carried_out(self, run: JobRun, correction_id: str) -> GroupingCorrection:
        await self.workflows.carry_out(run)
        await self.of.generations.known_everywhere()
        await self.of.grouping.announce_corrected()
        return await self.of.grouping_corrections.get(correction_id)
