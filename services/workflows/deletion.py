"""Deleting an article and all that was made of it, as a run that is carried out while the caller waits.

The run is stored first: if the process dies on the way, `clean_up` sends the run, and the deletion is finished.
"""

from __future__ import annotations

from models.errors import NotFound
from models.run import JobRun
from services.articles.reading import Articles
from services.mentions.handler import AnalysisFailed
from services.mentions.writing import MentionWriter
from services.workflows.driver import DELETE, PageResult, Workflows


class Deletion:
    """A workflow of one page: `subject` is the article."""

    def __init__(self, articles: Articles, writer: MentionWriter) -> None:
        self._articles = articles
        self._writer = writer

    async def page(self, run: JobRun) -> PageResult:
        source_id = run.subject or ""
        try:
            await self._articles.delete(source_id)
        except NotFound:
            return PageResult(None, 1)  # expired meanwhile
        settled = await self._writer.write([source_id])
        for why in settled.failed.values():
            # Not a failed article of many: the deletion is not done while a figure counts the article.
            raise AnalysisFailed(f"article {source_id}: {why}")
        return PageResult(None, 1, {"removed": settled.removed})


async def delete_article(articles: Articles, workflows: Workflows, article_id: str) -> None:
    """Afterwards no figure counts the article, and its text is gone. Deleting again does no harm. Raises NotFound if
    the article never existed."""
    run = await workflows.accept(DELETE, await articles.source_id_of(article_id))
    await workflows.advance(run.run_id)
