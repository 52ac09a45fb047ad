"""Deleting an article with all that was made of it, as a run: whoever dies on the way leaves what `clean_up` finishes.

The run is stored before anything is taken away, and carried out while the caller waits.
"""

from __future__ import annotations

from models.errors import NotFound
from models.run import JobRun
from services.articles.reading import Articles
from services.mentions.intake import AnalysisFailed
from services.mentions.settling import Settling
from services.runs.workflows import DELETE, Step, Workflows


class Deletion:
    """A workflow: `subject` is the article."""

    def __init__(self, articles: Articles, settling: Settling) -> None:
        self._articles = articles
        self._settling = settling

    async def step(self, run: JobRun) -> Step:
        source_id = run.subject or ""
        try:
            await self._articles.delete(source_id)
        except NotFound:
            return Step(None, 1)  # it has expired meanwhile
        settled = await self._settling.settle([source_id])
        for why in settled.failed.values():
            # No page of many: it is not done before nothing counts the article any more.
            raise AnalysisFailed(f"article {source_id}: {why}")
        return Step(None, 1, {"removed": settled.removed})


async def delete_article(articles: Articles, workflows: Workflows, article_id: str) -> None:
    """No figure counts it any more, and its text is gone. Doing it again does no harm; NotFound if it never was."""
    run = await workflows.accept(DELETE, await articles.source_id_of(article_id))
    await workflows.advance(run.run_id)
