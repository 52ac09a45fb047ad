"""The references of a tool, latest first: those of its mentions, and those that are kept of old days.

The daily close keeps the references of a day once, so that they outlive mentions and articles. Both are read in one
order and joined. At one place the mention decides, also a removed one. What is kept of a tool that was merged into this
one belongs to this one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from models.article import Article
from models.mention import SentimentScore
from models.resources.tools import ReferenceResource
from models.tool import Reference, ReferenceDay, ReferenceRole, Tool
from models.values import format_time
from services.ports import Document, Query, Store, Where, listed_documents, pages
from services.store.containers import ARTICLES, CATALOG, MENTIONS
from services.store.plans import decode_cursor, encode_cursor, plan
from services.tools.catalog import Catalog

KEPT_AFTER = timedelta(days=30)
"""The references of days that began so long ago are kept. Days are frozen two days later, and mentions live for 45."""
MAX_KEPT = 2000
"""Of a day: a stored document has two megabytes at most."""
MAX_LOOKED_AT = 5000
"""Mentions and references that one page looks at to find those of a role. It then ends early, with a cursor."""
_DAYS_AT_ONCE = 10
_FIRST, _LAST = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"


class Place(NamedTuple):
    """Where a reference is in the list."""

    published_at: str
    source_id: str


class Found(NamedTuple):
    """A reference that was found. A reference at its place, or None if its mention was removed."""

    place: Place
    reference: Reference | None


@dataclass(frozen=True, slots=True)
class Asked:
    """Which references are asked for: those with the role, published from `since` up to, but without, `until`."""

    role: ReferenceRole | None = None
    since: str = _FIRST
    until: str = _LAST

    @classmethod
    def of(cls, role: ReferenceRole | None, since: datetime | None, until: datetime | None) -> Asked:
        return cls(role, format_time(since) if since else _FIRST, format_time(until) if until else _LAST)


@dataclass(slots=True)
class ReferencePage:
    """One page of references. `not_kept` is by day, for the days of which something was read and not everything is
    kept: how many references are missing, at most. `unreadable` names mentions and days that cannot be read."""

    items: list[dict[str, Any]] = field(default_factory=list)
    next: str | None = None
    not_kept: dict[str, int] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ToolReferences:
    """Lists the references of tools."""

    store: Store
    catalog: Catalog

    async def page(self, tool: Tool, asked: Asked, limit: int, cursor: str | None) -> ReferencePage:
        page = ReferencePage()
        name = f"references:{tool.tool_id}:{asked.role}:{asked.since}:{asked.until}"
        behind = None if cursor is None else Place(*map(str, decode_cursor(name, cursor, (False, False))))
        streams = [self._of_mentions(tool.tool_id, asked, behind, limit, page)]
        streams += [self._kept(each, asked, behind, page) for each in await self._with_merged(tool.tool_id)]
        found: list[Reference] = []
        looked_at: list[Place] = []
        async for place, reference in _latest_first(streams):
            is_asked = reference is not None and asked.role in (None, reference.role_for(tool))
            if len(looked_at) == MAX_LOOKED_AT or (is_asked and len(found) == limit):
                page.next = encode_cursor(name, list(looked_at[-1]))
                break
            if reference is not None and is_asked:
                found.append(reference)
            looked_at.append(place)
        page.items = await self._shown(tool, found)
        return page

    async def _with_merged(self, tool_id: str) -> list[str]:
        """The tool, and those that were merged into it, also by way of others."""
        tools = [tool_id]
        for each in tools:
            tools += [merge.merged_tool_id for merge in await self.catalog.merges_into(each)]
        return tools

    async def _of_mentions(
        self, tool_id: str, asked: Asked, behind: Place | None, limit: int, page: ReferencePage
    ) -> AsyncIterator[Found]:
        where = (Where("published_at", "ge", asked.since), Where("published_at", "lt", asked.until))
        query = Query(where, tool_id, order="by_published", reverse=True, limit=limit + 1)
        if behind is not None:
            after = encode_cursor(plan(MENTIONS, query).fingerprint, [behind.published_at, tool_id, behind.source_id])
            query = replace(query, after=after)
        async for stored in pages(self.store, MENTIONS.name, query):
            mentions = listed_documents(stored.items, SentimentScore.from_document, "source_id")
            page.unreadable += mentions.unreadable
            for each in mentions.items:
                place = Place(format_time(each.published_at), each.source_id)
                yield Found(place, each.reference if each.counts else None)

    async def _kept(
        self, tool_id: str, asked: Asked, behind: Place | None, page: ReferencePage
    ) -> AsyncIterator[Found]:
        until = asked.until if behind is None else min(asked.until, behind.published_at)
        where = (
            Where("id", "ge", ReferenceDay.id_of(asked.since[:10])),
            Where("id", "le", ReferenceDay.id_of(until[:10])),
        )
        query = Query(where, partition=tool_id, reverse=True, limit=_DAYS_AT_ONCE)
        async for stored in pages(self.store, CATALOG.name, query):
            days = listed_documents(stored.items, ReferenceDay.from_document, "id")
            page.unreadable += days.unreadable
            for day in days.items:
                for each in day.references:
                    place = Place(format_time(each.published_at), each.source_id)
                    if asked.since <= place.published_at < asked.until and (behind is None or place < behind):
                        yield Found(place, each)
                if day.not_kept:
                    page.not_kept[day.day] = page.not_kept.get(day.day, 0) + day.not_kept

    async def _shown(self, tool: Tool, references: Sequence[Reference]) -> list[dict[str, Any]]:
        found = await self.store.read_many(ARTICLES.name, [(each.source_id, Article.ID) for each in references])
        served = {each["source_id"] for each in found if each is not None and each.get("deleted_at") is None}
        return [
            ReferenceResource.of(each, tool, article_exists=each.source_id in served).shown() for each in references
        ]


async def _latest_first(streams: Sequence[AsyncIterator[Found]]) -> AsyncIterator[Found]:
    """The streams as one. Of several at one place, the first stream's."""
    heads = [await anext(stream, None) for stream in streams]
    while waiting := [head for head in heads if head is not None]:
        latest = max(waiting, key=lambda head: head.place)
        yield latest
        for number, head in enumerate(heads):
            if head is not None and head.place == latest.place:
                heads[number] = await anext(streams[number], None)


async def keep_references(store: Store, tool_id: str, day: date, mentions: Sequence[Document], now: datetime) -> None:
    """Keeps the references of a day that is old enough; `mentions` are those of the tool on that day. Those that cannot
    be read are logged and left out."""
    if day >= (now - KEPT_AFTER).date():
        return
    read = listed_documents(mentions, SentimentScore.from_document, "source_id").items
    latest_first = sorted(read, key=lambda each: (each.published_at, each.source_id), reverse=True)
    kept = ReferenceDay(
        created_at=now,
        tool_id=tool_id,
        day=day.isoformat(),
        references=tuple(each.reference for each in latest_first[:MAX_KEPT]),
        not_kept=len(latest_first[MAX_KEPT:]),
    )
    await store.upsert(CATALOG.name, kept.to_document())
