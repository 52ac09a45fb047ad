"""Corrections of articles and stories by people: split an article, join or keep apart two, and undoing it.

Each is a run of one page. The caller waits for it; if the worker dies, the run's message finishes it. A split moves the
source first, and is a correction then; of other corrections the document is all, and the grouping obeys it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from models.article import Article, ArticleDocument
from models.errors import Conflict, InvalidInput, NotFound, Unavailable
from models.grouping_correction import GroupingCorrection, Kind, grouping_correction_id
from models.mention import SentimentScore
from models.run import JobRun
from models.values import format_time, parse_time
from services.articles.contention import ROUNDS, wait_seconds
from services.articles.moving import Key
from services.articles.reading import Articles
from services.articles.source_moves import Move, SourceMoves
from services.figures.entries import Generations
from services.mentions.announcing import RefreshAnnouncer
from services.mentions.correction_form import Signed
from services.mentions.dirty_hours import mark_dirty
from services.mentions.handler import AnalysisFailed
from services.mentions.understanding import published_at
from services.mentions.writing import MentionWriter, operation_of
from services.ports import Clock, Store, listed_documents
from services.runs.driver import CORRECT_GROUPING, PageResult, RunImpossible, Workflows
from services.store.containers import ARTICLES, MENTIONS
from services.stories.announcing import GroupingAnnouncer
from services.stories.corrections import GroupingCorrections


@dataclass(frozen=True, slots=True)
class CorrectingGrouping:
    """The workflow: `parameters.correction` is what is said, or `parameters.undo` names the correction that is undone,
    who undoes it and why. With a split, `parameters.key` identifies the article that the source becomes, and
    `parameters.times` are the times that mentions may leave."""

    store: Store
    corrections: GroupingCorrections
    moves: SourceMoves
    writer: MentionWriter
    announcer: RefreshAnnouncer
    generations: Generations
    clock: Clock

    async def page(self, run: JobRun) -> PageResult:
        try:
            correction, undo = await self._asked(run)
            if correction.kind != "SPLIT_ARTICLE":
                after = await self._recorded(correction, undo)
                return PageResult(None, await self.corrections.name_in_articles(after))
            stored = await self.corrections.find(correction.correction_id)
            if undo is not None or stored is None or stored.is_active:
                await self.moves.move(_move(run, correction, undone=undo is not None))
            after = await self._recorded(correction, undo)
        except NotFound as error:
            raise RunImpossible(str(error)) from error
        await self.corrections.name_in_articles(after)
        changed = await self._analysed(correction, _left_times(run))
        return PageResult(None, 1, {}, {}, changed)

    async def _asked(self, run: JobRun) -> tuple[GroupingCorrection, Mapping[str, Any] | None]:
        undo = run.parameters.get("undo")
        if isinstance(undo, Mapping):
            return await self.corrections.get(str(undo["correction_id"])), undo
        given: Any = run.parameters.get("correction")
        made_at = run.started_at
        return (
            GroupingCorrection(
                **given,
                created_at=made_at,
                updated_at=made_at,
                day=format_time(made_at)[:10],
                correction_id=grouping_correction_id(run.run_id, made_at),
                made_at=made_at,
                made_by_run=run.run_id,
            ),
            None,
        )

    async def _recorded(self, correction: GroupingCorrection, undo: Mapping[str, Any] | None) -> GroupingCorrection:
        if undo is None:
            return await self.corrections.make(correction)
        reason = undo.get("reason")
        text = None if reason is None else str(reason)
        return await self.corrections.undo(correction.correction_id, str(undo["author"]), text)

    async def _analysed(self, correction: GroupingCorrection, times: Sequence[datetime]) -> tuple[str, ...]:
        """Analyses both articles, lets their mentions have the times of the articles, and marks the hours that mentions
        have left. Returns the tools."""
        source_ids = [*correction.articles, *correction.others]
        written = await self.writer.write(source_ids, invalidate=self.generations.raise_all)
        for source_id, reason in written.failed.items():
            raise AnalysisFailed(f"article {source_id}: {reason}")
        tools = set[str]()
        for source_id in source_ids:
            tools |= await self._retimed(source_id)
        for tool_id in sorted(tools):
            await mark_dirty(self.store, tool_id, times, self.clock())
        await self.generations.raise_all(sorted(tools))
        await self.announcer.announce(sorted(tools))
        return tuple(sorted(tools))

    async def _retimed(self, source_id: str) -> set[str]:
        """Gives the mentions of an article its time. Returns all tools that have or had one."""
        for round_no in range(ROUNDS):
            document = await self.store.read(ARTICLES.name, source_id, Article.ID)
            if document is None:
                return set()
            article = Article.from_document(document)
            tools = {*article.tool_ids_ever_detected, *article.detected_tool_ids}
            found = await self.store.read_many(MENTIONS.name, [(each, source_id) for each in sorted(tools)])
            mentions = listed_documents(found, SentimentScore.from_document, "id").items
            right, now = published_at(article), self.clock()
            late = [each for each in mentions if each.counts and each.published_at != right]
            raced = False
            for each in late:
                after = each.changed(now, published_at=right)
                outcome = (await self.store.batch_many(MENTIONS.name, [(each.tool_id, [operation_of(after)])]))[0]
                raced |= not isinstance(outcome, list)
                await mark_dirty(self.store, each.tool_id, [each.published_at, right], now)
            if not raced:
                return tools
            await asyncio.sleep(wait_seconds(round_no, 1.0))
        raise Unavailable(f"the mentions of {source_id} keep changing", retry_after=1.0)


def _move(run: JobRun, correction: GroupingCorrection, *, undone: bool) -> Move:
    (article,), (new) = correction.articles, correction.others[0]
    source = correction.source or ""
    if undone:
        return Move(source, new, article, is_first=bool(correction.was_first))
    given = run.parameters.get("key")
    assert isinstance(given, Mapping), "a split names the key of the new article"
    return Move(source, article, new, Key(str(given["dedup_key"]), str(given["normalized_headline"])))


@dataclass(frozen=True, slots=True)
class GroupingChanges:
    """What people ask for. Each method returns the correction as it is stored, after the run has ended."""

    store: Store
    articles: Articles
    corrections: GroupingCorrections
    moves: SourceMoves
    workflows: Workflows
    generations: Generations
    grouping: GroupingAnnouncer
    clock: Clock

    async def split_article(self, article_id: str, source: str, signed: Signed) -> GroupingCorrection:
        """The source becomes an article of its own. Asking again changes nothing. Raises NotFound, and Conflict if the
        article has no other source."""
        await self._finish_begun((await self.articles.get(article_id)).source_id)
        article = await self.articles.get(article_id)
        for each in await self.corrections.of_article(article):
            if each.is_active and (each.kind, each.articles, each.source) == (
                "SPLIT_ARTICLE",
                (article.source_id,),
                source,
            ):
                return each
        whole = await self.articles.with_further_sources(article)
        document = await self._document(article.source_id)
        key = await self.moves.key_for(document, source)
        if (whole.source_count or len(whole.sources)) < 2:
            raise Conflict(f"source: {source} is the only source of the article")
        new = await self._document_of(f"dedup:{key.dedup_key}")
        return await self._made(
            "SPLIT_ARTICLE",
            [article.source_id],
            [f"dedup:{key.dedup_key}"],
            signed,
            {"source": source, "was_first": article.sources[0] == source},
            key=key._asdict(),
            times=_times(document, new),
        )

    async def relate(self, kind: Kind, article_id: str, other_id: str, signed: Signed) -> GroupingCorrection:
        """Says of two articles that they are near-duplicates, or of one story, or not."""
        article = await self.articles.get(article_id)
        try:
            other = await self.articles.get(other_id)
        except NotFound as error:
            raise NotFound(str(error)) from None
        if article.source_id == other.source_id:
            raise InvalidInput("article", "must be another article")
        return await self._made(kind, [article.source_id], [other.source_id], signed)

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
        return await self._made("SPLIT_STORY", leaving, rest, signed, {"event_ids": [event_id]})

    async def relate_stories(self, kind: Kind, event_id: str, other_id: str, signed: Signed) -> GroupingCorrection:
        """Joins two stories, or keeps them apart."""
        one = await self.corrections.members(event_id, "event_id")
        if event_id == other_id:
            raise InvalidInput("story", "must be another story")
        other = await self.corrections.members(other_id, "story")
        return await self._made(kind, one, other, signed, {"event_ids": [event_id, other_id]})

    async def undo(self, correction_id: str, signed: Signed) -> GroupingCorrection:
        """Undoing again changes nothing. Raises NotFound, and Conflict if a source cannot return."""
        await self._finish_begun((await self.corrections.get(correction_id)).articles[0])
        correction = await self.corrections.get(correction_id)
        if not correction.is_active:
            return correction
        undo = {"correction_id": correction_id, "author": signed.author, "reason": signed.reason}
        subject = correction.articles[0]
        if correction.kind != "SPLIT_ARTICLE":
            run = await self.workflows.accept(CORRECT_GROUPING, subject, undo=undo)
            return await self._carried_out(run, correction_id)
        article, new = [await self._document_of(each) for each in (*correction.articles, *correction.others)]
        went = (new or {}).get("moved_sources", {}).get(correction.source or "")
        returns = went == correction.articles[0]  # an earlier try has begun
        if went is not None and not returns:
            raise Conflict(f"correction: {correction.source} was taken out of {correction.others[0]} since; undo that")
        for name, each in zip((correction.articles[0], correction.others[0]), (article, new), strict=True):
            if each is None or (each.get("deleted_at") and not returns):
                raise Conflict(
                    f"correction: the article {name} was deleted or has expired, so the source cannot return"
                )
        run = await self.workflows.accept(CORRECT_GROUPING, subject, undo=undo, times=_times(article, new))
        return await self._carried_out(run, correction_id)

    async def _made(
        self,
        kind: Kind,
        articles: Sequence[str],
        others: Sequence[str],
        signed: Signed,
        more: Mapping[str, Any] | None = None,
        **parameters: Any,
    ) -> GroupingCorrection:
        said = {"kind": kind, "articles": list(articles), "others": list(others), **(more or {})}
        correction = {**said, "author": signed.author, "reason": signed.reason}
        run = await self.workflows.accept(CORRECT_GROUPING, articles[0], correction=correction, **parameters)
        return await self._carried_out(run, grouping_correction_id(run.run_id, run.started_at))

    async def _finish_begun(self, article_id: str) -> None:
        """Ends what a dead worker began with this article: its run would end it later, after what is said now."""
        for run in await self.workflows.engine.open_of(CORRECT_GROUPING, article_id):
            await self.workflows.advance(run.run_id)

    async def _carried_out(self, run: JobRun, correction_id: str) -> GroupingCorrection:
        await self.workflows.advance(run.run_id)
        await self.generations.known_everywhere()
        after = await self.workflows.engine.get(run.run_id)
        if after.status == "FAILED":
            raise Conflict(after.errors[0] if after.errors else "correction: could not be made")
        if not after.is_finished:
            raise Unavailable("correction: another worker is making it", retry_after=5.0)
        await self.grouping.announce_corrected()
        return await self.corrections.get(correction_id)

    async def _document(self, source_id: str) -> ArticleDocument:
        found = await self._document_of(source_id)
        if found is None:
            raise NotFound(f"article: there is none with the id {source_id!r}")
        return found

    async def _document_of(self, source_id: str) -> ArticleDocument | None:
        return cast("ArticleDocument | None", await self.store.read(ARTICLES.name, source_id, Article.ID))


def _left_times(run: JobRun) -> list[datetime]:
    times = run.parameters.get("times")
    return [parse_time(each) for each in times] if isinstance(times, list) else []


def _times(*articles: ArticleDocument | None) -> list[str]:
    """The times of the mentions of these articles."""
    return [min(each["timestamp"], each["created_at"]) for each in articles if each is not None]
