"""How a stored document is shown to callers: its fields under their own names, absent ones as null.

What a specification calls by another name than ours has both: a batch of an ingestion, a row of a feed's history.
"""

from __future__ import annotations

from typing import Any

from models.article import Article
from models.run import FETCH_FEED, Attempt, IngestionBatch
from models.stored import StoredDocument


def shown(document: StoredDocument) -> dict[str, Any]:
    """Flat JSON. Ids that say nothing outside the store stay inside."""
    fields = document.model_dump(mode="json")
    if isinstance(document, Article):
        del fields["tool_ids_ever_detected"]
        return {"source_id": document.source_id, **fields}
    if isinstance(document, IngestionBatch):
        return {**fields, "batch_id": fields["run_id"], "completed_at": fields["ended_at"]}
    if isinstance(document, Attempt) and document.task_name == FETCH_FEED:
        return {**fields, "feed_id": fields["subject"], "fetch_time": fields["started_at"]}
    return fields
