"""One mention, passage by passage: what the analyzer says of the tool in each, and which words decided.

A word decided if the analyzer is less sure, or says something else, without it. The word is covered by letters that no
table knows, so that all places stay, and the passage is judged again. This is true to any model that judges by words,
and needs to know nothing of its weights.

The effect of a word is how far it moves the odds of positive to negative, as a power of two. A difference of polarities
would not do: where several words say the same, the polarity is near its end with or without any one of them.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from models.article import Article
from models.errors import NotFound
from models.mention import SentimentScore, scored_by
from models.resources.movement import DecidingWord
from services.documents.archived import FullTexts
from services.mentions.analyzers.port import Judgement, LocalAnalyzer, Passage, PassageJudgement
from services.mentions.corrections import judged_passages
from services.mentions.prose import prose_of
from services.mentions.scoring import Questions, probabilities_of
from services.mentions.understanding import ArticleAnalysis, understand
from services.ports import Store, readable
from services.store.containers import ARTICLES, MENTIONS
from services.tools.detector import Watchlist

MIN_EFFECT = 1.0
"""A word that decides at least doubles the odds of one side."""
MAX_SHOWN = 6
MAX_WORDS = 120
"""So many words of a passage are looked at; each is judged once."""
COVER = "x"
_LEAST = 0.0005
"""Probabilities have four decimals."""

_WORD = re.compile(r"[^\W\d_][\w'\u2019-]*|[\d.,]*\d%?")
JudgePassages = Callable[[Sequence[Passage]], list[PassageJudgement]]


def odds_of(said: Judgement) -> float:
    """The binary logarithm of the odds of positive to negative; 0 for a neutral judgement."""
    negative, _, positive = probabilities_of(said)
    return math.log2((positive + _LEAST) / (negative + _LEAST))


def said_of(judgement: PassageJudgement, tool_id: str) -> Judgement | None:
    said = judgement.tools.get(tool_id, judgement.whole)
    return said if isinstance(said, Judgement) else None


def deciding_words(judge: JudgePassages, passage: Passage, tool_id: str) -> tuple[DecidingWord, ...]:
    """In the order of the passage, at most MAX_SHOWN: those with the largest effects. None for a passage that cannot
    be judged."""
    said = said_of(judge([passage])[0], tool_id)
    if said is None:
        return ()
    names = [span for spans in passage.names.values() for span in spans]
    words = [
        each.span()
        for each in _WORD.finditer(passage.text)
        if not any(each.start() < name.end and name.start < each.end() for name in names)
    ][:MAX_WORDS]
    covered = [replace(passage, text=_without(passage.text, start, end)) for start, end in words]
    found = []
    for (start, end), judgement in zip(words, judge(covered), strict=True):
        other = said_of(judgement, tool_id)
        effect = 0.0 if other is None else round(odds_of(said) - odds_of(other), 2)
        if abs(effect) >= MIN_EFFECT:
            word = passage.text[start:end]
            found.append(DecidingWord(start=start, end=end, word=word, effect=effect))
    largest = sorted(found, key=lambda each: (-abs(each.effect), each.start))[:MAX_SHOWN]
    return tuple(sorted(largest, key=lambda each: each.start))


def _without(text: str, start: int, end: int) -> str:
    return text[:start] + COVER * (end - start) + text[end:]


@dataclass(frozen=True, slots=True)
class MentionPassages:
    """Shows the passages of a mention. `judge` is the present analyzer if it can be asked about single words; without,
    passages have no judgement."""

    store: Store
    watchlist: Watchlist
    texts: FullTexts
    judge: LocalAnalyzer | None

    async def of(self, tool_id: str, source_id: str) -> dict[str, Any]:
        """Raises NotFound if the article does not mention the tool, or has expired."""
        (stored,) = await self.store.read_many(MENTIONS.name, [(tool_id, source_id)])
        (document,) = await self.store.read_many(ARTICLES.name, [(source_id, Article.ID)])
        mention = readable(stored, SentimentScore.from_document)
        if mention is None or not mention.counts or document is None or document.get("deleted_at"):
            raise NotFound("mention: the article does not mention the tool, or has expired")
        analysis = await self._understood(tool_id, Article.from_document(document))
        questions = analysis.questions
        judge = self.judge if self.judge is not None and questions.language in self.judge.languages else None
        passages = await asyncio.to_thread(_shown, questions, tool_id, judge, prose_of(analysis.article).headline)
        by = None if judge is None else scored_by(judge.name, judge.version)
        return {"mention": mention, "scored_text": analysis.scored_text, "judged_by": by, "passages": passages}

    async def _understood(self, tool_id: str, article: Article) -> ArticleAnalysis:
        detector = await self.watchlist.detector()
        texts = await self.texts.read([article]) if article.scored_text == "document" else {}
        text = texts.get(article.source_id)
        text = text if isinstance(text, str) else None
        return await asyncio.to_thread(understand, article, detector, frozenset({tool_id}), (), text)


def _shown(questions: Questions, tool_id: str, judge: LocalAnalyzer | None, headline: str) -> list[dict[str, Any]]:
    weighed = questions.tools.get(tool_id, ())
    total = sum(each.weight for each in weighed)
    shown = []
    for each, says in zip(weighed, judged_passages(questions, tool_id), strict=True):
        passage = questions.passages[each.passage]
        said = said_of(judge.judge([passage])[0], tool_id) if judge is not None else None
        words = deciding_words(judge.judge, passage, tool_id) if judge is not None else ()
        shown.append(
            {
                **says.model_dump(mode="json"),
                "where": "HEADLINE" if passage.text == headline else "TEXT",
                "weight": round(each.weight / total, 4),
                **(dict.fromkeys(("sentiment", "score", "polarity")) if said is None else asdict(said)),
                "deciding_words": [word.shown() for word in words],
            }
        )
    return shown
