"""The TypedDicts of stored documents have the fields of their models."""

from __future__ import annotations

from typing import Any

import pytest

from models.cache import EntryDocument, SentimentCacheEntry
from models.stored import StoredDocument
from models.timeline import (
    DirtyHour,
    DirtyHourDocument,
    HourDocument,
    HourTable,
    Timeline,
    TimelineDocument,
    WindowsDocument,
    WindowTables,
)


@pytest.mark.parametrize(
    ("typed", "model"),
    [
        (EntryDocument, SentimentCacheEntry),
        (TimelineDocument, Timeline),
        (HourDocument, HourTable),
        (WindowsDocument, WindowTables),
        (DirtyHourDocument, DirtyHour),
    ],
)
def test_a_stored_document_has_the_fields_of_its_model_and_those_of_the_store(
    typed: Any, model: type[StoredDocument]
) -> None:
    own = {"id", model.PARTITION_FIELD, "_etag", "_ts"}
    assert typed.__optional_keys__ == {*model.model_fields, *model.COMPUTED, *own}
    assert not typed.__required_keys__
