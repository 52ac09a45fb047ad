"""Documents of counts are made without their models, and are what their models would store."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from models.timeline import HourTable, StoryTable, Timeline, TimelineDocument, WindowTables
from services.figures.count_documents import hour_document, story_document, timeline_document, windows_fields
from services.ports import Document

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
LATER = NOW + timedelta(minutes=15)
MENTION: Document = {"source": "feed-1"}


def test_the_tables_of_hours_stories_and_windows_are_those_of_their_models() -> None:
    own: dict[str, Any] = {"tool_id": "tool-1", "created_at": NOW, "updated_at": NOW}
    made: list[tuple[Any, Any]] = [
        (HourTable(**own, hour="2026022119"), hour_document("tool-1", "2026022119", {}, {}, {}, NOW)),
        (StoryTable(**own, bucket=7), story_document("tool-1", 7, {}, NOW)),
        (
            WindowTables(**own, hour="2026022120", made_at=NOW - timedelta(days=1)),
            windows_fields("tool-1", NOW, {"made_at": NOW - timedelta(days=1), "searched_since": None}),
        ),
    ]
    for model, document in made:
        assert document == model.to_document()


@pytest.mark.parametrize("mention", [MENTION, None, {"source": None}])
def test_a_timeline_is_carried_on_as_its_model_would(mention: Document | None) -> None:
    first = timeline_document("tool-1", None, {"20260221": "0"}, {"a:1": {"20260221": 1}}, MENTION, NOW)
    stored = cast("TimelineDocument", {**first, "_etag": "1", "_ts": 5})
    carried = timeline_document("tool-1", stored, {}, {}, mention, LATER)
    model = Timeline.from_document({**first, "hours": {}, "analyzers": {}})
    changes: dict[str, Any] = {"last_ingestion_at": LATER, "ingestion_count": 2}
    assert carried == {**model.changed(LATER, **changes).to_document(), "hours": {}, "analyzers": {}}
    assert "_etag" not in carried


@pytest.mark.parametrize(
    "field",
    [{"created_at": "yesterday"}, {"created_at": 5}, {"schema_version": "9"}, {"data_product_id": 7, "created_at": 1}],
)
def test_a_timeline_that_its_model_cannot_read_is_refused(field: dict[str, Any]) -> None:
    stored = timeline_document("tool-1", None, {}, {}, MENTION, NOW)
    with pytest.raises(ValueError, match=r"TIMELINE|ISO 8601"):
        timeline_document("tool-1", cast("TimelineDocument", {**stored, **field}), {}, {}, MENTION, LATER)


def test_fields_of_a_later_version_are_kept() -> None:
    stored = timeline_document("tool-1", None, {}, {}, MENTION, NOW)
    later = {**stored, "schema_version": "2", "created_at": "2026-02-21T21:17:31+01:00", "unknown": "x"}
    carried = timeline_document("tool-1", cast("TimelineDocument", later), {}, {}, None, LATER)
    assert carried["created_at"] == "2026-02-21T20:17:31Z"
    assert cast("dict[str, Any]", carried)["unknown"] == "x"
