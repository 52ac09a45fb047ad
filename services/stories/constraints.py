"""What people said of an article's near-duplicates and its story, as the grouping obeys it.

A correction of two stories is about each pair of their articles. So it means the same whichever article begins a story
later, and holds while one article of each side is stored. An article names the corrections that it is in
(`grouping_corrections`): whoever groups it reads these, and nothing is searched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from models.grouping_correction import GroupingCorrection, Kind, partition_of_correction
from services.ports import Store, listed_documents
from services.store.containers import STORIES
from services.stories.grouping import Constraints

_STORY: Mapping[Kind, str] = {
    "ONE_STORY": "together_with",
    "NOT_ONE_STORY": "apart_from",
    "SPLIT_STORY": "apart_from",
}


def constraints_of(source_id: str, corrections: Iterable[GroupingCorrection]) -> Constraints:
    """The constraints of one article. Of two corrections that contradict each other, the later one counts."""
    story: dict[str, tuple[str, str]] = {}
    near: dict[str, str] = {}
    for each in sorted(corrections, key=lambda each: (each.made_at, each.correction_id)):
        if not each.is_active:
            continue
        for other in each.across_from(source_id):
            if each.kind in _STORY:
                story[other] = _STORY[each.kind], each.correction_id
            else:
                near[other] = each.correction_id
        if each.kind == "SPLIT_STORY" and source_id in each.articles:
            story |= {other: ("together_with", each.correction_id) for other in each.articles if other != source_id}
    return Constraints(
        apart_from=_named(story, "apart_from"),
        together_with=_named(story, "together_with"),
        different_from=near,
    )


async def read_constraints(store: Store, articles: Mapping[str, Collection[str]]) -> dict[str, Constraints]:
    """The constraints of articles, each given with its `grouping_corrections`. Without any, nothing is read."""
    ids = sorted({each for named in articles.values() for each in named})
    keys = [(partition_of_correction(each), each) for each in ids]
    documents = await store.read_many(STORIES.name, keys) if keys else []
    found = listed_documents(documents, GroupingCorrection.from_document, "correction_id").items
    return {source_id: constraints_of(source_id, found) for source_id in articles}


def _named(said: Mapping[str, tuple[str, str]], field: str) -> dict[str, str]:
    return {other: correction_id for other, (name, correction_id) in said.items() if name == field}
