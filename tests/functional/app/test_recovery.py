"""Whole hosts are killed while they import feeds: soon after a restart all figures are complete, none is doubled."""

from pathlib import Path

import pytest

from tests.functional.app.recovery import Plan, recover

PATIENCE_SECONDS = 60
"""For a machine that is busy with other tests."""


@pytest.mark.parametrize("hosts", [1, 2])
async def test_all_figures_are_complete_after_a_restart(tmp_path: Path, hosts: int) -> None:
    plan = Plan(feeds=6, entries=20, kills=3, seed=hosts, hosts=hosts, longest_life=1.0)
    recovery = await recover(tmp_path, plan, PATIENCE_SECONDS)
    assert recovery.is_right_for(plan), recovery
