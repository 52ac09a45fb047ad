"""The stage of grouping: articles are due while they have `grouping_due_since`, which an analysis writes.

Articles gather: a message of `group-headlines` is sent when enough of them are due, when one has been due for long, or
when a person has corrected some. Whoever works on a message groups all that are due, as long as its lease holds: one
worker groups at a time, since what it decides depends on what others have decided.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from models.article import Article
from models.values import format_time
from services.ports import Clock, Document, Query, Store, Where
from services.store.containers import ARTICLES
from services.topology import GROUP_HEADLINES
from services.work.announcing import Announcer
from services.work.stage import Stage, Tries, message_of

TriggerReason = Literal["threshold_reached", "interval_elapsed", "corrected"]
GROUP = "processing.group_headlines"
MAX_NAMED = 100
"""The most articles in one message."""
DELAY_SECONDS = 1.0
"""How long a message waits. Until then, this process sends no other one."""


def _form(
    source_ids: Sequence[str], reason: TriggerReason = "interval_elapsed", count: int | None = None
) -> dict[str, Any]:
    """The message that names some articles that are due, and counts all; without a reason, they have been due for the
    interval."""
    count = len(source_ids) if count is None else count
    return {"event": GROUP, "article_ids": list(source_ids), "trigger_reason": reason, "ungrouped_count": count}


def grouping_stage(interval: timedelta) -> Stage:
    """`interval`: fewer articles than the threshold are grouped when the first has been due for so long."""
    return Stage(
        name="grouping",
        queue=GROUP_HEADLINES,
        container=ARTICLES.name,
        order="by_grouping_due",
        due="grouping_due_since",
        key="source_id",
        form=_form,
        named="article_ids",
        most=MAX_NAMED,
        overdue_after=interval,
        delay_seconds=DELAY_SECONDS,
        workflow="group_headlines",
        tries=Tries(lambda name: (name, Article.ID), count="grouping_tries", error="grouping_error"),
    )


@dataclass
class GroupingAnnouncer:
    """Sends the messages of `group-headlines`. `threshold`: so many due articles are grouped at once."""

    store: Store
    announcer: Announcer
    stage: Stage
    threshold: int
    clock: Clock
    seconds: Callable[[], float] = time.monotonic
    _quiet_until: float = field(default=0.0, init=False)

    async def announce_if_many(self, analyzed: Sequence[str]) -> bool:
        """To be called after these articles were analysed; the message names them. Returns whether one was sent."""
        if self.seconds() < self._quiet_until:
            return False
        return await self._announce("threshold_reached", analyzed[:MAX_NAMED], self.threshold)

    async def announce_corrected(self) -> bool:
        """To be called after a person corrected or deleted articles: nobody waits for the interval then. Whether a
        message was sent."""
        return await self._announce("corrected", [each["source_id"] for each in await self.due(MAX_NAMED)], 1)

    async def again(self, delay_seconds: float) -> None:
        """Sends a message that names no article: all that is due by then is grouped."""
        await self.announcer.send(self.stage, [message_of(_form(()))], delay_seconds=delay_seconds)

    async def due(self, limit: int) -> list[Document]:
        """The articles that are due, the first first."""
        query = Query((self._now_due(),), order=self.stage.order, limit=limit)
        return (await self.store.query(ARTICLES.name, query)).items

    async def _announce(self, reason: TriggerReason, named: Sequence[str], fewest: int) -> bool:
        count = await self.store.count(ARTICLES.name, (self._now_due(),))
        if count < fewest:
            return False
        await self.announcer.send(self.stage, [message_of(_form(named, reason, count))], delay_seconds=DELAY_SECONDS)
        self._quiet_until = self.seconds() + DELAY_SECONDS
        return True

    def _now_due(self) -> Where:
        return Where(self.stage.due, "le", format_time(self.clock()))
