"""Adds the new ids of entries to the articles that they are: writes locator aliases, and nothing else.

An alias is as old as its article, and so never outlives it. Doing it again changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from models.article import Article
from models.observation import ObservationDocument
from models.raw_item import RawItem
from services.articles.entry_documents import SourceAttempt, alias
from services.articles.identity import Candidate, Source, candidate_of, entry_of
from services.articles.new_ids import Known, SortedOut, StoredEntry, sorted_out, stored_entry
from services.ports import Document, Query, Store, Where, pages
from services.store.containers import ARTICLES, LOCATORS

_PAGE = 500
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class NewIds:
    store: Store

    async def sorted_out(self, items: Sequence[RawItem], attempt: SourceAttempt) -> SortedOut:
        """Which articles the entries are. What the attempt's own run has stored does not count as known: a second try
        then decides as the first one did."""
        candidates = await asyncio.to_thread(_candidates, items, attempt.source, attempt)
        stored = await self._stored(attempt)
        found = await asyncio.to_thread(sorted_out, candidates, stored)
        return await self._without_expired(found)

    async def add(self, known: Sequence[Known], attempt: SourceAttempt) -> None:
        """Adds each entry's id to its article."""
        for start in range(0, len(known), _AT_ONCE):
            some = known[start : start + _AT_ONCE]
            articles = await self._articles([each.source_id for each in some])
            aliases: list[Document] = [
                {**alias(each.candidate, each.source_id, attempt), "created_at": article["created_at"]}
                for each in some
                if (article := articles.get(each.source_id)) is not None
            ]
            await self.store.create_many(LOCATORS.name, aliases)

    async def _stored(self, attempt: SourceAttempt) -> list[StoredEntry]:
        where = (Where("entity_type", "eq", "Observation"), Where("source", "eq", attempt.source.key))
        found: list[StoredEntry] = []
        async for page in pages(self.store, ARTICLES.name, Query(where, limit=_PAGE)):
            observations = cast("list[ObservationDocument]", page.items)
            found += [
                stored_entry(each, attempt.source)
                for each in observations
                if not each.get("added_by_attempt", "").startswith(f"{attempt.run_id}:")
            ]
        return found

    async def _without_expired(self, found: SortedOut) -> SortedOut:
        """An entry whose article has expired meanwhile is a new one."""
        articles = await self._articles(list({each.source_id for each in found.known}))
        known = tuple(each for each in found.known if each.source_id in articles)
        gone = tuple(each.candidate for each in found.known if each.source_id not in articles)
        return SortedOut(known, (*found.new, *gone), found.ambiguous)

    async def _articles(self, source_ids: Sequence[str]) -> dict[str, Document]:
        found = await self.store.read_many(ARTICLES.name, [(each, Article.ID) for each in source_ids])
        return {name: article for name, article in zip(source_ids, found, strict=True) if article is not None}


def _candidates(items: Sequence[RawItem], source: Source, attempt: SourceAttempt) -> list[Candidate]:
    """Without their texts. Entries that are not valid are left out."""
    found = {}
    for item in items:
        try:
            candidate = candidate_of(entry_of(source, item), source, attempt.at)
        except ValueError:
            continue
        found[candidate.locator_id] = candidate._replace(text="")
    return list(found.values())
