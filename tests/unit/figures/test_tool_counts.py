"""What a recount of a tool reads anew, what it writes, and in which batches."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from models.errors import ChangedMeanwhile, Conflict
from models.timeline import DirtyHour, Timeline
from models.values import CLOCKS_DIFFER, format_time, hour_key
from services.figures.counting import Count, days_of, recounts_of, timeline_document
from services.figures.recount import are_right, recounted_since, spans
from services.figures.tool_counts import CountsWrite, ToolCounts, sums_of
from services.figures.windows import Windows, between_of, edges_of
from services.ports import Create, Delete, Document, Operation, Replace, Upsert
from services.store.containers import CATALOG
from services.store.sqlite import SqliteStore
from tests import documents
from tests.documents import by_day, by_hour
from tests.unit.figures.mentions import a_mention, counted

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
HOUR = timedelta(hours=1)
EDGES = edges_of(NOW)
OLDEST = "2026012100"
TOOL: Document = {"status": "ACTIVE", "created_at": format_time(NOW - timedelta(days=40))}
ONE = (1, 0, 0, 0)


def dirty(moment: datetime) -> Document:
    document = DirtyHour.of("vscode", moment, NOW).to_document()
    return {**document, "_etag": f"etag of {hour_key(moment)}"}


def windows_of(now: datetime, *mentions: Document) -> Document:
    windows = Windows.summed(edges_of(now), counted(*mentions).days(), NOW, 1)
    return {**windows.to_document("vscode", now), "_etag": "windows 1"}


def a_timeline(*hours: str) -> Document:
    return timeline_document("vscode", None, by_day(dict.fromkeys(hours, ONE)), None, NOW)


def write_of(counts: ToolCounts) -> CountsWrite:
    counts.put("TOOL", TOOL)
    write = counts.write(counts.windows(EDGES), NOW)
    assert write is not None
    return write


def named(operations: list[Operation]) -> list[str]:
    return [
        f"{type(each).__name__} {each.id if isinstance(each, Delete) else each.document['id']}" for each in operations
    ]


def test_removed_mentions_do_not_count() -> None:
    gone = a_mention(NOW, removed_at=format_time(NOW))
    assert counted(gone, a_mention(NOW, removed_at=None)).days()["20260221"].whole.mentions == 1


def test_a_recount_writes_the_timeline_the_changed_days_and_deletes_the_dirty_hours() -> None:
    moments = [NOW - 30 * HOUR, NOW - HOUR, NOW]
    counts = ToolCounts("vscode", list(map(dirty, moments)), windows_of(NOW), OLDEST)
    counts.count = counted(*(a_mention(moment) for moment in moments[1:]))
    write = write_of(counts)
    assert named(write.operations) == [
        "Upsert TIMELINE",
        "Delete DIRTY:2026022014",
        "Upsert COUNTS:20260221",
        "Delete DIRTY:2026022119",
        "Delete DIRTY:2026022120",
        "Upsert SUMS",
    ]
    assert write.windows["recounts"] == 1
    assert write.batch()[1][0] == Replace(write.windows, "windows 1")


def test_a_new_hour_alone_writes_the_windows_only() -> None:
    counts = ToolCounts("vscode", [], windows_of(NOW - HOUR), OLDEST)
    counts.put("SUMS", sums_document({}))
    write = write_of(counts)
    assert (write.operations, write.windows["recounts"]) == ([], 1)


def test_the_counts_of_a_tool_that_is_gone_are_not_stored() -> None:
    counts = ToolCounts("vscode", [], None, OLDEST, is_rebuild=True)
    assert counts.write(counts.windows(EDGES), NOW) is None


def test_the_timeline_forgets_days_that_no_month_is_compared_with() -> None:
    ages = (timedelta(days=30), timedelta(days=61), timedelta(days=62))
    counts = ToolCounts("vscode", [dirty(NOW)], windows_of(NOW), OLDEST)
    counts.put("TIMELINE", a_timeline(*(hour_key(NOW - age) for age in ages)))
    timeline = write_of(counts).operations[0]
    assert isinstance(timeline, Upsert)
    assert sorted(timeline.document["hours"]) == ["20251222", "20260122"]


def test_a_rebuild_writes_all_days_and_keeps_the_hours_that_are_too_old_to_be_counted() -> None:
    known = frozenset({"20260220", "20260221"})
    counts = ToolCounts("vscode", [], windows_of(NOW), OLDEST, is_rebuild=True, known_days=known)
    counts.put("TIMELINE", a_timeline("2026012023", "2026022101"))
    counts.count = counted(a_mention(NOW), a_mention(NOW - 48 * HOUR))
    write = write_of(counts)
    days = [f"Upsert COUNTS:202602{day}" for day in (19, 20, 21)]
    assert named(write.operations) == ["Upsert TIMELINE", *days, "Upsert SUMS"]
    timeline, _, emptied, *_ = [each.document for each in write.operations if isinstance(each, Upsert)]
    assert list(by_hour(timeline["hours"])) == ["2026012023", "2026021920", "2026022120"]
    assert emptied["hours"] == "{}"


def test_a_rebuild_replaces_a_timeline_that_cannot_be_read() -> None:
    counts = ToolCounts("vscode", [], windows_of(NOW), OLDEST, is_rebuild=True)
    counts.put("TIMELINE", {**a_timeline("2026012023"), "hours": "none"})
    counts.count = counted(a_mention(NOW))
    timeline = write_of(counts).operations[0]
    assert isinstance(timeline, Upsert)
    assert list(by_hour(timeline.document["hours"])) == ["2026022120"]


def sums_document(between: dict[str, Count]) -> Document:
    return documents.day_sums().to_document() | sums_of(EDGES, between)


def test_the_sums_of_the_days_that_no_window_begins_in_are_those_of_the_days() -> None:
    """They are carried on when one of these days changes, and made anew for other edges."""
    ages = (1, 30, 24 * 3, 24 * 5, 24 * 10, 24 * 31)
    stored = counted(*(a_mention(NOW - age * HOUR, event_id=f"story {age % 2}") for age in ages)).days()
    recounted = NOW - 24 * 3 * HOUR
    new = counted(a_mention(recounted, event_id="new", analyzer_version="2"))
    right = {**stored, **new.days()}
    for sums in (sums_document(between_of(EDGES, stored)), None):
        counts = ToolCounts("vscode", [dirty(recounted)], windows_of(NOW), OLDEST, count=new)
        counts.put("SUMS", sums)
        for name in [*EDGES.days, "20260218"] if sums is not None else stored:
            if name in stored:
                own = {"day": name, "whole": stored[name].whole.to_document(), "hours": stored[name].text}
                counts.put(f"COUNTS:{name}", own)
        windows = counts.windows(EDGES)
        assert windows.whole == Windows.summed(EDGES, right, NOW, 1).whole
        assert counts.new_sums == between_of(EDGES, right)


def test_sums_of_very_many_stories_are_not_kept() -> None:
    few, many = (Count(stories={str(story): [1, 0] for story in range(number)}) for number in (20_000, 20_001))
    assert sums_of(EDGES, {"20260122": few})["edges"] == EDGES.days == ["20260122", "20260214", "20260220", "20260221"]
    assert sums_of(EDGES, {"20260122": many}) == {"edges": [], "between": {}}


@pytest.mark.parametrize(
    ("moment", "story", "is_kept"),
    [(NOW, None, True), (NOW, "known", True), (NOW, "new", False), (NOW - HOUR, None, False)],
)
def test_only_a_recount_of_the_last_hour_without_new_stories_needs_no_other_days(
    moment: datetime, story: str | None, is_kept: bool
) -> None:
    known = [a_mention(NOW - 24 * HOUR, event_id="known"), a_mention(NOW - 5 * HOUR, event_id="known")]
    counts = ToolCounts("vscode", [dirty(moment)], windows_of(NOW, *known), OLDEST, read={"TOOL": TOOL})
    counts.count = counted(a_mention(moment, event_id=story))
    assert (counts.kept_windows(EDGES) is not None) is is_kept
    if is_kept:
        right = Windows.summed(EDGES, counted(*known, a_mention(moment, event_id=story)).days(), NOW, 1)
        end = NOW.replace(minute=30, second=0)
        assert counts.windows(EDGES).at(end) == right.at(end)


def _of(operations: int) -> CountsWrite:
    deletions = [Delete(f"DIRTY:{number}", "etag") for number in range(operations)]
    counts = ToolCounts("vscode", [], None, OLDEST)
    return CountsWrite(counts, {"id": "WINDOWS"}, None, [*deletions])


def test_more_operations_than_a_batch_has_are_written_by_further_batches_each_on_condition_of_the_one_before() -> None:
    write = _of(99 + 99 + 1)
    sizes, conditions, unfinished = [], [], []
    state = "unfinished"
    while state == "unfinished":
        _, operations = write.batch()
        first = operations[0]
        assert isinstance(first, Replace | Create)
        sizes.append(len(operations))
        conditions.append(first.etag if isinstance(first, Replace) else None)
        unfinished.append(first.document.get("unfinished", False))
        state = write.after([f"version {len(sizes)}", *[None] * (len(operations) - 1)])
    assert state == "written"
    assert sizes == [100, 100, 2]
    assert conditions == [None, "version 1", "version 2"]
    assert unfinished == [True, True, False]


def test_a_batch_has_as_many_documents_as_fit() -> None:
    write = _of(0)
    large = Upsert({"id": "COUNTS:20260221", "hours": "x" * 700_000})
    write.operations = [large] * 3
    assert len(write.batch()[1]) == 1 + 2


@pytest.mark.parametrize("error", [ChangedMeanwhile("windows", 0), Conflict("windows", 0)])
def test_a_write_whose_windows_have_changed_is_overtaken(error: ChangedMeanwhile | Conflict) -> None:
    assert _of(3).after(error) == "overtaken"


def test_an_hour_that_was_marked_again_stays_dirty_and_the_rest_is_written() -> None:
    write = _of(3)
    assert write.after(ChangedMeanwhile("the second dirty hour", 2)) == "unfinished"
    assert named(write.operations) == ["Delete DIRTY:0", "Delete DIRTY:2"]
    assert _of(1).after(ChangedMeanwhile("the last dirty hour of a later batch", 1)) == "written"


async def test_a_tool_was_recounted_since_if_its_windows_have_a_higher_number_or_cannot_be_read(
    store: SqliteStore,
) -> None:
    stored = {"same": 3, "more": 4, "odd": "3", "none": None}
    for tool_id, number in stored.items():
        await store.upsert(CATALOG.name, {**windows_of(NOW), "pk": tool_id, "recounts": number})
    last: dict[str, object] = {"same": 4}
    assert await recounted_since(store, dict.fromkeys([*stored, "nobody"], 3), last) == {"same", "more", "odd"}
    assert last == {"same": 4, "more": 4, "odd": "3", "none": 0, "nobody": 0}, "the number that was known is not read"


@pytest.mark.parametrize("wrong", [{"hours": "none"}, {"hours": None}])
def test_a_document_that_is_not_a_timeline_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Timeline"):
        days_of(documents.timeline().to_document() | wrong)


def test_a_recount_raises_the_count_of_the_timeline_and_names_the_latest_source() -> None:
    days = by_day({"2026022119": (1, 0, 0, 5, 0)})
    first = timeline_document("vscode", None, days, {"source": "reuters"}, NOW)
    assert by_hour(first["hours"]) == {"2026022119": (1, 0, 0, 5, 0)}
    assert first["last_ingestion_source"] == "reuters"
    later = NOW + timedelta(minutes=15)
    stored = {**first, "_etag": "1", "later": 7}
    second = timeline_document("vscode", stored, {}, None, later)
    assert (second["hours"], second["ingestion_count"], second["created_at"]) == ({}, 2, first["created_at"])
    assert (second["last_ingestion_source"], second["last_ingestion_at"]) == ("reuters", "2026-02-21T20:32:31Z")
    assert second["later"] == 7, "a field of a later version"
    assert "_etag" not in second
    assert [recounts_of(each) for each in (None, first, second)] == [0, 1, 2]
    assert Timeline.from_document(second).ingestion_count == 2


def test_consecutive_hours_are_counted_together() -> None:
    found = spans(["2026022122", "2026022123", "2026022200", "2026022202"])
    assert [(start.hour, (end - start) / timedelta(hours=1)) for start, end in found] == [(22, 3), (2, 1)]
    assert spans([]) == []


def test_counts_are_not_right_that_a_clock_ahead_stored() -> None:
    for ahead, right in ((-timedelta(days=400), True), (CLOCKS_DIFFER, True), (2 * CLOCKS_DIFFER, False)):
        assert are_right({**windows_of(NOW), "updated_at": format_time(NOW + ahead)}, NOW) is right


def test_unfinished_counts_are_not_right() -> None:
    assert not are_right({**windows_of(NOW), "unfinished": True}, NOW)
