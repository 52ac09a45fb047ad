"""Reads what requests to hosts have cost: lists hosts by filter, in one of several orders, and shows one by day.

The figures are those that clean_up has collected, so they are a few minutes old. A list reads the documents of its days
(host_days.py), whatever it is filtered and sorted by. A cursor is the last host of its page: while the figures change,
a host that moves over it may be listed twice or left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal, get_args
from urllib.parse import quote

from models.errors import InvalidInput, NotFound
from models.host import HostDay, HostState
from models.resources.base import links, path
from models.resources.host import (
    DiscoveryDelay,
    HostFailure,
    HostOfDay,
    HostResource,
    HostWithDays,
    RobotsDecisions,
)
from services.feeds.discovery import histogram_in, quantile
from services.feeds.host_days import merged
from services.feeds.hosts import is_cooling
from services.ports import Clock, Listed, Query, Store, Where, listed_documents, query_all
from services.store.containers import CATALOG

MOST_DAYS = 35
DEFAULT_DAYS = 7
HOST_FILTERS = ("text", "failing")

HostSort = Literal["requests", "host", "bytes", "not_modified", "rate_limited", "failed", "delay"]
"""`not_modified` sorts by the share, `delay` by the 95th percentile. All but `host` begin with the largest."""
HOST_SORTS: tuple[HostSort, ...] = get_args(HostSort)

_KEYS: Mapping[HostSort, Callable[[HostResource], float | None]] = {
    "requests": lambda host: host.requests,
    "bytes": lambda host: host.bytes,
    "not_modified": lambda host: host.not_modified_share,
    "rate_limited": lambda host: host.rate_limited,
    "failed": lambda host: host.failed,
    "delay": lambda host: host.discovery_delay.p95_seconds,
}
_PAGE = 50
_LONGEST_TEXT = 200

ByDay = Mapping[str, Counter[str]]
"""The counters of a host by day."""


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


class HostFigures:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def page(
        self,
        limit: int,
        after: str | None = None,
        days: int = DEFAULT_DAYS,
        by: HostFilter = EVERY_HOST,
        sort: HostSort = HOST_SORTS[0],
        *,
        reverse: bool = False,
    ) -> Listed[HostResource]:
        """One page of the hosts that had requests or pages in these days, or fail now."""
        hosts, failing = await self._counted(days), await self._failing()
        first, last = self._span(days)
        found = [
            HostResource(**_counts(total(hosts.get(name, {}))), **_named(name, first, last), failing=failing.get(name))
            for name in {*hosts, *failing}
            if (by.text is None or by.text in name) and by.failing in (None, name in failing)
        ]
        ordered = _in_order(found, sort, reverse=reverse)
        begin = 0
        if after is not None:
            begin = next((number for number, each in enumerate(ordered, 1) if each.host == after), -1)
            if begin < 0:
                raise InvalidInput("cursor", "the next of the page before; its host is not in the list any more")
        page = ordered[begin : begin + limit]
        return Listed(page, page[-1].host if len(ordered) > begin + limit else None)

    async def get(self, host: str, days: int = DEFAULT_DAYS) -> HostWithDays:
        """Raises NotFound for a host without requests in these days that does not fail either."""
        name = host.strip().lower()
        counted, failing = (await self._counted(days)).get(name), (await self._failing()).get(name)
        if counted is None and failing is None:
            raise NotFound(f"host: no request was sent to {host!r} in the last {days} days")
        by_day = [HostOfDay(day=_dashed(day), **_counts(each)) for day, each in sorted((counted or {}).items())]
        first, last = self._span(days)
        return HostWithDays(
            **_counts(total(counted or {})), **_named(name, first, last), failing=failing, by_day=tuple(by_day[::-1])
        )

    async def today(self) -> dict[str, Counter[str]]:
        """The counters of the present UTC day, by host."""
        return {host: total(by_day) for host, by_day in (await self._counted(1)).items()}

    async def _counted(self, days: int) -> dict[str, dict[str, Counter[str]]]:
        first, _ = self._span(days)
        where = (Where("id", "ge", first.replace("-", "")),)
        query = Query(where, partition=HostDay.PARTITION, limit=_PAGE, may_be_stale=True)
        documents = await query_all(self._store, CATALOG.name, query)
        return by_host(listed_documents(documents, HostDay.from_document, "id").items)

    async def _failing(self) -> dict[str, HostFailure]:
        where = (Where("entity_type", "eq", "HostState"),)
        query = Query(where, partition=HostState.PARTITION, limit=1000, may_be_stale=True)
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

    def _span(self, days: int) -> tuple[str, str]:
        last = self._clock().date()
        return (last - timedelta(days=days - 1)).isoformat(), last.isoformat()


def by_host(days: Iterable[HostDay]) -> dict[str, dict[str, Counter[str]]]:
    """By host and day, the counters of all sources together."""
    found: dict[str, dict[str, Counter[str]]] = {}
    for day, sources in merged(days).items():
        for hosts in sources:
            for host, counters in hosts.items():
                found.setdefault(host, {}).setdefault(day, Counter()).update(counters)
    return found


def total(by_day: ByDay) -> Counter[str]:
    return sum(by_day.values(), Counter())


def name_of(host_key: str) -> str:
    """A host with its port as the lists name it: without the usual ports."""
    name, _, port = host_key.rpartition(":")
    return name if port in ("80", "443") else host_key


def _named(host: str, first: str, last: str) -> dict[str, Any]:
    paths = links(self=path("hosts", host), feeds=f"{path('feeds')}?host={quote(host, safe='')}")
    return {"host": host, "first_day": first, "last_day": last, "links": paths}


def _counts(counters: Mapping[str, int]) -> dict[str, Any]:
    """The figures of a host or of one of its days."""
    plain = {name: counters.get(name, 0) for name in ("requests", "bytes", "not_modified", "rate_limited", "failed")}
    requests, histogram = plain["requests"], histogram_in(counters)
    return {
        **plain,
        "not_modified_share": round(plain["not_modified"] / requests, 4) if requests else None,
        "robots": RobotsDecisions(**{name: counters.get(f"robots_{name}", 0) for name in RobotsDecisions.model_fields}),
        "discovery_delay": DiscoveryDelay(
            articles=sum(histogram.values()),
            p50_seconds=quantile(histogram, 0.5),
            p95_seconds=quantile(histogram, 0.95),
        ),
    }


def _in_order(hosts: Iterable[HostResource], sort: HostSort, *, reverse: bool) -> list[HostResource]:
    """Hosts with equal values by name; those without a value come last."""
    if sort == "host":
        return sorted(hosts, key=lambda each: each.host, reverse=reverse)
    key, sign = _KEYS[sort], 1 if reverse else -1

    def position(host: HostResource) -> tuple[bool, float, str]:
        value = key(host)
        return value is None, sign * (value or 0.0), host.host

    return sorted(hosts, key=position)


def _dashed(day: str) -> str:
    return date.fromisoformat(f"{day[:4]}-{day[4:6]}-{day[6:]}").isoformat()
