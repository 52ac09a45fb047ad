"""The workflows, and the changes that they follow from."""

from __future__ import annotations

from functools import cached_property, partial

from models.run import BACKFILL, COMPARE, CORRECT, CORRECT_GROUPING, DELETE, MERGE, PRIORITIZE, REANALYZE, SPLIT_ARTICLE
from services.container import Part
from services.documents.archived import Removal
from services.work.driver import Workflows
from services.workflows import Services
from services.workflows.changes import Changes, backfill, delete, reanalyze
from services.workflows.comparing import compare
from services.workflows.correcting import CorrectionChanges, correct
from services.workflows.grouping_corrections import GroupingChanges, correct_grouping
from services.workflows.merging import merge
from services.workflows.previews import Previews
from services.workflows.priorities import prioritize

PAGES = {
    BACKFILL: backfill,
    COMPARE: compare,
    CORRECT: correct,
    CORRECT_GROUPING: correct_grouping,
    DELETE: delete,
    MERGE: merge,
    PRIORITIZE: prioritize,
    REANALYZE: reanalyze,
    SPLIT_ARTICLE: correct_grouping,
}


class WorkflowPart(Part):
    """The workflows, and the services that start them."""

    @cached_property
    def _services(self) -> Services:
        return Services(
            store=self.of.store,
            catalog=self.of.tools,
            feeds=self.of.feeds.registry,
            articles=self.of.articles,
            documents=Removal(self.of.store, self.of.archive),
            analyzers=self.of.analyzers,
            watchlist=self.of.mentions.watchlist,
            writer=self.of.mentions.writer,
            corrections=self.of.mentions.corrections,
            grouping=self.of.grouping_announcer,
            grouping_corrections=self.of.stories.corrections,
            splits=self.of.stories.splits,
            recount=self.of.figures.recount,
            generations=self.of.figures.generations,
            announcer=self.of.announcer,
            runs=self.of.runs,
            clock=self.of.clock,
        )

    @cached_property
    def driver(self) -> Workflows:
        pages = {name: partial(page, self._services.of_workflow(name)) for name, page in PAGES.items()}
        return Workflows(self.of.runs, pages, self.of.clock)

    @cached_property
    def changes(self) -> Changes:
        return Changes(self._services, self.driver)

    @cached_property
    def previews(self) -> Previews:
        of = self.of
        return Previews(
            of.store, of.tools, of.quarantine, of.fetching.acquisition.judged, of.mentions.watchlist, of.clock
        )

    @cached_property
    def correction_changes(self) -> CorrectionChanges:
        return CorrectionChanges(self._services, self.driver)

    @cached_property
    def grouping_changes(self) -> GroupingChanges:
        return GroupingChanges(self._services, self.driver)
