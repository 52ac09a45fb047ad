"""How a stored document is shown to callers: its fields under their own names, absent ones as null."""

from __future__ import annotations

from typing import Any

from models.article import Article
from models.run import IngestionBatch
from models.stored import StoredDocument


def shown(document: StoredDocument) -> dict[str, Any]:
    """Flat JSON. Ids that say nothing outside the store stay inside."""
    fields = document.model_dump(mode="json")
    if isinstance(document, Article):
        del fields["tool_ids_ever_detected"]
        return {"source_id": document.source_id, **fields}
    if isinstance(document, IngestionBatch):
        return {**fields, "batch_id": fields["run_id"], "completed_at": fields["ended_at"]}
    return fields
