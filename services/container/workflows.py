"""The workflows, and the changes that they follow from."""

from __future__ import annotations

from functools import cached_property, partial

from services.container import Container
from services.documents.archived import Removal
from services.work.driver import (
    BACKFILL,
    COMPARE,
    CORRECT,
    CORRECT_GROUPING,
    DELETE,
    MERGE,
    PRIORITIZE,
    REANALYZE,
    SPLIT_ARTICLE,
    Workflows,
)
from services.workflows import Services
from services.workflows.backfill import backfill, reanalyze
from services.workflows.changes import Changes, delete
from services.workflows.comparing import compare
from services.workflows.correcting import CorrectionChanges, correct
from services.workflows.grouping_corrections import GroupingChanges, correct_grouping
from services.workflows.merging import merge
from services.workflows.previews import QuarantinePreviews, ToolPreviews
from services.workflows.priorities import prioritize

_PAGES = {
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


class WorkflowPart:
    """The workflows, and the services that start them."""

    def __init__(self, of: Container) -> None:
        self._of = of

    @cached_property
    def _services(self) -> Services:
        of = self._of
        return Services(
            store=of.store,
            catalog=of.tools,
            feeds=of.feeds.registry,
            articles=of.articles,
            documents=Removal(of.store, of.archive),
            analyzers=of.analyzers,
            watchlist=of.mentions.watchlist,
            writer=of.mentions.writer,
            corrections=of.mentions.corrections,
            grouping=of.grouping_announcer,
            grouping_corrections=of.stories.corrections,
            splits=of.stories.splits,
            recount=of.figures.recount,
            generations=of.figures.generations,
            announcer=of.announcer,
            clock=of.clock,
        )

    @cached_property
    def driver(self) -> Workflows:
        pages = {name: partial(page, self._services) for name, page in _PAGES.items()}
        return Workflows(self._of.runs, pages, self._of.clock)

    @cached_property
    def changes(self) -> Changes:
        return Changes(self._services, self.driver)

    @cached_property
    def tool_previews(self) -> ToolPreviews:
        return ToolPreviews(self._of.store, self._of.tools, self._of.mentions.watchlist, self._of.clock)

    @cached_property
    def correction_changes(self) -> CorrectionChanges:
        return CorrectionChanges(self._services, self.driver)

    @cached_property
    def grouping_changes(self) -> GroupingChanges:
        return GroupingChanges(self._services, self.driver)

    @cached_property
    def quarantine_previews(self) -> QuarantinePreviews:
        of = self._of
        return QuarantinePreviews(of.store, of.quarantine, of.mentions.watchlist, of.clock)
