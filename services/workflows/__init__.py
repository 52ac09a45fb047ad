"""Workflows: long work in pages, and the changes that start it. services/work/driver.py carries them out.

A workflow is a function of these services and the run, which does one page.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from services.articles.reading import Articles
from services.articles.splitting import ArticleSplits
from services.documents.archived import Removal
from services.feeds.registry import FeedRegistry
from services.figures.entries import Generations
from services.figures.recount import Recount
from services.mentions.analyzers.port import Analyzers
from services.mentions.corrections import Corrections
from services.mentions.writing import MentionWriter
from services.ports import Clock, Store
from services.stories.pins import GroupingCorrections
from services.stories.stage import GroupingAnnouncer
from services.tools.catalog import Catalog
from services.tools.detector import Watchlist
from services.work.announcing import Announcer
from services.work.runs import RunEngine


@dataclass(frozen=True, slots=True)
class Services:
    """What the workflows work with, and the changes that start them."""

    store: Store
    catalog: Catalog
    feeds: FeedRegistry
    articles: Articles
    documents: Removal
    analyzers: Analyzers
    watchlist: Watchlist
    writer: MentionWriter
    corrections: Corrections
    grouping: GroupingAnnouncer
    grouping_corrections: GroupingCorrections
    splits: ArticleSplits
    recount: Recount
    generations: Generations
    announcer: Announcer
    runs: RunEngine
    clock: Clock

    def of_workflow(self, name: str) -> Services:
        """These services, with a writer whose mentions the workflow adds."""
        return replace(self, writer=replace(self.writer, workflow=name))
