"""The condition of all feeds together: how many have which verdict, and whether that is well.

A feed that a person disabled does not count, one that the app disabled does: it is ill until it answers again or a
person decides. Counts need as many reads for many feeds as for few.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from models.feed import VERDICTS, FeedVerdict, Outage
from models.values import format_time, parse_time
from services.operations.checks import Check, Status
from services.ports import Query, Store, Where
from services.store.containers import FEEDS

DEGRADED_SHARE = 0.25
"""The share of the feeds that count, from which on ill feeds degrade the app."""
NO_SUCCESS_FOR = timedelta(days=1)
"""If no feed can be fetched for so long, the app is unhealthy. An enabled feed without a success for so long is
overdue: after so many failures it would be disabled."""

UNREACHED: tuple[FeedVerdict, ...] = ("gone", "blocked", "failing")
"""The verdicts on feeds that bring nothing because they cannot be fetched. So do those that the app disabled."""
ILL: tuple[FeedVerdict, ...] = (*UNREACHED, "empty", "stale", "silent")

_OTHERS: tuple[FeedVerdict, ...] = tuple(each for each in VERDICTS if each != "ok")
_NOT_OK = Where("verdict", "in", _OTHERS)
FEW = 20
_ENABLED = Where("enabled", "eq", True)
_DISABLED = Where("enabled", "eq", False)
_BY_PERSON = Where("disabled_by", "eq", "person")
_DEADLY = (Where("disabled_by", "eq", "app"), Where("disabled_cause", "eq", "worker_died"))


@dataclass(frozen=True, slots=True)
class FeedCounts:
    """All feeds: `stored`; those that are `enabled`; those disabled `by_people`; and all of them by verdict. Of the
    enabled ones, `overdue` had no success for a day. `deadly` are the ids of the first that are disabled since workers
    died."""

    stored: int = 0
    enabled: int = 0
    by_people: int = 0
    overdue: int = 0
    by_verdict: Mapping[FeedVerdict, int] = field(default_factory=dict)
    deadly: Sequence[str] = ()

    @property
    def counting(self) -> int:
        return self.stored - self.by_people

    @property
    def unreached(self) -> int:
        return sum(self.by_verdict.get(each, 0) for each in UNREACHED) + self.disabled_by_app

    @property
    def disabled_by_app(self) -> int:
        return max(0, self.by_verdict.get("disabled", 0) - self.by_people)

    @property
    def ill(self) -> int:
        return sum(self.by_verdict.get(each, 0) for each in ILL) + self.disabled_by_app


async def count_feeds(store: Store, overdue_since: datetime | None) -> FeedCounts:
    """Without `overdue_since` none is overdue.

    Feeds that are ok are those without another verdict, since counting nearly all feeds costs most. Every feed that is
    disabled has another one. A few such feeds are read, which costs less than to count them by verdict.
    """

    async def count(*where: Where) -> int:
        return await store.count(FEEDS.name, where, may_be_stale=True)

    late = 0
    if overdue_since is not None:
        late = await count(_ENABLED, Where("last_successful_fetch", "lt", format_time(overdue_since)))
    enabled, others = await asyncio.gather(count(_ENABLED), count(_NOT_OK))
    if others <= FEW:
        read = (await store.query(FEEDS.name, Query((_NOT_OK,), may_be_stale=True))).items if others else []
        killers = [each for each in read if all(where.is_met_by(each) for where in _DEADLY)]
        verdicts = Counter[FeedVerdict](each["verdict"] for each in read)
        disabled = sum(each.get("enabled") is False for each in read)
        by_people = sum(each.get("disabled_by") == "person" for each in read)
    else:
        disabled, by_people, *numbers = await asyncio.gather(
            count(_DISABLED), count(_BY_PERSON), *(count(Where("verdict", "eq", each)) for each in _OTHERS)
        )
        verdicts = Counter(dict(zip(_OTHERS, numbers, strict=True)))
        killers = (await store.query(FEEDS.name, Query(_DEADLY, limit=FEW, may_be_stale=True))).items
    stored = enabled + disabled
    by_verdict = {each: verdicts[each] for each in _OTHERS} | {"ok": max(0, stored - verdicts.total())}
    deadly = sorted(each["feed_id"] for each in killers)
    return FeedCounts(stored, enabled, by_people, late, by_verdict, deadly)


def judge_feeds(
    feeds: FeedCounts,
    last_success: datetime | None,
    sources_off: Sequence[str],
    now: datetime,
    *,
    is_cut_off: bool = False,
    waiting: int = 0,
) -> Check:
    """Unhealthy if no feed can be fetched, and none could for a day. Degraded from DEGRADED_SHARE of ill feeds on; if
    there are feeds, and none is enabled; if feeds are disabled since workers died; if feeds are `waiting` for runs that
    are overdue; or if feeds are overdue, unless this installation `is_cut_off` from the web."""
    details = []
    is_dead = bool(feeds.counting) and feeds.unreached >= feeds.counting
    is_unhealthy = is_dead and last_success is not None and now - last_success > NO_SUCCESS_FOR
    if is_unhealthy and last_success is not None:
        details.append(f"no feed could be fetched since {format_time(last_success)}")
    elif feeds.stored and not feeds.enabled:
        details.append(f"none of {feeds.stored} feeds is enabled: see verdict_reason in GET feeds")
    if feeds.ill and feeds.ill >= DEGRADED_SHARE * feeds.counting:
        details.append(f"{feeds.ill} of {feeds.counting} feeds are ill ({_listed(feeds)}): see GET feeds?verdict=")
    if feeds.overdue and not is_cut_off:
        details.append(
            f"{feeds.overdue} enabled feeds had no success for a day: see last_successful_fetch in GET feeds"
        )
    if waiting:
        details.append(f"{waiting} feeds wait for runs that are overdue: see GET runs?status=QUEUED,RUNNING")
    if feeds.deadly:
        details.append(f"disabled, since workers died: {', '.join(feeds.deadly)}; see disabled_reason in GET feeds")
    is_well = not details
    if is_well:
        details.append("feeds that are fetched when due" if feeds.stored else "no feeds yet: add one with POST feeds")
        if feeds.ill:
            details.append(f"{feeds.ill} of {feeds.counting} are ill ({_listed(feeds)}): see GET feeds?verdict=")
    if sources_off:
        details.insert(1, f"off, as they have no token: {', '.join(sources_off)}")
    facts = {
        "count": feeds.enabled,
        "ill": feeds.ill,
        "counting": feeds.counting,
        "overdue": feeds.overdue + waiting,
        "verdicts": {name: number for name, number in feeds.by_verdict.items() if number},
        "disabled_by_app": feeds.disabled_by_app,
        "sources_off": list(sources_off),
    }
    status: Status = "unhealthy" if is_unhealthy else "healthy" if is_well else "degraded"
    return Check(status, "; ".join(details), facts)


def judge_web(outage: Outage | None, now: datetime) -> Check:
    """Degraded while this installation cannot reach the web, unhealthy after a day of it."""
    if outage is None:
        return Check("healthy", "the web can be reached", {"unreachable_since": None})
    since = format_time(outage.since)
    if outage.until is not None:
        detail = f"the web could not be reached from {since} to {format_time(outage.until)}"
        return Check("healthy", detail, {"unreachable_since": None})
    tried = outage.failing + outage.answering
    reasons = ", ".join(f"{number} {reason}" for reason, number in sorted(outage.reasons.items()))
    detail = (
        f"this installation cannot reach the web since {since}: {outage.failing} of {tried} hosts failed ({reasons});"
        " check its network and DNS. No feed is blamed, and all are polled once it can"
    )
    facts = {"unreachable_since": since, "failing_hosts": outage.failing, "answering_hosts": outage.answering}
    return Check("unhealthy" if now - outage.since > NO_SUCCESS_FOR else "degraded", detail, facts)


def _listed(feeds: FeedCounts) -> str:
    numbers = [(feeds.by_verdict.get(each, 0), each) for each in ILL]
    numbers.append((feeds.disabled_by_app, "disabled"))
    return ", ".join(f"{number} {name}" for number, name in numbers if number)


async def last_success(store: Store, *where: Where) -> datetime | None:
    """The latest successful fetch of all feeds."""
    query = Query(where, order="by_last_success", reverse=True, limit=1, may_be_stale=True)
    latest = (await store.query(FEEDS.name, query)).items
    return parse_time(latest[0]["last_successful_fetch"]) if latest else None
