"""The hosts that feeds are fetched from, as `GET hosts` lists them: grouped from the documents of their feeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import quote

from models.errors import InvalidInput, NotFound
from models.host import HostState
from models.resources.base import links, path
from models.resources.feeds import HostFailure, HostResource
from models.values import parse_time
from services.feeds.hosts import is_cooling
from services.ports import Clock, Document, Listed, Query, Store, Where, listed_documents, query_all
from services.store.containers import CATALOG, FEEDS

HOST_FILTERS = ("text", "failing")
HostSort = Literal["feeds", "host"]
"""`feeds`: the hosts with the most feeds first."""
HOST_SORTS: tuple[HostSort, ...] = get_args(HostSort)
_PAGE = 1000
_LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True)
class HostFilter:
    """Hosts whose name has this text, and that fail, or do not fail, at present. None means any."""

    text: str | None = None
    failing: bool | None = None


EVERY_HOST = HostFilter()


def host_filter(text: str | None, failing: bool | None) -> HostFilter:
    if text is not None and not 1 <= len(text.strip()) <= _LONGEST_TEXT:
        raise InvalidInput("text", f"a part of the name of a host, 1 to {_LONGEST_TEXT} characters")
    return HostFilter(text.strip().lower() if text is not None else None, failing)


class HostListing:
    """Lists and shows the hosts of feeds, and those that fail at present."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def page(
        self,
        limit: int,
        after: str | None = None,
        by: HostFilter = EVERY_HOST,
        sort: HostSort = HOST_SORTS[0],
        *,
        reverse: bool = False,
    ) -> Listed[HostResource]:
        """One page of hosts. A cursor is the last host of its page."""
        hosts = [
            each
            for each in await self._grouped(())
            if (by.text is None or by.text in each.host) and by.failing in (None, each.failing is not None)
        ]
        hosts.sort(key=lambda each: (-each.feeds if sort == "feeds" else 0, each.host), reverse=reverse)
        begin = 0
        if after is not None:
            begin = next((number for number, each in enumerate(hosts, 1) if each.host == after), -1)
            if begin < 0:
                raise InvalidInput("cursor", "the next of the page before; its host is not in the list any more")
        page = hosts[begin : begin + limit]
        return Listed(page, page[-1].host if len(hosts) > begin + limit else None)

    async def get(self, host: str) -> HostResource:
        """Raises NotFound for a host that has no feed and does not fail."""
        name = host.strip().lower()
        found = [each for each in await self._grouped((Where("host", "eq", name),)) if each.host == name]
        if not found:
            raise NotFound(f"host: no feed is fetched from {host!r}")
        return found[0]

    async def _grouped(self, where: tuple[Where, ...]) -> list[HostResource]:
        query = Query(where, order="by_host", limit=_PAGE, may_be_stale=True)
        feeds: dict[str, list[Document]] = {}
        for feed in await query_all(self._store, FEEDS.name, query):
            feeds.setdefault(feed["host"], []).append(feed)
        failing = await self._failing()
        return [host_resource(name, feeds.get(name, ()), failing.get(name)) for name in {**feeds, **failing}]

    async def _failing(self) -> Mapping[str, HostFailure]:
        where = (Where("entity_type", "eq", "HostState"),)
        query = Query(where, partition=HostState.PARTITION, limit=_PAGE, may_be_stale=True)
        documents = await query_all(self._store, CATALOG.name, query)
        states, now = listed_documents(documents, HostState.from_document, "host").items, self._clock()
        return {
            name_of(each.host): HostFailure(
                since=each.created_at,
                failures=each.failures,
                reason=each.reason,
                cools_until=each.open_until if is_cooling(each, now) else None,
            )
            for each in states
        }


def host_resource(host: str, feeds: Iterable[Document], failing: HostFailure | None) -> HostResource:
    """The host, from its stored feeds."""
    found = list(feeds)
    due = [each["next_fetch_time"] for each in found if each["enabled"]]
    succeeded = [each["last_successful_fetch"] for each in found if each.get("last_successful_fetch")]
    return HostResource(
        host=host,
        feeds=len(found),
        enabled_feeds=len(due),
        failing_feeds=sum(bool(each.get("consecutive_errors")) for each in found),
        next_fetch_time=parse_time(min(due)) if due else None,
        last_successful_fetch=parse_time(max(succeeded)) if succeeded else None,
        failing=failing,
        links=links(self=path("hosts", host), feeds=f"{path('feeds')}?host={quote(host, safe='')}"),
    )


def name_of(host_key: str) -> str:
    """A host with its port as feeds name it: without the usual ports."""
    name, _, port = host_key.rpartition(":")
    return name if port in ("80", "443") else host_key
