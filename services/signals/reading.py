"""Lists signals, latest first, with the name of the tool and the headline of the story."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from models.resources.base import View
from models.resources.stories import SignalResource
from models.story import Signal, SignalKind, Story, day_of
from services.articles.reading import article_filter
from services.ports import Listed, Query, Store, Where, listed, readable
from services.store.containers import SIGNALS, STORIES
from services.tools.catalog import Catalog

KINDS: tuple[SignalKind, ...] = get_args(SignalKind)
SignalState = Literal["active", "withdrawn", "all"]
STATES: tuple[SignalState, ...] = get_args(SignalState)


def signal_filter(given: Mapping[str, str], kind: SignalKind | None, state: SignalState) -> tuple[Where, ...]:
    """The conditions of `since` and `until`, of the kind and of the state. Raises InvalidInput with the field and the
    allowed values."""
    where = list(article_filter(given).where)
    if kind is not None:
        where.append(Where("kind", "eq", kind))
    if state == "active":
        where.append(Where("withdrawn_at", "missing"))
    elif state == "withdrawn":
        where.append(Where("withdrawn_at", "gt", ""))
    return tuple(where)


@dataclass(frozen=True, slots=True)
class Signals:
    """Lists signals."""

    store: Store
    catalog: Catalog

    async def page(
        self, tool_id: str | None, where: Sequence[Where], limit: int, after: str | None, view: View = "default"
    ) -> Listed[dict[str, Any]]:
        """The signals of the tool, or of all, that meet all conditions."""
        query = Query(tuple(where), tool_id, order="by_time", reverse=True, limit=limit, after=after, may_be_stale=True)
        page = listed(await self.store.query(SIGNALS.name, query), Signal.from_document, "id")
        headlines = await self._headlines(page.items)
        known = await self.catalog.known(sorted({each.tool_id for each in page.items}))
        names = {tool.tool_id: tool.primary_name for tool in known.items}
        found = [
            SignalResource.of(each, names.get(each.tool_id), headlines.get(each.event_id), view) for each in page.items
        ]
        return Listed([each.shown() for each in found], page.next, page.unreadable)

    async def _headlines(self, signals: Sequence[Signal]) -> dict[str, str]:
        """The headlines of those stories that are there. Signals have none, so that no word of a deleted article stays
        in them."""
        events = sorted({each.event_id for each in signals})
        found = await self.store.read_many(STORIES.name, [(day_of(each), each) for each in events], may_be_stale=True)
        stories = [readable(each, Story.from_document) for each in found]
        return {each.event_id: each.headline for each in stories if each is not None}
