"""Articles in memory, grouped as services/stories groups those in the store."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from services.stories.grouping import Articles, Change, Decision, Known, Place, replay


@dataclass
class Memory(Articles):
    """Stored articles by id. `replays` counts the decisions that changed."""

    stored: dict[str, Known] = field(default_factory=dict)

    async def near(self, keys: Collection[str], place: Place, most: Mapping[str, int]) -> Mapping[str, Sequence[Place]]:
        return {key: sorted(each.place for each in self.stored.values() if key in each.signature.keys) for key in keys}

    async def named(self, source_ids: Collection[str]) -> Iterable[Known]:
        return [self.stored[each] for each in source_ids if each in self.stored]

    async def members(self, event_ids: Collection[str]) -> Iterable[Known]:
        return [each for each in self.stored.values() if each.decision and each.decision.event_id in event_ids]

    async def put(self, changes: Iterable[Change], limit: int | None = None) -> list[Known]:
        """Replays the changes, in rounds of at most `limit` decisions, and stores what follows. The articles whose
        decisions changed."""
        changes, written = list(changes), []
        while changes:
            found = await replay(changes, self, limit)
            for change in changes:
                if change.after is None:
                    self.stored.pop(change.source_id, None)
                else:
                    self.stored[change.source_id] = change.after
            for each in found.decided:
                self.stored[each.source_id] = each
                written.append(each)
            changes = [Change(self.stored[name], self.stored[name]) for name in found.remaining]
        return written

    def decisions(self) -> dict[str, Decision | None]:
        return {name: each.decision for name, each in sorted(self.stored.items())}

    def stories(self) -> set[frozenset[str]]:
        found: dict[str, set[str]] = {}
        for each in self.stored.values():
            if each.decision:
                found.setdefault(each.decision.event_id, set()).add(each.source_id)
        return {frozenset(each) for each in found.values()}


async def grouped(articles: Sequence[Known]) -> Memory:
    """The articles, grouped from scratch in one replay."""
    memory = Memory()
    await memory.put([Change(None, replace(each, decision=None)) for each in articles])
    return memory
