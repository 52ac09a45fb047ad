"""The stage of the analysis: articles that are new, or were edited since they were last analysed.

Whoever stores such an article sets `analysis_due_since` in the same write. services/mentions/analysis.py does the work.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

from models.article import Article
from models.errors import InvalidInput
from services.ports import Document, Query, Store, Where
from services.store.change import Decided, Key, change_many
from services.store.containers import ARTICLES
from services.topology import ANALYZE_ARTICLES
from services.work.stage import Stage, Tries

NEW_ARTICLES = "articles.new"
MOST_ARTICLES = 100
"""The most articles in one message."""
_ALIVE = Where("deleted_at", "missing")


def article_messages(source_ids: Sequence[str], most: int = MOST_ARTICLES, feed_id: str | None = None) -> list[str]:
    """The messages that ask for the analysis of these articles, at most `most` articles in each: the specification's
    event of new articles. `feed_id` is the feed that brought them, None if they are announced again."""
    parts = [source_ids[start : start + most] for start in range(0, len(source_ids), most)]
    messages = [{"event": NEW_ARTICLES, "feed_id": feed_id, "article_ids": part, "count": len(part)} for part in parts]
    return [json.dumps(message, separators=(",", ":")) for message in messages]


def source_ids_of(message: str) -> list[str]:
    """The articles that a message names, each once. Raises InvalidInput for a text that `article_messages` never
    writes."""
    try:
        ids = json.loads(message)["article_ids"]
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidInput("message", "must be a JSON object with article_ids") from error
    if not isinstance(ids, list) or not all(isinstance(each, str) and each for each in ids):
        raise InvalidInput("message", "must have article_ids, a list of ids")
    return list(dict.fromkeys(ids))


ANALYSIS_STAGE = Stage(
    name="analysis",
    queue=ANALYZE_ARTICLES,
    container=ARTICLES.name,
    order="by_analysis_due",
    due="analysis_due_since",
    key="source_id",
    messages=article_messages,
    where=(_ALIVE,),
    furthest=timedelta(minutes=10),
    tries=Tries(
        address=lambda source_id: (source_id, Article.ID),
        count="analysis_attempts",
        error="last_error_fingerprint",
        given_up=lambda document: {"status": "error"},
    ),
    workflow="analyze_articles",
)
"""An article that was given up is an error that people see (`GET articles?status=error`) and can redrive. It keeps the
scores and mentions that it has."""


async def redrive_errors(store: Store, limit: int, now: datetime) -> list[str]:
    """Makes articles that are errors pending, as if they had never been tried. The caller announces those returned."""
    where = (Where("status", "eq", "error"), _ALIVE)
    page = await store.query(ARTICLES.name, Query(where, order="by_status", limit=limit))
    redriven: list[str] = []

    def decide(key: Key, document: Document | None) -> Decided:
        if document is None or document.get("status") != "error":
            return None
        redriven.append(key[0])
        return {**ANALYSIS_STAGE.redriven(document, now), "status": "pending"}

    await change_many(store, ARTICLES.name, [(each["source_id"], Article.ID) for each in page.items], decide)
    return list(dict.fromkeys(redriven))
