"""The container of a worker: the settings, the adapters, what most services need, and the parts of the flow.

An instance on Azure has the functions of one queue, of the timers or of HTTP. So each part is imported and built when
it is first asked for: a worker starts without what it does not do.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from models.mention import scored_by
from models.run import JobRun
from services.articles.quarantine import Quarantine
from services.articles.reading import Articles
from services.articles.writing import Announce
from services.feeds.news_apis import EnabledApi
from services.fetch.outcome import Credential
from services.figures.figures import Figures
from services.mentions.analyzers.port import Analyzers
from services.mentions.due import ANALYSIS_STAGE, article_form
from services.mentions.references import ToolReferences
from services.operations.heartbeats import Heartbeats
from services.operations.traffic import StoreTraffic
from services.ports import Archive, Clock, LastWrite, Queues, Store
from services.settings import Settings
from services.stories.stage import GroupingAnnouncer, grouping_stage
from services.tools.catalog import Catalog
from services.work.announcing import Announcer
from services.work.driver import WORKFLOWS_STAGE
from services.work.messages import message_of, parts_of
from services.work.runs import RunEngine

if TYPE_CHECKING:
    from services.container.feeds import FeedPart
    from services.container.fetching import FetchingPart
    from services.container.mentions import MentionPart
    from services.container.operations import OperationPart
    from services.container.stories import StoryPart
    from services.container.workflows import WorkflowPart
    from services.fetch.fetcher import Fetcher


def new_id() -> str:
    return uuid.uuid4().hex


def new_uuid() -> str:
    return str(uuid.uuid4())


@dataclass
class Container:
    """What the functions of a worker use. The caller of `build` must close it.

    `credentials` reads those of private feeds, `apis` are the news APIs with a token and `apis_off` the names of the
    others, `started` is when this worker started. What is added to `resources` is closed with the container.
    """

    settings: Settings
    clock: Clock
    store: Store
    queues: Queues
    archive: Archive
    analyzers: Analyzers
    apis: Mapping[str, EnabledApi]
    apis_off: Sequence[str]
    credentials: Callable[[str], Credential]
    traffic: StoreTraffic
    last_write: LastWrite
    connections: int
    started: datetime
    resources: AsyncExitStack

    @cached_property
    def runs(self) -> RunEngine:
        return RunEngine(self.store, self.clock, new_id)

    @cached_property
    def tools(self) -> Catalog:
        return Catalog(self.store, self.clock, new_uuid)

    @cached_property
    def articles(self) -> Articles:
        return Articles(self.store, self.clock)

    @cached_property
    def announcer(self) -> Announcer:
        return Announcer(self.queues)

    @cached_property
    def announce(self) -> Announce:
        async def announce(source_ids: Iterable[str], feed_id: str | None = None) -> None:
            parts = parts_of(list(dict.fromkeys(source_ids)), self.settings.batch_size)
            await self.announcer.send(ANALYSIS_STAGE, [message_of(article_form(part, feed_id)) for part in parts])

        return announce

    @cached_property
    def figures(self) -> Figures:
        figures = Figures(
            *(self.store, self.tools, self.announcer, self.clock, new_id, self.settings.cache_memory_seconds),
            lambda: scored_by(self.analyzers.present.name, self.analyzers.present.version),
            last_write=self.last_write,
        )
        figures.counters.writer.register(self.traffic.take)
        return figures

    @cached_property
    def fetcher(self) -> Fetcher:
        """Its HTTP client takes a quarter of a second to load."""
        from services.fetch.fetcher import Fetcher

        fetcher = Fetcher(self.settings, clock=self.clock)
        self.resources.push_async_callback(fetcher.close)
        return fetcher

    @cached_property
    def heartbeats(self) -> Heartbeats:
        return Heartbeats(self.store, self.clock)

    @cached_property
    def quarantine(self) -> Quarantine:
        return Quarantine(self.store, self.runs, self.clock)

    @cached_property
    def references(self) -> ToolReferences:
        return ToolReferences(self.store, self.tools)

    @cached_property
    def grouping_announcer(self) -> GroupingAnnouncer:
        stage = grouping_stage(timedelta(minutes=self.settings.grouping_interval_minutes))
        most = self.settings.grouping_threshold_articles
        return GroupingAnnouncer(self.store, self.announcer, stage, most, self.clock)

    @cached_property
    def feeds(self) -> FeedPart:
        from services.container.feeds import FeedPart

        return FeedPart(self)

    @cached_property
    def fetching(self) -> FetchingPart:
        from services.container.fetching import FetchingPart

        return FetchingPart(self)

    @cached_property
    def mentions(self) -> MentionPart:
        from services.container.mentions import MentionPart

        return MentionPart(self)

    @cached_property
    def stories(self) -> StoryPart:
        from services.container.stories import StoryPart

        return StoryPart(self)

    @cached_property
    def workflows(self) -> WorkflowPart:
        from services.container.workflows import WorkflowPart

        return WorkflowPart(self)

    @cached_property
    def operations(self) -> OperationPart:
        from services.container.operations import OperationPart

        return OperationPart(self)

    async def start(self, run: JobRun) -> None:
        """Sends the message of the run of a workflow, which is stored."""
        await self.announcer.announce_stored(WORKFLOWS_STAGE, [run.run_id])

    async def close(self) -> None:
        await self.resources.aclose()

    @property
    def has_fetched(self) -> bool:
        return "fetcher" in self.__dict__
