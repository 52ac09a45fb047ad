"""The health of the audit: what it found to differ, as numbers by kind."""

from __future__ import annotations

from models.audit import AuditProgress
from models.values import format_time
from services.operations.audit_rules import HARMLESS
from services.operations.check import Check
from services.ports import Store, readable
from services.store.containers import CATALOG


async def check_audit(store: Store) -> Check:
    document = await store.read(CATALOG.name, AuditProgress.PARTITION, AuditProgress.ID)
    return judge_audit(readable(document, AuditProgress.from_document))


def judge_audit(progress: AuditProgress | None) -> Check:
    """Degraded if the last round of the audit found differences, or the present one has."""
    last = None if progress is None else progress.last
    rounds = [] if progress is None else [progress.present, *([last] if last is not None else [])]
    found: dict[str, int] = {}
    for each in rounds:
        for kind, number in each.found.items():
            found[kind] = max(number, found.get(kind, 0))
    facts = {
        "differences": found,
        "last_ended": format_time(last.ended_at) if last and last.ended_at else None,
        "checked": sum(each.checked for each in rounds[-1:]),
    }
    wrong = [f"{number} {kind}" for kind, number in sorted(found.items()) if kind not in HARMLESS]
    if wrong:
        return Check("degraded", f"stored documents differ: {', '.join(wrong)}: see `toolpulse audit`", facts)
    return Check("healthy", "no differences" if last is not None else "the first audit has not ended yet", facts)
