"""One action on many feeds, chosen by filter: enable, disable, tag, untag, fetch.

A request does at most MAX_IDS feeds and answers with the cursor of those that are left. Each feed has a result of
its own. Doing the same again changes nothing: feeds that are so already are left as they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Literal

from models.errors import Conflict, InvalidInput, NotFound
from models.feed import Feed
from models.resources.feeds import MAX_IDS, BulkActionBody, BulkResult
from services.feeds.claims import Claims
from services.feeds.form import changed_feed, feed_change
from services.feeds.registry import FeedRegistry, feed_filter
from services.ports import Clock, Listed

_AT_ONCE = 16

Outcome = Literal["changed", "unchanged", "refused"]


def _result(feed_id: str, outcome: Outcome, reason: str | None = None, run_id: str | None = None) -> BulkResult:
    return BulkResult(feed_id=feed_id, outcome=outcome, reason=reason, run_id=run_id)


class BulkActions:
    """Carries out bulk actions."""

    def __init__(self, registry: FeedRegistry, claims: Claims, clock: Clock) -> None:
        self._registry = registry
        self._claims = claims
        self._clock = clock

    async def run(self, wanted: BulkActionBody) -> Listed[BulkResult]:
        """Does the action on the first `limit` feeds after the cursor; with `ids`, on all of them. Raises InvalidInput
        that names the field and what is allowed."""
        by = feed_filter(wanted.filter.given())
        page = await self._registry.matching(by, wanted.limit or MAX_IDS, wanted.cursor)
        if wanted.action == "fetch":
            results = await self._fetch(page.items, self._clock(), dry_run=wanted.dry_run)
        else:
            gate = asyncio.Semaphore(_AT_ONCE)
            results = list(await asyncio.gather(*(self._change(wanted, feed, gate) for feed in page.items)))
        results += [_result(each, "refused", "its document cannot be read") for each in page.unreadable]
        named = {each.feed_id for each in results}
        missing = "there is none with this id that meets the filter"
        results += [_result(each, "refused", missing) for each in by.ids or () if each not in named]
        return Listed(results, page.next)

    async def _change(self, wanted: BulkActionBody, feed: Feed, gate: asyncio.Semaphore) -> BulkResult:
        try:
            if wanted.dry_run:
                now = max(self._clock(), feed.updated_at)
                is_same = changed_feed(feed, _change_of(wanted, feed), now) is feed
            else:
                async with gate:
                    before, after = await self._registry.change_by(feed.feed_id, partial(_change_of, wanted))
                is_same = before is after
        except (NotFound, Conflict, InvalidInput) as refused:
            return _result(feed.feed_id, "refused", str(refused))
        return _result(feed.feed_id, "unchanged" if is_same else "changed")

    async def _fetch(self, feeds: Sequence[Feed], now: datetime, *, dry_run: bool) -> list[BulkResult]:
        enabled = [feed.feed_id for feed in feeds if feed.enabled]
        claimed = await self._claims.claim_some(enabled, now, dry_run=dry_run)
        runs = {feed_id: run.run_id for run in claimed.runs for feed_id in run.claimed}
        results = []
        for feed in feeds:
            name = feed.feed_id
            if not feed.enabled:
                results.append(_result(name, "refused", f"it is disabled ({feed.disabled_reason}); enable it first"))
            elif name in runs:
                results.append(_result(name, "changed", run_id=None if dry_run else runs[name]))
            elif name in claimed.under_way:
                results.append(_result(name, "unchanged", "a run is about to fetch it", claimed.under_way[name]))
            else:
                results.append(_result(name, "refused", "it has no token"))
        return results


def _change_of(wanted: BulkActionBody, feed: Feed) -> Mapping[str, Any]:
    """What the action changes in a feed, by posted names. Raises InvalidInput if the feed had too many tags."""
    if wanted.action in ("tag", "untag"):
        tags = {*feed.tags, *wanted.tags} if wanted.action == "tag" else {*feed.tags} - {*wanted.tags}
        return feed_change({"tags": sorted(tags)})
    return feed_change({"enabled": wanted.action == "enable"})
