"""The stage of the analysis: articles that are new, or were edited since they were last analysed.

Whoever stores such an article sets `analysis_due_since` in the same write. services/mentions/analysis.py does the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from models.article import Article
from services.ports import Document, Query, Store, Where
from services.store.change import Decided, Key, change_many
from services.store.containers import ARTICLES
from services.topology import ANALYZE_ARTICLES
from services.work.stage import Stage, Tries

NEW_ARTICLES = "articles.new"
_ALIVE = Where("deleted_at", "missing")
_EVERY_TIME = Where("timestamp", "gt", "")  # the embedded store then counts by the index of by_status
_FAILED = (Where("status", "eq", "error"), _EVERY_TIME, _ALIVE)


def article_form(source_ids: Sequence[str], feed_id: str | None = None) -> dict[str, Any]:
    """The message that asks for the analysis of these articles: the specification's event of new articles. `feed_id` is
    the feed that brought them, None if they are announced again."""
    return {"event": NEW_ARTICLES, "feed_id": feed_id, "article_ids": source_ids, "count": len(source_ids)}


ANALYSIS_STAGE = Stage(
    name="analysis",
    queue=ANALYZE_ARTICLES,
    container=ARTICLES.name,
    order="by_analysis_due",
    due="analysis_due_since",
    key="source_id",
    form=article_form,
    named="article_ids",
    furthest=timedelta(minutes=10),
    tries=Tries(
        address=lambda source_id: (source_id, Article.ID),
        count="analysis_attempts",
        error="last_error_fingerprint",
        given_up=lambda document: {"status": "error"},
    ),
    failed=_FAILED,
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
