"""A person splits a source off an article, or takes that back. Each is a run of one page.

The correction says what is to be; the page brings the two articles to it, their mentions and their figures. The caller
waits for it; if the worker dies, the run's message finishes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.article import Article
from models.errors import Conflict, NotFound
from models.grouping_correction import GroupingCorrection, grouping_correction_id
from models.run import JobRun
from models.values import format_time
from services.articles.reading import Articles
from services.articles.splitting import ArticleSplits
from services.figures.entries import Generations
from services.mentions.correction_form import Signed
from services.mentions.refresh_due import REFRESH_STAGE
from services.mentions.writing import MentionWriter
from services.ports import Store, listed_documents
from services.store.containers import ARTICLES
from services.stories.pins import GroupingCorrections
from services.stories.stage import GroupingAnnouncer
from services.work.announcing import Announcer
from services.work.driver import SPLIT_ARTICLE, PageResult, RunImpossible, Workflows


@dataclass(frozen=True, slots=True)
class Splitting:
    """The workflow. `parameters.undone` names the correction if it is undone; otherwise it is the one of this run."""

    store: Store
    corrections: GroupingCorrections
    splits: ArticleSplits
    writer: MentionWriter
    announcer: Announcer
    generations: Generations

    async def page(self, run: JobRun) -> PageResult:
        undone = run.parameters.get("undone")
        correction_id = grouping_correction_id(run.run_id, run.started_at) if undone is None else str(undone)
        correction = await self.corrections.find(correction_id)
        if correction is None:
            return PageResult(None)  # the process died before it made the correction
        (article,), (to,) = correction.articles, correction.others
        try:
            if correction.is_active:
                await self.splits.split(article, to, correction.source or "")
            else:
                await self.splits.take_back(article, to)
        except NotFound as error:
            raise RunImpossible(str(error)) from error
        await self.corrections.name_in_articles(correction)
        return PageResult(None, 1, {}, {}, await self._analysed(article, to))

    async def _analysed(self, *source_ids: str) -> tuple[str, ...]:
        """Analyses both articles, so that mentions and figures are right when the caller returns. Returns the tools."""
        written = await self.writer.write(source_ids, invalidate=self.generations.raise_all)
        written.require_all()
        found = await self.store.read_many(ARTICLES.name, [(each, Article.ID) for each in source_ids])
        articles = listed_documents(found, Article.from_document, "source_id").items
        tools = sorted({each for one in articles for each in (*one.tool_ids_ever_detected, *one.detected_tool_ids)})
        await self.generations.raise_all(tools)
        await self.announcer.announce(REFRESH_STAGE, tools)
        return tuple(tools)


@dataclass(frozen=True, slots=True)
class ArticleSplitChanges:
    """What people ask for. Each method returns the correction as it is stored, after the run has ended."""

    articles: Articles
    corrections: GroupingCorrections
    splits: ArticleSplits
    workflows: Workflows
    generations: Generations
    grouping: GroupingAnnouncer

    async def split(self, article_id: str, source: str, signed: Signed) -> GroupingCorrection:
        """The source becomes an article of its own, with all sources that have its link. Asking again changes nothing.
        Raises NotFound, and Conflict if its link does not tell it from the others."""
        source_id = (await self.articles.get(article_id)).source_id
        await self._finish_begun(source_id)
        article = await self.articles.get(article_id)
        for each in await self.corrections.of_article(article):
            if each.is_active and (each.kind, each.articles, each.source) == ("SPLIT_ARTICLE", (source_id,), source):
                return each
        to = await self.splits.target(source_id, source)
        async with self.workflows.accepted_for(SPLIT_ARTICLE, source_id) as run:
            made = GroupingCorrection(
                created_at=run.started_at,
                updated_at=run.started_at,
                day=format_time(run.started_at)[:10],
                correction_id=grouping_correction_id(run.run_id, run.started_at),
                kind="SPLIT_ARTICLE",
                articles=(source_id,),
                others=(to,),
                source=source,
                was_first=article.sources[0] == source,
                reason=signed.reason,
                author=signed.author,
                made_at=run.started_at,
                made_by_run=run.run_id,
            )
            await self.corrections.make(made)
        return await self._carried_out(run, made.correction_id)

    async def undo(self, correction_id: str, signed: Signed) -> GroupingCorrection:
        """The sources return. Undoing again changes nothing. Raises NotFound, and Conflict if one of the articles was
        deleted."""
        correction = await self.corrections.get(correction_id)
        (article,), (to,) = correction.articles, correction.others
        await self._finish_begun(article)
        if not correction.is_active:
            return correction
        for each in (article, to):
            try:
                await self.articles.get(each)
            except NotFound:
                raise Conflict(
                    f"correction: the article {each} was deleted or has expired, so the source cannot return"
                ) from None
        async with self.workflows.accepted_for(SPLIT_ARTICLE, article, undone=correction_id) as run:
            await self.corrections.undo(correction_id, signed.author, signed.reason)
        return await self._carried_out(run, correction_id)

    async def _finish_begun(self, article_id: str) -> None:
        """Ends what a dead worker began with this article."""
        for run in await self.workflows.engine.open_of(SPLIT_ARTICLE, article_id):
            await self.workflows.advance(run.run_id)

    async def _carried_out(self, run: JobRun, correction_id: str) -> GroupingCorrection:
        await self.workflows.carry_out(run)
        await self.generations.known_everywhere()
        await self.grouping.announce_corrected()
        return await self.corrections.get(correction_id)
