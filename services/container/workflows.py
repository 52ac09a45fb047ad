"""The workflows, and the changes that they follow from."""

from __future__ import annotations

from functools import cached_property

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
    Workflow,
    Workflows,
)
from services.workflows.backfill import Backfill, Reanalysis
from services.workflows.changes import ArticleChanges, Deletion, FeedChanges, ToolChanges
from services.workflows.comparing import Comparing
from services.workflows.correcting import Correcting, CorrectionChanges
from services.workflows.grouping_corrections import CorrectingGrouping, GroupingChanges
from services.workflows.merging import Merging
from services.workflows.previews import QuarantinePreviews, ToolPreviews
from services.workflows.priorities import Priorities


class WorkflowPart:
    """The workflows, and the services that start them."""

    def __init__(self, of: Container) -> None:
        self._of = of

    @cached_property
    def driver(self) -> Workflows:
        of, mentions, stories = self._of, self._of.mentions, self._of.stories
        writer, generations = mentions.writer, of.figures.generations
        correcting_grouping = CorrectingGrouping(
            *(of.store, stories.corrections, stories.splits, writer, of.announcer, generations)
        )
        return Workflows(
            of.runs,
            {
                DELETE: Deletion(
                    *(of.articles, writer, generations, of.grouping_announcer, Removal(of.store, of.archive)),
                ),
                PRIORITIZE: Priorities(of.store, writer, generations, of.clock),
                COMPARE: Comparing(of.store, of.tools, mentions.watchlist, of.analyzers),
                REANALYZE: Reanalysis(of.store, of.tools, writer, of.figures.recount, generations, of.clock),
                **self._of_catalog(),
                CORRECT: Correcting(mentions.corrections, writer, generations, of.clock),
                **dict.fromkeys((CORRECT_GROUPING, SPLIT_ARTICLE), correcting_grouping),
            },
            of.clock,
        )

    def _of_catalog(self) -> dict[str, Workflow]:
        """The workflows that follow from changes of the catalog."""
        of, corrections, writer = self._of, self._of.mentions.corrections, self._of.mentions.writer
        generations = of.figures.generations
        return {
            BACKFILL: Backfill(of.store, of.tools, writer, self._of.mentions.watchlist, generations, of.announcer),
            MERGE: Merging(*(of.store, of.tools, writer, corrections, of.figures.recount, generations, of.clock)),
        }

    @cached_property
    def feed_changes(self) -> FeedChanges:
        return FeedChanges(self._of.feeds.registry, self.driver)

    @cached_property
    def article_changes(self) -> ArticleChanges:
        return ArticleChanges(self._of.articles, self.driver, self._of.figures.generations)

    @cached_property
    def tool_previews(self) -> ToolPreviews:
        return ToolPreviews(self._of.store, self._of.tools, self._of.mentions.watchlist, self._of.clock)

    @cached_property
    def tool_changes(self) -> ToolChanges:
        of = self._of
        return ToolChanges(of.tools, self.driver, of.analyzers)

    @cached_property
    def correction_changes(self) -> CorrectionChanges:
        of, mentions = self._of, self._of.mentions
        return CorrectionChanges(
            *(of.store, of.tools, mentions.watchlist, of.articles, self._of.feeds.registry, mentions.corrections),
            *(self.driver, of.figures.generations, of.clock),
        )

    @cached_property
    def grouping_changes(self) -> GroupingChanges:
        of, stories = self._of, self._of.stories
        return GroupingChanges(
            *(of.articles, stories.corrections, stories.splits, self.driver),
            *(of.figures.generations, of.grouping_announcer),
        )

    @cached_property
    def quarantine_previews(self) -> QuarantinePreviews:
        of = self._of
        return QuarantinePreviews(of.store, of.quarantine, of.mentions.watchlist, of.clock)
