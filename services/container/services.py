"""The services of one worker, as triggers use them.

An instance on Azure has the functions of one queue, of the timers or of HTTP. So each part of the flow is imported and
built when its first service is asked for: a worker starts without what it does not do.
"""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from models.version import VERSION
from services.articles.quarantine import Quarantine
from services.articles.reading import Articles
from services.container.foundation import Foundation
from services.figures.figures import Figures
from services.mentions.analyzers.choice import Analyzers
from services.mentions.tool_references import ToolReferences
from services.operations.heartbeats import Heartbeats
from services.ports import Archive, Clock, Queues, Store
from services.runs.engine import RunEngine
from services.runs.starting import RunStarts
from services.settings import Settings
from services.stories.announcing import GroupingAnnouncer
from services.tools.catalog import Catalog

if TYPE_CHECKING:
    from services.articles.feed_preview import FeedPreviews
    from services.articles.ingestion import Ingestion
    from services.container.feeds import FeedPart
    from services.container.ingestion import IngestionPart
    from services.container.mentions import MentionPart
    from services.container.operations import OperationPart
    from services.container.stories import StoryPart
    from services.container.workflows import WorkflowPart
    from services.documents.services import DocumentServices
    from services.feeds.bulk import BulkActions
    from services.feeds.claims import Claims
    from services.feeds.fetch_days import FetchDays
    from services.feeds.host_listing import HostListing
    from services.feeds.presets import Presets
    from services.feeds.registry import FeedRegistry
    from services.mentions.correction_documents import Corrections
    from services.mentions.handler import AnalysisHandler
    from services.mentions.passages import MentionPassages
    from services.operations.audit import Audit
    from services.operations.cache_health import CacheHealth
    from services.operations.export import Export
    from services.operations.health import Health
    from services.operations.metrics import Metrics
    from services.operations.upkeep import Upkeep
    from services.runs.driver import Workflows
    from services.signals.reading import Signals
    from services.stories.corrections import GroupingCorrections
    from services.stories.handler import Grouping
    from services.stories.ledger import Ledger
    from services.stories.reading import Stories
    from services.tools.watchlist import Watchlist
    from services.work.handling import Handler
    from services.workflows.changes import ArticleChanges, FeedChanges, ToolChanges
    from services.workflows.correcting import CorrectionChanges
    from services.workflows.grouping_corrections import GroupingChanges
    from services.workflows.preview import ToolPreviews
    from services.workflows.quarantine_preview import QuarantinePreview


class Container:
    """The caller of `build` must close it."""

    def __init__(self, of: Foundation) -> None:
        self._of = of
        self.settings: Settings = of.settings
        self.clock: Clock = of.clock
        self.store: Store = of.store
        self.queues: Queues = of.queues
        self.archive: Archive = of.archive
        self.analyzers: Analyzers = of.analyzers
        self.figures: Figures = of.figures
        self.tools: Catalog = of.tools
        self.articles: Articles = of.articles
        self.runs: RunEngine = of.runs
        self.run_starts = RunStarts(of.queues, of.runs)
        self.heartbeats = Heartbeats(of.store, of.clock)
        self.quarantine = Quarantine(of.store, of.runs, of.clock)
        self.references = ToolReferences(of.store, of.tools)
        self.grouping_announcer = GroupingAnnouncer(
            *(of.store, of.queues, of.settings.grouping_threshold_articles),
            *(timedelta(minutes=of.settings.grouping_interval_minutes), of.clock),
        )

    async def close(self) -> None:
        await self._of.resources.aclose()

    @cached_property
    def upkeep(self) -> Upkeep:
        from services.container.upkeep import upkeep_of

        return upkeep_of(self, self._of, self._feeds)

    @cached_property
    def health(self) -> Health:
        from services.operations.health import Health

        of = self._of
        return Health(
            *(of.store, of.queues, of.archive, self.heartbeats, of.figures.backlog, of.traffic, of.clock, VERSION),
            *(of.started, sorted(of.apis), of.apis_off),
        )

    @cached_property
    def _feeds(self) -> FeedPart:
        from services.container.feeds import FeedPart

        return FeedPart(self._of)

    @property
    def feeds(self) -> FeedRegistry:
        return self._feeds.feeds

    @property
    def presets(self) -> Presets:
        return self._feeds.presets

    @property
    def bulk_actions(self) -> BulkActions:
        return self._feeds.bulk_actions

    @property
    def claims(self) -> Claims:
        return self._feeds.claims

    @property
    def fetch_days(self) -> FetchDays:
        return self._feeds.fetch_days

    @property
    def host_listing(self) -> HostListing:
        return self._feeds.host_listing

    @cached_property
    def _ingestion(self) -> IngestionPart:
        from services.container.ingestion import IngestionPart

        return IngestionPart(self._of, self._feeds, self._mentions)

    @property
    def documents(self) -> DocumentServices:
        return self._ingestion.documents

    @property
    def feed_previews(self) -> FeedPreviews:
        return self._ingestion.feed_previews

    @property
    def ingestion(self) -> Ingestion:
        return self._ingestion.ingestion

    @cached_property
    def _mentions(self) -> MentionPart:
        from services.container.mentions import MentionPart

        return MentionPart(self._of)

    @property
    def watchlist(self) -> Watchlist:
        return self._mentions.watchlist

    @property
    def analysis(self) -> AnalysisHandler:
        return self._mentions.analysis

    @property
    def corrections(self) -> Corrections:
        return self._mentions.corrections

    @property
    def passages(self) -> MentionPassages:
        return self._mentions.passages

    @cached_property
    def _stories(self) -> StoryPart:
        from services.container.stories import StoryPart

        return StoryPart(self._of, self.grouping_announcer)

    @property
    def grouping(self) -> Grouping:
        return self._stories.grouping

    @property
    def grouping_corrections(self) -> GroupingCorrections:
        return self._stories.grouping_corrections

    @property
    def ledger(self) -> Ledger:
        return self._stories.ledger

    @property
    def stories(self) -> Stories:
        return self._stories.stories

    @property
    def signals(self) -> Signals:
        return self._stories.signals

    @property
    def signal_work(self) -> Handler:
        return self._stories.signal_work

    @cached_property
    def _workflows(self) -> WorkflowPart:
        from services.container.workflows import WorkflowPart

        return WorkflowPart(self._of, self._feeds, self._mentions, self._stories)

    @property
    def workflows(self) -> Workflows:
        return self._workflows.workflows

    @property
    def feed_changes(self) -> FeedChanges:
        return self._workflows.feed_changes

    @property
    def article_changes(self) -> ArticleChanges:
        return self._workflows.article_changes

    @property
    def tool_previews(self) -> ToolPreviews:
        return self._workflows.tool_previews

    @property
    def tool_changes(self) -> ToolChanges:
        return self._workflows.tool_changes

    @property
    def correction_changes(self) -> CorrectionChanges:
        return self._workflows.correction_changes

    @property
    def grouping_changes(self) -> GroupingChanges:
        return self._workflows.grouping_changes

    @property
    def quarantine_preview(self) -> QuarantinePreview:
        return self._workflows.quarantine_preview

    @cached_property
    def _operations(self) -> OperationPart:
        from services.container.operations import OperationPart

        return OperationPart(self._of)

    @property
    def audit(self) -> Audit:
        return self._operations.audit

    @property
    def cache_health(self) -> CacheHealth:
        return self._operations.cache_health

    @property
    def metrics(self) -> Metrics:
        return self._operations.metrics

    @property
    def export(self) -> Export:
        return self._operations.export
