"""The section of the audit that compares the verdicts of people with the mentions that they are about."""

from __future__ import annotations

from dataclasses import dataclass

from models.correction import AFTER_PREFIX, PREFIX, Correction
from models.errors import UnreadableDocument
from services.operations.audit_rules import Difference, judge_correction
from services.operations.audit_sections import DOCUMENTS_IN_PART, Part, articles_of, is_workflow_open
from services.ports import Query, Store, Where
from services.store.containers import CATALOG, MENTIONS

_ALL = (Where("entity_type", "eq", "Correction"),)
_OF_TOOL = (Where("id", "ge", PREFIX), Where("id", "lt", AFTER_PREFIX))


@dataclass(frozen=True, slots=True)
class CorrectionsSection:
    """Verdicts on mentions; with `tool_id`, those of one tool."""

    store: Store
    tool_id: str | None = None

    async def part(self, after: str | None) -> Part:
        where = _ALL if self.tool_id is None else _OF_TOOL
        query = Query(where, partition=self.tool_id, limit=DOCUMENTS_IN_PART, after=after)
        page = await self.store.query(CATALOG.name, query)
        found, broken = list[Correction](), list[Difference]()
        for document in page.items:
            try:
                correction = Correction.from_document(document)
            except UnreadableDocument as error:
                broken.append(Difference("unreadable", document["id"], str(error), "", (document["_etag"],)))
                continue
            if correction.source_id is not None:
                found.append(correction)
        articles = await articles_of(self.store, [each.source_id or "" for each in found])
        keys = [(each.tool_id, each.source_id or "") for each in found]
        mentions = await self.store.read_many(MENTIONS.name, keys)
        wrong = [
            difference
            for each, mention in zip(found, mentions, strict=True)
            for difference in judge_correction(each, mention, articles.get(each.source_id or ""))
        ]
        if wrong and await is_workflow_open(self.store):
            wrong = []
        return Part(broken + wrong, page.next, len(page.items))
