"""The contract names every figure of a check, also those of checks that fail."""

from datetime import timedelta

import pytest

from models.feed import Outage
from models.resources.health import Check as ShownCheck
from models.resources.health import HealthChecks
from services.mentions.due import DirtyTools
from services.operations.checks import Check, judge_clock, judge_reviews
from services.operations.feed_health import FeedCounts, judge_feeds, judge_web
from services.operations.health import (
    CacheFacts,
    judge_audit,
    judge_backlog,
    judge_cache,
    judge_last_fetch,
    judge_queues,
    judge_store,
    judge_timers,
)
from services.operations.traffic import Load
from services.work.backlog import Backlog
from tests.documents import NOW

DOWN = Outage(since=NOW - timedelta(hours=2), failing=3, answering=1, created_at=NOW)
LIMITED = Load(requests=10, refused=9, waited_seconds=1.5)
CHECKS = {
    "database": judge_store(LIMITED),
    "scheduler": judge_timers((), {}, NOW, NOW),
    "clock": judge_clock({}, NOW, NOW),
    "web": judge_web(DOWN, NOW),
    "feeds_active": judge_feeds(FeedCounts(), None, (), NOW),
    "last_successful_fetch": judge_last_fetch(None, NOW, NOW),
    "queues": judge_queues(()),
    "analysis": judge_backlog(Backlog(None, None), NOW, NOW),
    "cache": judge_cache(CacheFacts(None, None, DirtyTools(0, None)), NOW, NOW),
    "quarantine": judge_reviews({}, NOW),
    "audit": judge_audit(None),
}
"""Each with all figures that it can have."""


FACTS = {
    name: field.annotation.model_fields.keys() - ShownCheck.model_fields.keys()  # type: ignore[union-attr]
    for name, field in HealthChecks.model_fields.items()
}


@pytest.mark.parametrize("name", CHECKS)
def test_the_contract_names_the_figures_of_a_check_and_no_others(name: str) -> None:
    check: Check = CHECKS[name]
    assert set(check.facts) == FACTS[name]


def test_the_other_checks_have_no_figures() -> None:
    assert [name for name in FACTS if name not in CHECKS] == ["archive"]
    assert FACTS["archive"] == set()
