"""What follows from the verdicts of people, and their documents.

models/correction.py says which verdict of several counts. A verdict `not_this_tool` holds for the article, whatever
becomes of its text. A verdict on the sentiment is about words: it holds while the article has the revision that was
judged, or says the same about the tool, in the same headline and sentences. Else it is outdated: not applied, and
applied again if the words come back. A correction is stored in one batch with its tool.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from models.article import Article
from models.correction import AFTER_PREFIX, PREFIX, Correction, JudgedPassage, carried, with_reviews
from models.errors import ChangedMeanwhile, Conflict, NotFound, Unavailable
from models.mention import SentimentScore
from models.resources.base import View
from models.resources.corrections import CorrectionResource, labelled, state_of
from models.stored import WordsJudgement
from models.tool import Reviews, Tool
from models.values import Sentiment
from services.mentions.scoring import Questions
from services.ports import Clock, Delete, Listed, Query, Store, Where, listed, listed_documents
from services.store.change import until_unchanged, write_of
from services.store.containers import ARTICLES, CATALOG, MENTIONS
from services.tools.catalog import Catalog

MAX_JUDGED_CHARACTERS = 8000
"""Of the passages that a correction keeps."""

POLARITY: Mapping[Sentiment, float] = {"positive": 1.0, "negative": -1.0, "neutral": 0.0}
"""Of a sentiment that a person gave; its score is 1."""


# What a verdict means for its mention.


def removes(correction: Correction | None) -> bool:
    """Whether the article does not mention the tool, though it names it."""
    return correction is not None and correction.is_active and correction.verdict == "not_this_tool"


def with_verdict(
    own: Mapping[str, Any], correction: Correction | None, revision: str | None, passages: Iterable[JudgedPassage]
) -> dict[str, Any]:
    """`own`, the fields that the analyzer gives a mention, after the correction. `revision` and `passages` are what the
    article says now."""
    if correction is None or not holds(correction, revision, passages):
        return {**own, "verdict": None, "corrected": None, "analyzer_judgement": None}
    return _applied(own, correction)


def holds(correction: Correction, revision: str | None, passages: Iterable[JudgedPassage]) -> bool:
    if not correction.is_active:
        return False
    return correction.revision == revision or correction.passages_hash == passages_hash(passages)


def _applied(own: Mapping[str, Any], correction: Correction) -> dict[str, Any]:
    """A confirmed sentiment stays as the analyzer gives it while the analyzer gives it: to confirm a mention changes no
    figure."""
    label = correction.label
    if label is None or (correction.verdict == "right" and own["sentiment"] == label):
        return {**own, "verdict": correction.verdict, "corrected": None, "analyzer_judgement": None}
    return {
        **own,
        "sentiment": label,
        "score": 1.0,
        "polarity": POLARITY[label],
        "unscored_reason": None,
        "verdict": correction.verdict,
        "corrected": True,
        "analyzer_judgement": WordsJudgement(**{name: own[name] for name in WordsJudgement.model_fields}),
    }


# What is judged.


def judged_passages(questions: Questions, tool_id: str) -> tuple[JudgedPassage, ...]:
    """What an article says about the tool: the passages that count for its score."""
    found = []
    for weighed in questions.tools.get(tool_id, ()):
        passage = questions.passages[weighed.passage]
        others = {span for other, spans in passage.names.items() if other != tool_id for span in spans}
        names = tuple((span.start, span.end) for span in passage.names.get(tool_id, ()))
        found.append(
            JudgedPassage(
                text=passage.text,
                names=names,
                other_names=tuple(sorted((span.start, span.end) for span in others)),
            )
        )
    return tuple(found)


def passages_hash(passages: Iterable[JudgedPassage]) -> str:
    texts = [each.text.split() for each in passages]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:32]


def kept_passages(passages: Sequence[JudgedPassage]) -> tuple[JudgedPassage, ...]:
    """The first passages, as many as a correction keeps."""
    lengths = accumulate(len(each.text) for each in passages)
    return tuple(each for each, length in zip(passages, lengths, strict=True) if length <= MAX_JUDGED_CHARACTERS)


# Their documents.

CARRIED_AT_ONCE = 10
"""Corrections in one batch: with its whole history a correction may have 100,000 bytes."""

_CORRECTION_ID = re.compile(r"[A-Za-z0-9._:-]{1,200}")
_IS_CORRECTION = (Where("id", "ge", PREFIX), Where("id", "lt", AFTER_PREFIX))

Change = Callable[[Tool, Correction | None], tuple[Tool, Correction]]
"""The tool and the correction after a change; the same objects if nothing changes."""


async def corrections_of_mentions(store: Store, keys: Sequence[tuple[str, str]]) -> Listed[Correction]:
    """The corrections of these mentions, each given by its tool and article. `unreadable` are articles. Without any
    mention, nothing is read."""
    wanted = [(tool_id, PREFIX + source_id) for tool_id, source_id in keys]
    documents = await store.read_many(CATALOG.name, wanted) if wanted else []
    return listed_documents(documents, Correction.from_document, "source_id")


@dataclass(frozen=True, slots=True)
class Corrections:
    """The stored corrections of tools."""

    store: Store
    catalog: Catalog
    clock: Clock

    async def find(self, tool_id: str, correction_id: str) -> Correction | None:
        document = await self.store.read(CATALOG.name, tool_id, PREFIX + correction_id)
        return None if document is None else Correction.from_document(document)

    async def get(self, tool_id: str, correction_id: str) -> Correction:
        """Raises NotFound."""
        # The store refuses other texts as ids. None of them is the id of a correction.
        found = await self.find(tool_id, correction_id) if _CORRECTION_ID.fullmatch(correction_id) else None
        if found is None:
            raise NotFound(f"correction: the tool has none with the id {correction_id[:200]!r}")
        return found

    async def shown(
        self, tool: Tool, corrections: Sequence[Correction], view: View = "default"
    ) -> list[CorrectionResource]:
        keys = [(tool.tool_id, each.source_id or "") for each in corrections if each.subject == "MENTION"]
        found = await self.store.read_many(MENTIONS.name, keys) if keys else []
        mentions = listed_documents(found, SentimentScore.from_document, "id")
        by_article = {each.source_id: each for each in mentions.items if each.counts}
        lacking = [each for _, each in keys if each not in by_article]
        articles = await self.store.read_many(ARTICLES.name, [(each, Article.ID) for each in lacking])
        alive = {each["source_id"] for each in articles if each is not None and each.get("deleted_at") is None}
        found_states = [
            state_of(each, tool, by_article.get(each.source_id or ""), has_article=each.source_id in alive)
            for each in corrections
        ]
        return [CorrectionResource.of(*pair, view) for pair in zip(corrections, found_states, strict=True)]

    async def page(
        self, tool: Tool, state: str | None, limit: int, after: str | None, view: View = "default"
    ) -> Listed[CorrectionResource]:
        """One page of the tool's corrections by id; with `state`, it may be shorter than `limit`."""
        query = Query(_IS_CORRECTION, partition=tool.tool_id, limit=limit, after=after)
        found = await self._listed(query)
        shown = await self.shown(tool, found.items, view)
        return Listed([each for each in shown if state in (None, each.state)], found.next, found.unreadable)

    async def reviews_of_all(self) -> dict[str, Reviews]:
        """The reviews of all tools, by analyzer and version."""
        total: dict[str, Reviews] = {}
        for tool in await self.catalog.active(("ACTIVE", "DEPRECATED")):
            for version, each in tool.reviews.items():
                total[version] = total.get(version, Reviews()).plus(each)
        return total

    async def labels(self, limit: int, after: str | None) -> Listed[dict[str, Any]]:
        """One page of labelled data: what people said of mentions, by tool. It may be shorter than `limit`."""
        found = await self._listed(Query((Where("entity_type", "eq", "Correction"),), limit=limit, after=after))
        lines = [line for each in found.items if (line := labelled(each)) is not None]
        return Listed(lines, found.next, found.unreadable)

    async def change(self, tool_id: str, correction_id: str, change: Change) -> tuple[Tool, Correction]:
        """The tool and the correction as stored after `change`, both in one batch. If the tool was merged, those of the
        tool that it was merged into.

        Raises NotFound, Unavailable until a merge has moved the correction, and what `change` raises.
        """

        async def once() -> tuple[Tool, Correction]:
            tool = await self.catalog.get(tool_id)
            if tool.tool_id != tool_id and await self.find(tool_id, correction_id) is not None:
                # The merge has not moved it yet. A verdict of the target itself would win over it.
                raise Unavailable(f"tool: {tool_id} is being merged", retry_after=5.0)
            before = await self.find(tool.tool_id, correction_id)
            after_tool, after = change(tool, before)
            if after is before and after_tool is tool:
                return tool, after
            after_tool = with_reviews(after_tool, [] if after is before else [(before, after)], self.clock())
            etags = await self._written(after_tool, [after])
            return after_tool.with_etag(etags[0]), after.with_etag(etags[1])

        return await until_unchanged(once, f"tool {tool_id}")

    async def of_merged(self, tool_id: str) -> list[Correction]:
        """Some corrections that a tool still has. Those that cannot be read stay with it."""
        return (await self._listed(Query(_IS_CORRECTION, partition=tool_id))).items[:CARRIED_AT_ONCE]

    async def _listed(self, query: Query) -> Listed[Correction]:
        return listed(await self.store.query(CATALOG.name, query), Correction.from_document, "id")

    async def carry(self, corrections: Sequence[Correction], target_id: str) -> None:
        """Writes the corrections of a merged tool as corrections of the target, or of the tool that it was merged into
        meanwhile. Doing it again changes nothing."""

        async def once() -> None:
            target = await self.catalog.get(target_id)
            keys = [(target.tool_id, each.id) for each in corrections]
            found = await self.store.read_many(CATALOG.name, keys)
            now = self.clock()
            pairs = []
            for own, document in zip(corrections, found, strict=True):
                before = None if document is None else Correction.from_document(document)
                pairs.append((before, carried(before, own, target.tool_id, now)))
            changes = [(before, after) for before, after in pairs if after is not before]
            if changes:
                await self._written(with_reviews(target, changes, now), [after for _, after in changes])

        await until_unchanged(once, f"tool {target_id}")

    async def _written(self, tool: Tool, corrections: Sequence[Correction]) -> list[str | None]:
        """The ETags of the tool and its corrections, stored in one batch. Raises ChangedMeanwhile."""
        writes = [write_of(each) for each in (tool, *corrections)]
        try:
            return await self.store.batch(CATALOG.name, tool.tool_id, writes)
        except Conflict as error:
            raise ChangedMeanwhile(str(error)) from error

    async def drop(self, corrections: Sequence[Correction]) -> None:
        """Deletes corrections that were carried over. One that has changed since stays."""
        batches = [(each.tool_id, [Delete(each.id, each.stored_etag)]) for each in corrections]
        await self.store.batch_many(CATALOG.name, batches)
