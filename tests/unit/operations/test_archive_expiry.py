"""An object stays as long as the document of its article, and no longer."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from models.document import DocumentProduct
from models.values import unix_seconds
from services.archive.keys import folder_of
from services.articles.writing import Asked
from services.documents import life_cycle
from services.operations import upkeep
from services.operations.checks import Heartbeats, may_delete_by_clock
from services.operations.upkeep import KEPT_AT_LEAST, ArchiveExpiry
from services.ports import Archived
from services.store.sqlite import SqliteStore
from services.topology import CLEAN_UP
from tests import documents
from tests.builders import NOON, MemoryArchive, Watch


def product(source_id: str, at: datetime = NOON, **changes: Any) -> DocumentProduct:
    fields = {"source_id": source_id, "created_at": at, "updated_at": at}
    return documents.document(**{**fields, "ttl_timestamp": unix_seconds(at + timedelta(days=30)), **changes})


def quarantined(source_id: str, at: datetime = NOON) -> DocumentProduct:
    pending = {"quarantine_reason_code": "OTHER", "manual_review_status": "PENDING"}
    return product(source_id, at, validation_status="QUARANTINED", ttl_timestamp=None, **pending)


async def file_of(archive: MemoryArchive, of: DocumentProduct, data: bytes = b"text") -> Archived:
    return await archive.put(folder_of(of.source_id, of.folder_day), data)


@pytest.fixture
def archive() -> MemoryArchive:
    return MemoryArchive()


@pytest.fixture
def watch() -> Watch:
    return Watch(NOON)


class Expiry:
    """Runs as the timer does: at the end of each run a heartbeat is written."""

    def __init__(self, store: SqliteStore, archive: MemoryArchive, watch: Watch) -> None:
        self._store = store
        self._heartbeats = Heartbeats(store, watch)
        self._expiry = ArchiveExpiry(store, archive, watch)
        self._watch = watch

    async def beat(self) -> None:
        await self._heartbeats.record(CLEAN_UP.name, self._watch())

    async def clean_up(self) -> int:
        deleted = await self._expiry.clean_up() if await upkeep.is_steady(self._store, self._watch()) else 0
        await self.beat()
        return deleted

    async def after(self, **span: float) -> int:
        """What is deleted in this time, while the timer runs every hour."""
        until, deleted = self._watch() + timedelta(**span), 0
        while self._watch() < until:
            self._watch.now = min(until, self._watch() + timedelta(hours=1))
            deleted += await self.clean_up()
        return deleted


@pytest.fixture
async def expiry(store: SqliteStore, archive: MemoryArchive, watch: Watch) -> Expiry:
    made = Expiry(store, archive, watch)
    await made.beat()
    return made


async def written(store: SqliteStore, *products: DocumentProduct) -> None:
    for each in products:
        await store.upsert(each.CONTAINER, each.to_document())


async def test_files_are_deleted_once_their_document_has_expired(
    store: SqliteStore, archive: MemoryArchive, expiry: Expiry
) -> None:
    ours, others = product("dedup:01"), product("dedup:02", NOON + timedelta(days=2))
    await written(store, ours, others)
    for each in (ours, others):
        await file_of(archive, each)
        await file_of(archive, each, b"other")
    assert await expiry.after(days=30) == 0, "a folder is not looked at before its day is over"
    assert await expiry.after(hours=12) == 2
    assert {key.partition("/")[0] for key in archive.objects} == {"2026-02-23"}
    assert await expiry.after(days=2) == 2


async def test_what_quarantine_holds_stays_until_it_was_reviewed_and_its_time_is_over(
    store: SqliteStore, archive: MemoryArchive, expiry: Expiry, watch: Watch
) -> None:
    held = quarantined("dedup:01")
    await written(store, held)
    await file_of(archive, held)
    assert await expiry.after(days=35) == 0
    reviewed = held.changed(
        watch(),
        manual_review_status="CLEARED_TERMINAL",
        validation_status="TERMINAL_INVALID",
        ttl_timestamp=unix_seconds(watch() + timedelta(days=30)),
    )
    await written(store, reviewed)
    assert await expiry.after(days=29) == 0
    assert await expiry.after(days=2) == 1


async def test_bytes_whose_document_was_never_written_or_was_made_anew_are_deleted(
    store: SqliteStore, archive: MemoryArchive, expiry: Expiry, watch: Watch
) -> None:
    await file_of(archive, product("dedup:01"))
    await file_of(archive, product("dedup:02"))
    assert await expiry.after(days=20) == 0
    new = product("dedup:02", watch())
    await written(store, new)
    await file_of(archive, new)
    assert await expiry.after(days=11) == 2
    assert list(archive.objects) == [f"{folder_of('dedup:02', new.folder_day)}/{(await file_of(archive, new)).sha256}"]


async def test_a_text_that_was_asked_for_late_expires_with_its_article(
    store: SqliteStore, archive: MemoryArchive, expiry: Expiry, watch: Watch
) -> None:
    watch.advance(days=25)
    await expiry.beat()
    ends = unix_seconds(NOON + timedelta(days=30))
    late = life_cycle.stub(Asked("dedup:01", "a", "https://news.example/1", "r", ends), watch())
    assert (late.folder_day, late.ttl_timestamp) == ("2026-02-21", ends)
    await written(store, late)
    await file_of(archive, late)
    assert await expiry.after(days=5) == 0
    assert await expiry.after(days=1) == 1


async def test_many_held_documents_do_not_keep_others_from_expiring(
    store: SqliteStore, archive: MemoryArchive, expiry: Expiry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "MAX_FOLDERS", 4)
    monkeypatch.setattr(upkeep, "FOLDERS_AT_A_TIME", 2)
    held = [quarantined(f"dedup:0{n}") for n in range(7)]
    await written(store, *held)
    for each in (*held, product("dedup:99")):
        await file_of(archive, each)
    assert await expiry.after(days=30) == 0
    assert sorted([await expiry.after(hours=12) for _ in range(2)]) == [0, 1]
    assert len(archive.objects) == 7


async def test_an_archive_that_is_down_holds_nothing_else_up(
    archive: MemoryArchive, expiry: Expiry, caplog: pytest.LogCaptureFixture
) -> None:
    await file_of(archive, product("dedup:01"))
    archive.down = True
    assert await expiry.after(days=32) == 0
    assert "archive_not_cleaned_up" in caplog.text
    archive.down = False
    assert await expiry.after(hours=1) == 1


async def test_a_clock_that_jumped_ahead_deletes_nothing_that_comes_back(
    store: SqliteStore, archive: MemoryArchive, expiry: Expiry, watch: Watch
) -> None:
    of = product("dedup:01")
    await written(store, of)
    file = await file_of(archive, of)
    watch.advance(days=35)
    assert await expiry.clean_up() == 0
    assert await expiry.after(hours=23) == 0
    watch.advance(days=-35, hours=-1)
    assert await expiry.clean_up() == 0
    assert await archive.get(file.archive_key) == b"text"
    assert await expiry.after(days=32) == 1


@pytest.mark.parametrize(
    ("beat", "gap", "may"),
    [
        (None, None, False),
        (0, None, True),
        (24, None, True),
        (24.1, None, False),
        (-0.05, None, True),
        (-0.1, None, False),
        (0, (48, 25), True),
        (0, (49, 24), False),
        (0, (49, 24.1), True),
        (0, (48, 23.9), False),
        (0, (-100, 20), False),
        (0, (-100, 24.1), True),
    ],
)
def test_by_its_heartbeat_a_timer_knows_that_the_clock_is_steady(
    beat: float | None, gap: tuple[float, float] | None, may: bool
) -> None:
    """Hours before now: of the last beat, and of the two ends of its gap."""

    def ago(hours: float) -> datetime:
        return NOON - timedelta(hours=hours)

    if beat is None:
        assert may_delete_by_clock(None, NOON) is may
        return
    ends = {"gap_from": ago(gap[0]), "gap_until": ago(gap[1])} if gap else {}
    of = documents.heartbeat(updated_at=ago(beat), **ends)
    assert may_delete_by_clock(of, NOON) is may


def test_a_folder_is_kept_for_the_life_of_a_document_and_a_document_that_cannot_be_read_keeps_its_files() -> None:
    life = (product("a").ttl_timestamp or 0) - unix_seconds(NOON)
    assert timedelta(seconds=life) == KEPT_AT_LEAST
    assert upkeep._is_of({"id": "DOCUMENT"}, "2026-02-21/a")
    assert upkeep._is_of({"created_at": "2026-02-21T10:00:00Z"}, "2026-02-21/a")
    assert not upkeep._is_of({"created_at": "2026-02-22T10:00:00Z"}, "2026-02-21/a")
    assert not upkeep._is_of(None, "2026-02-21/a")
