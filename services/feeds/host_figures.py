"""Reads what requests to hosts have cost: lists hosts by filter, in one of several orders, and shows one by day.

The figures are those that clean_up has collected, so they are a few minutes old. A list reads the documents of its days
(host_days.py), whatever it is filtered and sorted by. A cursor is the last host of its page: while the figures change,
a host that moves over it may be listed twice or left out.
"""

from __future__ import annotations

import asyncio
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
from services.ports import Clock, Document, Listed, Query, Store, Where, listed_documents, query_all
from services.store.containers import CATALOG

MOST_DAYS = 35
DEFAULT_DAYS = 7
HOST_FILTERS = ("text", "failing")

HostSort = Literal["requests", "host", "bytes", "not_modified", "rate_limited", "failed", "delay"]
"""`not_modified` sorts by the share, `delay` by the 95th percentile. All but `host` begin with the largest."""
HOST_SORTS: tuple[HostSort, ...] = get_args(HostSort)

_KEYS: Mapping[HostSort, Callable[[Mapping[str, int]], float | None]] = {
    "requests": lambda counters: counters.get("requests", 0),
    "bytes": lambda counters: counters.get("bytes", 0),
    "not_modified": lambda counters: _share(counters.get("not_modified", 0), counters.get("requests", 0)),
    "rate_limited": lambda counters: counters.get("rate_limited", 0),
    "failed": lambda counters: counters.get("failed", 0),
    "delay": lambda counters: quantile(histogram_in(counters), 0.95),
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
        wanted = {
            name: total(hosts.get(name, {}))
            for name in {*hosts, *failing}
            if (by.text is None or by.text in name) and by.failing in (None, name in failing)
        }
        ordered = in_order(wanted, sort, reverse=reverse)
        begin = 0
        if after is not None:
            begin = next((number for number, name in enumerate(ordered, 1) if name == after), -1)
            if begin < 0:
                raise InvalidInput("cursor", "the next of the page before; its host is not in the list any more")
        first, last = self._span(days)
        page = [
            HostResource(**_counts(wanted[name]), **_named(name, first, last), failing=failing.get(name))
            for name in ordered[begin : begin + limit]
        ]
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
        return await asyncio.to_thread(by_host, documents)

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


def by_host(days: Iterable[Document]) -> dict[str, dict[str, Counter[str]]]:
    """By host and day, the counters of all sources together."""
    found: dict[str, dict[str, Counter[str]]] = {}
    for day, sources in merged(days).items():
        for hosts in sources:
            for host, counters in hosts.items():
                counted = found.setdefault(host, {}).setdefault(day, Counter())
                for name, number in counters.items():
                    counted[name] += number
    return found


def total(by_day: ByDay) -> Counter[str]:
    found: Counter[str] = Counter()
    for counters in by_day.values():
        found.update(counters)
    return found


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
    histogram = histogram_in(counters)
    return {
        **plain,
        "not_modified_share": _share(plain["not_modified"], plain["requests"]),
        "robots": RobotsDecisions(**{name: counters.get(f"robots_{name}", 0) for name in RobotsDecisions.model_fields}),
        "discovery_delay": DiscoveryDelay(
            articles=sum(histogram.values()),
            p50_seconds=quantile(histogram, 0.5),
            p95_seconds=quantile(histogram, 0.95),
        ),
    }


def in_order(hosts: Mapping[str, Mapping[str, int]], sort: HostSort, *, reverse: bool) -> list[str]:
    """The names. Hosts with equal values by name; those without a value come last."""
    if sort == "host":
        return sorted(hosts, reverse=reverse)
    sign = 1 if reverse else -1
    values = {name: _KEYS[sort](counters) for name, counters in hosts.items()}

    def position(name: str) -> tuple[bool, float, str]:
        value = values[name]
        return value is None, sign * (value or 0.0), name

    return sorted(hosts, key=position)


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _dashed(day: str) -> str:
    return date.fromisoformat(f"{day[:4]}-{day[4:6]}-{day[6:]}").isoformat()
