"""One mention, passage by passage: what the analyzer says of the tool in each, and which words decided."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from models.article import Article
from models.errors import NotFound
from models.mention import SentimentScore, scored_by
from services.mentions.analyzers.port import Passage, PassageJudgement
from services.mentions.deciding import Deciding, deciding_words, said_of
from services.mentions.prose import prose_of
from services.mentions.scoring import Weighed
from services.mentions.understanding import ArticleAnalysis, understand
from services.ports import Document, Store, readable
from services.store.containers import ARTICLES, MENTIONS
from services.tools.watchlist import Watchlist


class TextsOfPages(Protocol):
    async def read(self, articles: Sequence[Article]) -> Mapping[str, Any]:
        """The full text of each article that has one; something else than a text if the archive does not give it."""
        ...


@runtime_checkable
class WordJudge(Protocol):
    """An analyzer that runs in this process, so that a passage can be judged once for each of its words."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def languages(self) -> frozenset[str]: ...

    def judge(self, passages: Sequence[Passage]) -> list[PassageJudgement]: ...


@dataclass(frozen=True, slots=True)
class MentionPassages:
    """`judge` is the present analyzer if it can be asked about single words; without, passages have no judgement."""

    store: Store
    watchlist: Watchlist
    texts: TextsOfPages
    judge: WordJudge | None

    async def of(self, tool_id: str, source_id: str) -> dict[str, Any]:
        """Raises NotFound if the article does not mention the tool, or has expired."""
        (stored,) = await self.store.read_many(MENTIONS.name, [(tool_id, source_id)])
        (document,) = await self.store.read_many(ARTICLES.name, [(source_id, Article.ID)])
        mention = readable(stored, SentimentScore.from_document)
        if mention is None or not mention.counts or document is None or document.get("deleted_at"):
            raise NotFound("mention: the article does not mention the tool, or has expired")
        analysis = await self._understood(tool_id, document)
        asked = () if analysis.questions is None else analysis.questions.passages
        weighed = () if analysis.questions is None else analysis.questions.tools.get(tool_id, ())
        judge = self.judge
        if judge is None or analysis.questions is None or analysis.questions.language not in judge.languages:
            judge = None
        passages = await asyncio.to_thread(_shown, asked, weighed, tool_id, judge, analysis.article)
        by = None if judge is None else scored_by(judge.name, judge.version)
        return {"mention": mention, "scored_text": analysis.scored_text, "judged_by": by, "passages": passages}

    async def _understood(self, tool_id: str, document: Document) -> ArticleAnalysis:
        detector = await self.watchlist.detector()
        text = None
        if document.get("scored_text") == "document":
            article = Article.from_document(document)
            read = (await self.texts.read([article])).get(article.source_id)
            text = read if isinstance(read, str) else None
        return await asyncio.to_thread(understand, document, detector, frozenset({tool_id}), (), text)


def _shown(
    asked: Sequence[Passage], weighed: Sequence[Weighed], tool_id: str, judge: WordJudge | None, article: Article
) -> list[dict[str, Any]]:
    total = sum(each.weight for each in weighed)
    headline = prose_of(article).headline
    shown = []
    for each in weighed:
        passage = asked[each.passage]
        said = said_of(judge.judge([passage])[0], tool_id) if judge is not None else None
        words = deciding_words(judge.judge, passage, tool_id) if judge is not None else ()
        shown.append(
            {
                "text": passage.text,
                "where": "HEADLINE" if passage.text == headline else "TEXT",
                "weight": round(each.weight / total, 4),
                "sentiment": None if said is None else said.sentiment,
                "score": None if said is None else said.score,
                "polarity": None if said is None else said.polarity,
                "names": [[span.start, span.end] for span in passage.names.get(tool_id, ())],
                "other_names": _others(passage, tool_id),
                "deciding_words": [_word(passage.text, word) for word in words],
            }
        )
    return shown


def _others(passage: Passage, tool_id: str) -> list[list[int]]:
    spans = sorted(span for other, found in passage.names.items() if other != tool_id for span in found)
    return [[span.start, span.end] for span in spans]


def _word(text: str, word: Deciding) -> dict[str, Any]:
    return {"start": word.start, "end": word.end, "word": text[word.start : word.end], "effect": word.effect}
