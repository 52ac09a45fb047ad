"""Counting mentions by minute, the windows at each minute of an hour, and the batches that store a recount."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from models.errors import ChangedMeanwhile, Conflict
from models.tally import Tally, TimelineHours, by_day, by_hour
from models.timeline import (
    DirtyHour,
    DirtyHourDocument,
    HourDocument,
    HourRows,
    HourTable,
    Timeline,
    TimelineDocument,
    WindowsDocument,
)
from models.values import format_time, hour_key
from services.figures.count_documents import (
    analyzers_of,
    hour_document,
    hours_of,
    is_of_last_recount,
    minutes_of,
    recounts_of,
    timeline_document,
)
from services.figures.counts import KEPT, CountsWrite, MentionCount, ToolCounts
from services.figures.edges import edges_of
from services.figures.windows import Windows
from services.ports import Create, Delete, Document, Replace, Upsert
from tests import documents

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)
MADE = NOW - timedelta(days=40)
BEFORE = NOW - timedelta(hours=1)
TOOL: Document = {"status": "ACTIVE", "created_at": format_time(MADE)}
ONE = [1, 0, 0, 0]
ROWS: HourRows = {"source:reuters": {"reuters": [[17, "", 1, 5000, 25_000_000]]}}


JUDGED = {"analyzer": "embedded", "analyzer_version": "1"}


def a_mention(moment: datetime, sentiment: str = "positive", **changes: Any) -> Document:
    at = format_time(moment)
    return {
        "id": at,
        "published_at": at,
        "sentiment": sentiment,
        "polarity": 0.5,
        "source": "reuters",
        **JUDGED,
    } | changes


def counted(*mentions: Document) -> MentionCount:
    count = MentionCount()
    for mention in mentions:
        count.add(mention)
    return count


def dirty(moment: datetime) -> DirtyHourDocument:
    document = DirtyHour.of("vscode", moment, NOW).to_document()
    return cast("DirtyHourDocument", {**document, "_etag": f"etag of {hour_key(moment)}"})


def windows_at(now: datetime, hours: dict[str, list[int]], minutes: dict[str, dict[str, list[int]]]) -> WindowsDocument:
    windows = Windows.summed(edges_of(now), TimelineHours(by_day(hours)), minutes, {}, MADE, 1)
    return {**windows.to_document("vscode", now), "_etag": "windows 1"}


def _windows(counts: ToolCounts) -> Windows:
    counts.apply_tables(edges_of(NOW))
    return counts.windows(edges_of(NOW))


def a_timeline(hours: dict[str, list[int]]) -> TimelineDocument:
    return timeline_document("vscode", None, by_day(hours), {}, None, NOW)


def test_mentions_are_counted_by_sentiment_and_minute() -> None:
    count = counted(
        a_mention(NOW, "positive", polarity=0.25),
        a_mention(NOW.replace(second=59), "negative", polarity=-0.5),
        a_mention(NOW.replace(minute=18), "positive", polarity=0.5000004),
        a_mention(NOW.replace(hour=19), "positive", polarity=0.5000006),
        a_mention(NOW.replace(hour=19), "neutral", polarity=0.0),
    )
    assert count.minutes == {
        "2026022120": {"17": [1, 1, 0, -250_000], "18": [1, 0, 0, 500_000]},
        "2026022119": {"17": [1, 0, 1, 500_001]},
    }


def test_unscored_mentions_are_counted_apart() -> None:
    unscored: dict[str, Any] = {"sentiment": None, "polarity": None, "unscored_reason": "LANGUAGE"}
    count = counted(a_mention(NOW, **unscored), a_mention(NOW, "negative", polarity=-0.5), a_mention(NOW, **unscored))
    assert count.minutes == {"2026022120": {"17": [0, 1, 0, -500_000, 2]}}


@pytest.mark.parametrize(
    ("sentiment", "polarity", "millionths"),
    [
        ("neutral", 0.3, 0),
        ("neutral", -0.3, 0),
        ("positive", 0.0, 100),
        ("positive", -0.2, 100),
        ("negative", 0.2, -100),
    ],
)
def test_a_polarity_that_an_earlier_version_stored_counts_as_the_nearest_that_agrees_with_its_sentiment(
    sentiment: str, polarity: float, millionths: int
) -> None:
    ((numbers,),) = (each.values() for each in counted(a_mention(NOW, sentiment, polarity=polarity)).minutes.values())
    assert numbers[3] == millionths


def test_the_first_and_the_last_minute_of_each_analyzer_are_noted_whatever_it_judged() -> None:
    old, gone = {"analyzer_version": "0"}, {"removed_at": format_time(NOW)}
    unscored: dict[str, Any] = {"sentiment": None, "polarity": None, "unscored_reason": "LANGUAGE"}
    mentions = [
        a_mention(NOW.replace(minute=minute), **more) for minute, more in ((9, old), (3, old), (5, {}), (7, old))
    ]
    mentions += [a_mention(NOW.replace(minute=1), **gone, **old), a_mention(NOW.replace(minute=59), **unscored)]
    other_hour = a_mention(NOW.replace(hour=19, minute=0), analyzer="azure-language", analyzer_version="2025")
    assert counted(*mentions, other_hour).analyzers == {
        "2026022120": {"embedded/0": [3, 9], "embedded/1": [5, 59]},
        "2026022119": {"azure-language/2025": [0, 0]},
    }


@pytest.mark.parametrize("missing", ["analyzer", "analyzer_version"])
def test_a_mention_without_its_analyzer_cannot_be_counted(missing: str) -> None:
    mention = {name: value for name, value in a_mention(NOW).items() if name != missing}
    with pytest.raises(ValueError, match="cannot be counted"):
        MentionCount().add(mention)


def test_tombstones_are_collected_by_hour_and_not_counted() -> None:
    gone = a_mention(NOW, removed_at=format_time(NOW))
    count = counted(gone, a_mention(NOW, removed_at=None))
    assert count.tombstones == {"2026022120": [gone]}
    assert count.minutes == {"2026022120": {"17": [1, 0, 0, 500_000]}}


def test_the_latest_mention_is_the_one_published_last_of_equal_ones_the_last_counted() -> None:
    early, late, as_late = a_mention(NOW), a_mention(NOW + timedelta(seconds=1)), a_mention(NOW + timedelta(seconds=1))
    assert counted(late, early).latest is late
    assert counted(late, early, as_late).latest is as_late
    assert counted(a_mention(NOW, removed_at=format_time(NOW))).latest is None


@pytest.mark.parametrize("wrong", [{"sentiment": "furious"}, {"polarity": "high"}, {"polarity": None}])
def test_a_document_that_cannot_be_counted_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="mention '2026-02-21T20:17:31Z' cannot be counted"):
        MentionCount().add(a_mention(NOW, **wrong))


def test_counted_hours_replace_those_of_the_timeline_and_the_others_stay() -> None:
    counts = ToolCounts("vscode", [dirty(NOW)], windows_at(BEFORE, {}, {}), ["2026022118", "2026022120"])
    counts.timeline = a_timeline({"2026022118": [5, 0, 0, 0], "2026022119": [7, 0, 0, 0]})
    counts.count = counted(a_mention(NOW))
    counts.apply_count(edges_of(NOW))
    assert by_hour(counts.timeline_hours.stored("2026022100")) == {
        "2026022119": [7, 0, 0, 0],
        "2026022120": [1, 0, 0, 500_000],
    }


def test_edge_hours_with_mentions_that_were_not_counted_are_read_when_the_stored_windows_are_of_another_hour() -> None:
    hours = {"2026022119": ONE, "2026022120": ONE, "2026022020": ONE, "2026022021": ONE}
    counts = ToolCounts("vscode", [dirty(NOW)], windows_at(BEFORE, {}, {}), ["2026022120"], timeline=a_timeline(hours))
    counts.apply_count(edges_of(NOW))
    assert counts.needed_tables.keys() == {"2026022119", "2026022020", "2026022120"}
    counts.needed_tables = {}
    counts.stored_windows = windows_at(NOW, hours, {})
    counts.apply_count(edges_of(NOW))
    assert counts.needed_tables == {}


def test_windows_take_the_minutes_of_an_edge_from_the_count_a_table_or_the_stored_windows() -> None:
    hours = {"2026022020": ONE, "2026022119": ONE}
    counts = ToolCounts(
        "vscode", [dirty(NOW)], windows_at(BEFORE, {}, {}), ["2026022120"], timeline=a_timeline(hours), tool=TOOL
    )
    counts.count = counted(a_mention(NOW.replace(minute=3)))
    counts.apply_count(edges_of(NOW))
    assert counts.needed_tables.keys() == {"2026022119", "2026022020"}
    for hour in counts.needed_tables:
        counts.needed_tables[hour] = hour_document("vscode", hour, {"30": ONE}, {"embedded/1": [30, 30]}, {}, NOW)
    windows = _windows(counts)
    assert windows.minutes == {
        "2026022020": {"30": ONE},
        "2026022119": {"30": ONE},
        "2026022120": {"03": [1, 0, 0, 500_000]},
    }
    assert (windows.recounts, windows.made_at) == (2, MADE)
    edges = {"2026022020": [30, 30], "2026022119": [30, 30], "2026022120": [3, 3]}
    assert windows.analyzers == {"embedded/1": {"hours": [], "minutes": edges}}
    again = ToolCounts("vscode", [dirty(NOW)], windows.to_document("vscode", NOW), ["2026022119"])
    again.timeline, again.tool = counts.timeline, TOOL
    again.apply_count(edges_of(NOW))
    assert _windows(again).minutes == {
        "2026022020": {"30": ONE},
        "2026022120": {"03": [1, 0, 0, 500_000]},
    }
    del edges["2026022119"]
    assert _windows(again).analyzers == {"embedded/1": {"hours": [], "minutes": edges}}


@pytest.mark.parametrize("tool", [None, {**TOOL, "status": "MERGED"}])
def test_a_tool_that_is_gone_or_merged_has_windows_without_a_creation_time(tool: Document | None) -> None:
    counts = ToolCounts("vscode", [dirty(NOW)], windows_at(NOW, {}, {}), ["2026022120"], tool=tool)
    counts.apply_count(edges_of(NOW))
    assert _windows(counts).made_at is None


def test_an_edge_whose_stored_document_is_not_an_hour_table_is_refused() -> None:
    counts = ToolCounts("vscode", [], windows_at(BEFORE, {}, {}), timeline=a_timeline({"2026022119": ONE}), tool=TOOL)
    counts.apply_count(edges_of(NOW))
    counts.needed_tables["2026022119"] = cast("HourDocument", {"id": "HOUR:2026022119", "entity_type": "Tool"})
    with pytest.raises(ValueError, match="is not a document of HourTable"):
        _windows(counts)


def _write(counts: ToolCounts) -> CountsWrite:
    counts.apply_count(edges_of(NOW))
    write = counts.write(_windows(counts), NOW)
    assert write is not None
    return write


def _named(operations: list[Any]) -> list[str]:
    """Each operation as its name and the id it is about."""
    return [
        f"{type(each).__name__} {each.id if isinstance(each, Delete) else each.document['id']}" for each in operations
    ]


def test_a_recount_is_one_batch_on_condition_of_the_windows_in_which_each_dirty_hour_follows_its_table() -> None:
    moments = [NOW - timedelta(hours=1), NOW]
    counts = ToolCounts(
        "vscode", [dirty(each) for each in moments], windows_at(NOW, {}, {}), list(map(hour_key, moments))
    )
    counts.tool, counts.count = TOOL, counted(a_mention(NOW))
    partition, operations = _write(counts).batch()
    assert partition == "vscode"
    assert _named(operations) == [
        "Replace WINDOWS",
        "Upsert TIMELINE",
        "Upsert HOUR:2026022119",
        "Delete DIRTY:2026022119",
        "Upsert HOUR:2026022120",
        "Delete DIRTY:2026022120",
    ]
    windows, deletion = operations[0], operations[-1]
    assert isinstance(windows, Replace)
    assert isinstance(deletion, Delete)
    assert (windows.etag, deletion.etag) == ("windows 1", "etag of 2026022120")


def test_windows_that_are_not_there_are_created() -> None:
    counts = ToolCounts("vscode", [dirty(NOW)], None, ["2026022120"], {}, tool=TOOL)
    assert isinstance(_write(counts).batch()[1][0], Create)


def test_without_dirty_hours_only_the_windows_are_written() -> None:
    counts = ToolCounts("vscode", [], windows_at(BEFORE, {}, {}), timeline=a_timeline({}), tool=TOOL)
    write = _write(counts)
    assert _named(write.batch()[1]) == ["Replace WINDOWS"]
    assert write.windows["recounts"] == 1


def test_nothing_is_written_of_a_tool_that_is_gone_unless_it_has_dirty_hours() -> None:
    counts = ToolCounts("vscode", [], windows_at(BEFORE, {}, {}))
    counts.apply_count(edges_of(NOW))
    assert counts.write(_windows(counts), NOW) is None
    assert _named(
        _write(ToolCounts("vscode", [dirty(NOW)], windows_at(BEFORE, {}, {}), ["2026022120"])).operations
    ) == [
        "Upsert TIMELINE",
        "Upsert HOUR:2026022120",
        "Delete DIRTY:2026022120",
    ]


def test_dirty_hours_that_are_too_old_to_be_counted_are_deleted_all_the_same() -> None:
    old = NOW - timedelta(days=40)
    operations = _write(ToolCounts("vscode", [dirty(old)], windows_at(NOW, {}, {}), tool=TOOL)).operations
    assert _named(operations) == ["Upsert TIMELINE", f"Delete DIRTY:{hour_key(old)}"]


def test_the_timeline_forgets_the_days_that_are_older_than_counts_are_kept() -> None:
    ages = (timedelta(days=31), timedelta(days=32), timedelta(days=33))
    counts = ToolCounts("vscode", [dirty(NOW)], windows_at(BEFORE, {}, {}), ["2026022120"], tool=TOOL)
    counts.timeline = a_timeline({hour_key(NOW - age): ONE for age in ages})
    timeline = _write(counts).operations[0]
    assert isinstance(timeline, Upsert)
    assert sorted(timeline.document["hours"]) == ["20260120", "20260121"]


def test_an_hour_with_a_tombstone_stays_dirty_until_the_tombstone_has_no_texts() -> None:
    gone = a_mention(NOW, removed_at=format_time(NOW), _etag="etag of the mention")
    other = NOW - timedelta(hours=1)
    counts = ToolCounts(
        "vscode", [dirty(other), dirty(NOW)], windows_at(NOW, {}, {}), [hour_key(other), hour_key(NOW)], tool=TOOL
    )
    counts.count = counted(gone)
    assert [each.id for each in _write(counts).operations if isinstance(each, Delete)] == ["DIRTY:2026022119"]
    assert [(each.document["id"], each.etag) for each in counts.tombstones] == [(gone["id"], "etag of the mention")]
    assert not {"headline", "url", "matches"} & counts.tombstones[0].document.keys()
    emptied = {**counts.tombstones[0].document, "_etag": "another"}
    assert counted(emptied).tombstones == {}, "it was counted"
    assert counts.dirty_hours_of_tombstones == [Delete("DIRTY:2026022120", "etag of 2026022120")]


def test_a_rebuild_keeps_the_first_hours_of_the_oldest_day_which_it_does_not_count() -> None:
    """The day may not be frozen yet: then nothing else has them."""
    first, counted_now, too_old = "2026012019", "2026012020", "2026011923"
    counts = ToolCounts("vscode", [], windows_at(NOW, {}, {}), [], {}, tool=TOOL)
    counts.timeline = a_timeline(dict.fromkeys((first, counted_now, too_old), ONE))
    timeline = _write(counts).operations[0]
    assert isinstance(timeline, Upsert)
    assert by_hour(timeline.document["hours"]) == {first: ONE}
    counts.timeline = cast("TimelineDocument", {**counts.timeline, "hours": 7})
    timeline = _write(counts).operations[0]
    assert isinstance(timeline, Upsert)
    assert timeline.document["hours"] == {}


def test_a_rebuild_ignores_the_timeline_and_writes_the_tables_that_are_wrong_or_dirty() -> None:
    hours = {back: NOW - timedelta(hours=back) for back in range(5)}
    count = counted(*(a_mention(hours[back]) for back in (0, 1, 2)))
    one = [1, 0, 0, 500_000]
    tables = {
        back: hour_document("vscode", hour_key(hours[back]), {"17": one}, {"embedded/1": [17, 17]}, ROWS, NOW)
        for back in (0, 1, 4)
    }
    counts = ToolCounts(
        "vscode",
        [dirty(hours[1]), dirty(hours[3])],
        None,
        [hour_key(hours[3]), hour_key(hours[1])],
        {table["hour"]: table for table in tables.values()},
        a_timeline({"2026022110": ONE}),
        TOOL,
        count,
    )
    write = _write(counts)
    timeline = write.operations[0]
    assert isinstance(timeline, Upsert)
    assert by_hour(timeline.document["hours"]) == {hour_key(hours[back]): one for back in (0, 1, 2)}
    assert _named(write.operations[1:]) == [
        "Upsert HOUR:2026022116",
        "Upsert HOUR:2026022117",
        "Delete DIRTY:2026022117",
        "Upsert HOUR:2026022118",
        "Upsert HOUR:2026022119",
        "Delete DIRTY:2026022119",
    ]
    assert write.windows["minutes"] == {"2026022119": {"17": one}, "2026022120": {"17": one}}
    assert counts.needed_tables == {}


def _of(operations: int) -> CountsWrite:
    deletions = [Delete(f"DIRTY:{number}", "etag") for number in range(operations)]
    return CountsWrite(ToolCounts("vscode", [], None), cast("WindowsDocument", {"id": "WINDOWS"}), None, [*deletions])


def test_a_recount_of_49_hours_fits_into_a_batch_and_one_of_50_does_not() -> None:
    for hours, batches in ((49, 1), (50, 2)):
        moments = [NOW - timedelta(hours=back) for back in reversed(range(hours))]
        write = _write(
            ToolCounts(
                "vscode", list(map(dirty, moments)), windows_at(NOW, {}, {}), list(map(hour_key, moments)), tool=TOOL
            )
        )
        done = 1
        while write.after([f"etag {number}" for number in range(len(write.batch()[1]))]) == "unfinished":
            done += 1
        assert done == batches


def test_more_operations_than_a_batch_has_are_written_by_further_batches_each_on_condition_of_the_one_before() -> None:
    write = _of(99 + 99 + 1)
    sizes, conditions = [], []
    state = "unfinished"
    while state == "unfinished":
        _, operations = write.batch()
        sizes.append(len(operations))
        first = operations[0]
        conditions.append(first.etag if isinstance(first, Replace) else None)
        state = write.after([f"version {len(sizes)}", *[None] * (len(operations) - 1)])
    assert state == "written"
    assert sizes == [100, 100, 2]
    assert conditions == [None, "version 1", "version 2"]


@pytest.mark.parametrize("error", [ChangedMeanwhile("windows", 0), Conflict("windows", 0)])
def test_a_write_whose_windows_have_changed_is_overtaken(error: ChangedMeanwhile | Conflict) -> None:
    assert _of(3).after(error) == "overtaken"


def test_an_hour_that_was_marked_again_stays_dirty_and_the_rest_is_written() -> None:
    write = _of(3)
    assert write.after(ChangedMeanwhile("the second dirty hour", 2)) == "unfinished"
    assert _named(write.operations) == ["Delete DIRTY:0", "Delete DIRTY:2"]
    assert _of(1).after(ChangedMeanwhile("the last dirty hour of a later batch", 1)) == "written"


def test_counts_are_kept_for_the_longest_window_the_hour_it_begins_in_and_a_day_to_spare() -> None:
    assert timedelta(days=32) == KEPT


def test_a_timeline_is_read_by_day_or_as_earlier_versions_stored_it_by_hour() -> None:
    hours = {"2026022119": [1, 0, 0, 5], "2026022120": [0, 2, 0, -7]}
    for stored in (by_day(hours), hours):
        document = cast("TimelineDocument", {"id": "TIMELINE", "entity_type": "DataProduct", "hours": stored})
        assert hours_of(document).stored("2026022100") == by_day(hours)
        assert hours_of(document).stored_analyzers("2026022100") == {}
        judged = cast("TimelineDocument", {**document, "analyzers": {"embedded/1": {"20260221": 1 << 19}}})
        assert hours_of(judged).analyzers_of_hour("2026022119") == {"embedded/1"}
    assert hours_of(None).stored("2026022100") == {}


@pytest.mark.parametrize(
    ("windows", "is_last"),
    [
        (None, True),
        ({}, True),
        ({"recounts": None}, True),
        ({"recounts": 2}, True),
        ({"recounts": 3}, True),
        ({"recounts": 4}, False),
        ({"recounts": "3"}, False),
    ],
)
def test_an_entry_is_of_the_last_recount_if_the_windows_have_no_higher_number(
    windows: Document | None, is_last: bool
) -> None:
    assert is_of_last_recount(3, windows) is is_last
    assert is_of_last_recount(0, {}) is True


@pytest.mark.parametrize("wrong", [{"hours": "none"}, {"hours": None}, {"entity_type": "Tool"}])
def test_a_document_that_is_not_a_timeline_is_refused(wrong: dict[str, Any]) -> None:
    document = cast("TimelineDocument", documents.timeline().to_document() | wrong)
    with pytest.raises(ValueError, match="'TIMELINE' is not a document of Timeline"):
        hours_of(document)


def test_the_minutes_of_an_hour_are_read_as_they_were_stored() -> None:
    minutes = {"07": [1, 0, 0, 500_000], "59": [0, 1, 0, -3]}
    stored = hour_document("vscode", "2026022119", minutes, {"embedded/1": [7, 59]}, ROWS, NOW)
    assert minutes_of(stored) == minutes
    assert minutes_of(None) == analyzers_of(None) == {}
    assert analyzers_of(stored) == {"embedded/1": [7, 59]}
    table = HourTable.from_document(stored)
    assert (table.id, table.tool_id, table.created_at) == ("HOUR:2026022119", "vscode", NOW)
    assert table.minutes == {"07": Tally(1, 0, 0, 500_000), "59": Tally(0, 1, 0, -3)}
    assert table.analyzers == {"embedded/1": (7, 59)}


@pytest.mark.parametrize("wrong", [{"minutes": []}, {"minutes": None}, {"entity_type": "DirtyHour"}])
def test_a_document_that_is_not_an_hour_table_is_refused(wrong: dict[str, Any]) -> None:
    document = cast("HourDocument", documents.hour_table().to_document() | wrong)
    with pytest.raises(ValueError, match="'HOUR:2026022120' is not a document of HourTable"):
        minutes_of(document)


def test_a_recount_raises_the_count_of_the_timeline_and_names_the_latest_source() -> None:
    days = by_day({"2026022119": [1, 0, 0, 5]})
    first = timeline_document("vscode", None, days, {"embedded/1": {"20260221": 1 << 19}}, {"source": "reuters"}, NOW)
    assert (first["hours"], first["ingestion_count"], first["created_at"]) == (days, 1, "2026-02-21T20:17:31Z")
    assert first["last_ingestion_source"] == "reuters"
    later = NOW + timedelta(minutes=15)
    second = timeline_document("vscode", first, {}, {}, None, later)
    assert (second["hours"], second["ingestion_count"], second["created_at"]) == ({}, 2, first["created_at"])
    assert (second["last_ingestion_source"], second["last_ingestion_at"]) == ("reuters", "2026-02-21T20:32:31Z")
    assert second["updated_at"] == second["last_ingestion_at"]
    bare: TimelineDocument = {"id": "TIMELINE"}
    assert [recounts_of(each) for each in (None, bare, first, second)] == [0, 0, 1, 2]
    assert Timeline.from_document(second).ingestion_count == 2
    assert first.keys() | second.keys() <= TimelineDocument.__optional_keys__


def test_a_timeline_keeps_the_fields_of_a_later_version() -> None:
    before = cast("TimelineDocument", documents.timeline().to_document() | {"schema_version": "2", "later": 7})
    after = timeline_document("vscode", before, {}, {}, {"source": None}, NOW)
    assert cast("dict[str, Any]", after)["later"] == 7
