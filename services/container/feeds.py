"""Which feeds there are, and which of them are due: what each tick and each new worker needs, without what fetches."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import cached_property

from services.container.container import Container, new_id
from services.feeds import presets
from services.feeds.budget import Budget
from services.feeds.bulk import BulkActions
from services.feeds.claims import Claims
from services.feeds.fetch_hours import FetchDays
from services.feeds.hosts import HostListing, HostStates
from services.feeds.outages import Outages
from services.feeds.presets import Presets
from services.feeds.registry import FeedRegistry
from services.feeds.schedule import Policy
from services.fetch.limits import HostReport


class FeedPart:
    """The services of feeds."""

    def __init__(self, of: Container) -> None:
        self._of = of

    @cached_property
    def registry(self) -> FeedRegistry:
        return FeedRegistry(self._of.store, self._of.clock, self._of.credentials)

    @cached_property
    def presets(self) -> Presets:
        return presets.load()

    @cached_property
    def bulk_actions(self) -> BulkActions:
        return BulkActions(self._of.store, self.registry, self.claims, self._of.clock)

    @cached_property
    def hosts(self) -> HostStates:
        return HostStates(self._of.store, self._host_reports)

    def _host_reports(self) -> Mapping[str, HostReport]:
        return self._of.fetcher.host_reports() if self._of.has_fetched else {}

    @cached_property
    def outages(self) -> Outages:
        return Outages(self._of.store, self.hosts)

    @cached_property
    def budget(self) -> Budget:
        settings = self._of.settings
        policy = Policy(
            fetches_per_feed_hour=settings.fetch_budget_per_feed_hour,
            min_interval=timedelta(minutes=settings.min_refresh_interval_minutes),
            max_interval=timedelta(minutes=settings.max_refresh_interval_minutes),
            target_articles=settings.target_articles_per_fetch,
        )
        return Budget(self._of.store, policy, self._of.clock)

    @cached_property
    def claims(self) -> Claims:
        of = self._of
        return Claims(of.store, of.runs, of.announcer, self.hosts, self.outages, of.settings, of.apis, new_id)

    @cached_property
    def fetch_days(self) -> FetchDays:
        return FetchDays(self._of.store, self._of.clock)

    @cached_property
    def host_listing(self) -> HostListing:
        return HostListing(self._of.store, self._of.clock)
