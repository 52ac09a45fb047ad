"""Items of the quarantine and their parts."""

from models.quarantine import QuarantineItem, QuarantinePart
from tests.documents import NOW, quarantined


def test_a_part_is_stored_beside_its_item_under_its_number() -> None:
    part = QuarantinePart(created_at=NOW, updated_at=NOW, quarantine_id="BATCH:a:x", number=7, items=())
    assert (part.CONTAINER, part.partition, part.id) == ("quarantine", "BATCH:a:x", "part:0007")


def test_an_item_without_entries_has_no_parts() -> None:
    item = QuarantineItem(
        created_at=NOW,
        updated_at=NOW,
        quarantine_id="DOCUMENT:x",
        kind="DOCUMENT",
        subject="x",
        reason_code=quarantined().reason_code,
        reason="it fits no profile",
    )
    assert (item.item_count, item.parts, item.manual_review_status) == (0, 0, "PENDING")


def test_only_a_released_item_that_was_not_ingested_waits_for_ingestion() -> None:
    pending = quarantined()
    released = pending.reviewed(NOW, "CLEARED_RETRY_APPROVED")
    assert [
        each.waits_for_ingestion
        for each in (
            pending,
            released,
            released.changed(NOW, released_at=NOW),
            pending.reviewed(NOW, "CLEARED_TERMINAL"),
        )
    ] == [False, True, False, False]
