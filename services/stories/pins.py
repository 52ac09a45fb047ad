"""Pins: what people said of stories and articles, as the grouping obeys it. Their documents, and what
follows from them for an article.

A correction of two stories is about each pair of their articles. So it means the same whichever article begins a story
later, and holds while one article of each side is stored. An article names the corrections that it is in
(`grouping_corrections`): whoever groups it reads these, and nothing is searched.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from models.article import Article
from models.correction import (
    MAX_ARTICLES,
    GroupingCorrection,
    GroupingCorrectionKind,
    partition_of_correction,
)
from models.errors import Conflict, InvalidInput, NotFound
from models.story import StoryMember, day_of
from models.values import format_time
from services.ports import Clock, Document, Listed, Query, Store, Where, listed, listed_documents, query_all
from services.store.change import Decided, change, change_many
from services.store.containers import ARTICLES, STORIES

STATES = ("active", "undone")

_ALL = (Where("entity_type", "eq", "GroupingCorrection"),)
_SAYS: Mapping[GroupingCorrectionKind, str] = {
    "ONE_STORY": "together_with",
    "NOT_ONE_STORY": "apart_from",
    "SPLIT_STORY": "apart_from",
    "SPLIT_ARTICLE": "different_from",
}


@dataclass(frozen=True, slots=True)
class Constraints:
    """What people said of an article: other articles, each with the id of the correction. Both articles of a pair must
    name each other."""

    apart_from: Mapping[str, str] = field(default_factory=dict)
    together_with: Mapping[str, str] = field(default_factory=dict)
    different_from: Mapping[str, str] = field(default_factory=dict)

    @property
    def partners(self) -> frozenset[str]:
        """All articles that they name."""
        return frozenset().union(self.apart_from, self.together_with, self.different_from)


WITHOUT = Constraints()


@dataclass(frozen=True, slots=True)
class GroupingCorrections:
    """Reads and writes corrections, and names them in their articles."""

    store: Store
    clock: Clock

    async def get(self, correction_id: str) -> GroupingCorrection:
        """Raises NotFound."""
        try:
            partition = partition_of_correction(correction_id)
        except ValueError:
            partition = ""
        document = await self.store.read(STORIES.name, partition, correction_id) if partition else None
        if document is None:
            raise NotFound(f"correction: there is none with the id {correction_id[:200]!r}")
        return GroupingCorrection.from_document(document)

    async def page(self, state: str | None, limit: int, after: str | None) -> Listed[GroupingCorrection]:
        """One page of all corrections, those of the latest days first; with `state`, it may be shorter than `limit`."""
        page = await self.store.query(STORIES.name, Query(_ALL, reverse=True, limit=limit, after=after))
        found = listed(page, GroupingCorrection.from_document, "correction_id")
        items = [each for each in found.items if state in (None, "active" if each.is_active else "undone")]
        return Listed(items, found.next, found.unreadable)

    async def of_article(self, article: Article) -> list[GroupingCorrection]:
        """The corrections that name the article, in the order in which they were made."""
        found = await _corrections(self.store, article.grouping_corrections or ())
        return sorted(found, key=lambda each: (each.made_at, each.correction_id))

    async def make(self, correction: GroupingCorrection) -> GroupingCorrection:
        """The stored correction. Making it again changes nothing."""
        with contextlib.suppress(Conflict):
            await self.store.create(STORIES.name, correction.to_document())
        return await self.get(correction.correction_id)

    async def undo(self, correction_id: str, author: str, reason: str | None) -> GroupingCorrection:
        """The correction without effect. Undoing it again changes nothing. Raises NotFound."""
        partition, now = (await self.get(correction_id)).partition, self.clock()

        def decide(document: Document | None) -> Decided:
            before = None if document is None else GroupingCorrection.from_document(document)
            if before is None or not before.is_active:
                return None
            return before.changed(now, undone_at=now, undone_by=author, undone_reason=reason).to_document()

        await change(self.store, STORIES.name, partition, correction_id, decide)
        return await self.get(correction_id)

    async def name_in_articles(self, correction: GroupingCorrection) -> int:
        """Lets its articles name the correction, and makes their grouping due. Returns how many of them there are: an
        article that is deleted or has expired is left out."""
        time = format_time(self.clock())

        def decide(_: tuple[str, str], article: Document | None) -> Decided:
            if article is None or article.get("deleted_at"):
                return None
            names = dict.fromkeys((*article.get("grouping_corrections", ()), correction.correction_id))
            updated = max(article["updated_at"], time)
            return {**article, "grouping_corrections": list(names), "grouping_due_since": time, "updated_at": updated}

        keys = [(each, Article.ID) for each in sorted({*correction.articles, *correction.others})]
        found = await change_many(self.store, ARTICLES.name, keys, decide)
        return sum(each is not None and not each.get("deleted_at") for each in found)

    async def members(self, event_id: str, field: str) -> list[str]:
        """The articles of a story. Raises NotFound, and InvalidInput for what is no id of a story, or a story of more
        articles than a correction can name."""
        try:
            day_of(event_id)
        except ValueError as error:
            raise InvalidInput(field, str(error)) from None
        members = [StoryMember.from_document(each).source_id for each in await members_of(self.store, event_id)]
        if not members:
            raise NotFound(f"{field}: there is no story with the id {event_id}")
        if len(members) > MAX_ARTICLES:
            raise InvalidInput(field, f"a story of at most {MAX_ARTICLES} articles, not of {len(members)}")
        return members


async def members_of(store: Store, event_id: str) -> list[Document]:
    """The stored members of a story."""
    where = (Where("event_id", "eq", event_id), Where("entity_type", "eq", "StoryMember"))
    return await query_all(store, STORIES.name, Query(where, order="by_story"))


def constraints_of(source_id: str, corrections: Iterable[GroupingCorrection]) -> Constraints:
    """The constraints of one article. Of two corrections that contradict each other, the later one counts."""
    found: dict[str, dict[str, str]] = {"apart_from": {}, "together_with": {}, "different_from": {}}
    for each in sorted(corrections, key=lambda each: (each.made_at, each.correction_id)):
        if not each.is_active:
            continue
        said = dict.fromkeys(each.across_from(source_id), _SAYS[each.kind])
        if each.kind == "SPLIT_STORY" and source_id in each.articles:
            said |= {other: "together_with" for other in each.articles if other != source_id}
        for other, name in said.items():
            if name != "different_from":
                found["apart_from"].pop(other, None)
                found["together_with"].pop(other, None)
            found[name][other] = each.correction_id
    return Constraints(**found)


async def read_constraints(store: Store, articles: Mapping[str, Collection[str]]) -> dict[str, Constraints]:
    """The constraints of articles, each given with its `grouping_corrections`. Without any, nothing is read."""
    found = await _corrections(store, {each for named in articles.values() for each in named})
    return {source_id: constraints_of(source_id, found) for source_id in articles}


async def _corrections(store: Store, ids: Iterable[str]) -> list[GroupingCorrection]:
    """Those of these corrections that can be read."""
    found = await store.read_many(STORIES.name, [(partition_of_correction(each), each) for each in sorted(ids)])
    return listed_documents(found, GroupingCorrection.from_document, "correction_id").items
