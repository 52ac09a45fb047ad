"""One article on its way to its mentions: what it names, what is asked about it, and what is to be stored. Pure.

Reading and writing, in the order that makes this right under races and crashes, is settling.py's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from models.article import Article
from models.mention import SentimentScore
from models.tool import Tool
from services.mentions.analyzers.port import Judgement, NotJudged
from services.mentions.mentions import mention, named, removed, source_tickers
from services.mentions.scoring import Questions, Scores, ask
from services.ports import Document
from services.tools.detector import Detected, Detector

MentionKey = tuple[str, str]
"""The tool and the article."""

Version = tuple[str, str]
"""The analyzer's name and version."""


@dataclass(slots=True)
class Work:
    """One article in one round. `tools` are those whose mentions are looked at, `questions` None if it was deleted."""

    article: Article
    detected: Mapping[str, Detected]
    tools: frozenset[str]
    questions: Questions | None
    scores: Scores | None = None
    staying: frozenset[str] = frozenset()
    """Tools that are not looked for any more, whose mentions stay."""

    @property
    def id(self) -> str:
        return self.article.source_id


def understand(document: Document, detector: Detector, only: frozenset[str] | None) -> Work:
    """Raises ValueError for a document that is no article."""
    article = Article.from_document(document)
    alive = article.deleted_at is None
    headline, text = article.canonical.headline, article.text_for_analysis or ""
    detected = detector.find(headline, text, article.tags, source_tickers(article)) if alive else {}
    tools = frozenset({*detected, *article.detected_tool_ids, *article.tool_ids_ever_detected})
    if only is not None:
        detected = {tool_id: each for tool_id, each in detected.items() if tool_id in only}
        tools &= only
    return Work(article, detected, tools, ask(headline, text, named(detected)) if alive else None)


def listing(work: Work) -> Article:
    """The article, listing every tool that may get a mention of it."""
    listed = tuple(sorted({*work.article.tool_ids_ever_detected, *work.tools}))
    return work.article.changed(work.article.updated_at, tool_ids_ever_detected=listed)


def gone(works: Sequence[Work], tools: Mapping[str, Tool]) -> set[str]:
    """The tools that were detected though they are no longer looked for: the detector is old."""
    detected = {tool_id for work in works for tool_id in work.detected}
    return {tool_id for tool_id in detected & tools.keys() if tools[tool_id].status != "ACTIVE"}


def staying(work: Work, tools: Mapping[str, Tool], before: Mapping[MentionKey, SentimentScore]) -> frozenset[str]:
    """Deprecated tools keep the mentions that they have."""
    if work.article.deleted_at is not None:
        return frozenset()
    unseen = {
        each for each in work.tools - work.detected.keys() if each in tools and tools[each].status == "DEPRECATED"
    }
    return frozenset(each for each in unseen if (each, work.id) in before and before[each, work.id].counts)


def wanted(
    work: Work, tool: Tool | None, known: SentimentScore | None, analyzer: Version, now: datetime
) -> SentimentScore | None:
    """The mention of one tool as it should be; None if there is nothing to write, for there never was one."""
    detected = work.detected.get(tool.tool_id) if tool is not None else None
    if tool is None or detected is None or work.scores is None:
        return removed(known, now) if known is not None and known.tool_id not in work.staying else None
    judgement = work.scores.tools[tool.tool_id]
    if isinstance(judgement, NotJudged):
        judgement = work.scores.article
    assert isinstance(judgement, Judgement), "an article that was not judged has failed before"
    return mention(known, work.article, tool, detected, judgement, analyzer, now)


def finished(work: Work, analyzer: Version, now: datetime, *, whole: bool) -> Article:
    """The article with what came of it; itself if it says so already. `whole`: of all tools, and of itself."""
    article = work.article
    others = [each for each in article.detected_tool_ids if each not in work.tools]
    says: dict[str, Any] = {"detected_tool_ids": tuple(sorted({*others, *work.detected, *work.staying}))}
    if whole and work.scores is not None and isinstance(work.scores.article, Judgement):
        says |= _analyzed(work, work.scores.article, analyzer)
    if all(getattr(article, name) == value for name, value in says.items()):
        return article
    if "status" in says:
        says["analyzed_at"] = now
        if article.status == "error":
            article = article.changed(now, status="pending")
    return article.changed(now, **says)


def _analyzed(work: Work, judgement: Judgement, analyzer: Version) -> dict[str, Any]:
    sourced = source_tickers(work.article)
    tickers = dict.fromkeys(one for each in work.detected.values() for one in each.tickers if one not in sourced)
    return {
        "status": "analyzed",
        "sentiment": judgement.sentiment,
        "score": judgement.score,
        "polarity": judgement.polarity,
        "analyzer": analyzer[0],
        "analyzer_version": analyzer[1],
        "analyzed_revision": work.article.canonical.revision,
        "matched_tickers": (*sourced, *tickers),
        "detected_tickers": tuple(tickers),
        "analysis_attempts": 0,
        "last_error_fingerprint": None,
    }


def fingerprint(what: str) -> str:
    """The same for the same failure, short, and without anybody's text."""
    return f"{what[:40]}:{hashlib.sha256(what.encode()).hexdigest()[:8]}"
