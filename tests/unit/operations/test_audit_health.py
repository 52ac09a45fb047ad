"""What the app's health says of the audit."""

from models.audit import AuditExample, AuditRound
from services.operations.audit_health import check_audit, judge_audit
from services.store.sqlite import SqliteStore
from tests.builders import NOON
from tests.documents import audit_progress

SOUND = AuditRound(started_at=NOON, ended_at=NOON, checked=5, found={"dangling_alias": 3})


def test_before_the_first_round_has_ended_nothing_is_wrong() -> None:
    assert judge_audit(None).shown() == {
        "status": "healthy", "detail": "the first audit has not ended yet",
        "differences": {}, "last_ended": None, "checked": 0,
    }  # fmt: skip


def test_differences_degrade_with_their_kinds_and_numbers() -> None:
    found = judge_audit(audit_progress())
    assert (found.status, found.facts["differences"], found.facts["checked"]) == ("degraded", {"hour_differs": 2}, 9)
    assert found.detail == "stored documents differ: 2 hour_differs: see `toolpulse audit`"


def test_harmless_differences_do_not_degrade() -> None:
    harmless = judge_audit(audit_progress(last=SOUND))
    assert (harmless.status, harmless.detail) == ("healthy", "no differences")
    assert harmless.facts["last_ended"] == "2026-02-21T12:00:00Z"


def test_differences_of_the_present_round_degrade_at_once() -> None:
    present = SOUND.plus(1, [AuditExample(kind="unreadable", subject="x", detail="y")])
    assert judge_audit(audit_progress(present=present, last=SOUND)).status == "degraded"


async def test_a_progress_that_cannot_be_read_is_as_none(store: SqliteStore) -> None:
    await store.create("catalog", {**audit_progress().to_document(), "present": "x"})
    assert (await check_audit(store)).status == "healthy"
