"""Which verdicts return to a tool whose merge is undone."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from models.correction import Correction
from services.mentions.corrections import carried
from services.mentions.returning import returned
from tests.documents import NOW, OTHER_TOOL_ID, TOOL_ID, correction

MERGED = NOW + timedelta(hours=1)
SINCE = NOW + timedelta(hours=2)
LATER = NOW + timedelta(hours=3)
TARGET, SOURCE = TOOL_ID, OTHER_TOOL_ID


def verdict(run: str, tool_id: str, made_at: datetime = NOW, **changes: Any) -> Correction:
    return correction(tool_id=tool_id, made_by_run=run, made_at=made_at, history=(), **changes)


OF_SOURCE, OF_TARGET = verdict("source", SOURCE), verdict("target", TARGET)
JOINT = verdict("joint", TARGET, SINCE)


def divided(target: Correction | None, source: Correction | None, names: str) -> tuple[Any, Any]:
    """The runs of both corrections afterwards, oldest first."""
    both = returned(target, source, MERGED, LATER, names_tool="s" in names, names_target="t" in names)
    return runs(both.of_tool), runs(both.of_target)


def runs(made: Correction | None) -> list[str] | None:
    return None if made is None else [*(each.made_by_run for each in made.history), made.made_by_run]


def after(before: Correction, new: Correction) -> Correction:
    """The target's correction after another verdict."""
    from services.mentions.corrections import after_verdict

    return after_verdict(before, new.changed(SINCE, tool_id=before.tool_id), before.made_by_run, SINCE)


@pytest.mark.parametrize("names", ["s", "t", "st"])
def test_a_verdict_of_the_tool_returns_and_the_target_has_none(names: str) -> None:
    assert divided(carried(None, OF_SOURCE, TARGET, MERGED), OF_SOURCE, names) == (["source"], None)


@pytest.mark.parametrize("names", ["s", "t", "st"])
def test_each_keeps_its_own_where_both_had_one(names: str) -> None:
    assert divided(carried(OF_TARGET, OF_SOURCE, TARGET, MERGED), OF_SOURCE, names) == (["source"], ["target"])


def test_an_undone_verdict_of_the_target_that_was_replaced_is_there_again_undone() -> None:
    undone = OF_TARGET.changed(NOW, undone_at=NOW, undone_by="Ada")
    merged = carried(undone, OF_SOURCE, TARGET, MERGED)
    assert merged.made_by_run == "source"
    both = returned(merged, OF_SOURCE, MERGED, LATER, names_tool=True, names_target=True)
    assert both.of_target is not None
    assert (both.of_target.made_by_run, both.of_target.undone_by, both.of_target.history) == ("target", "Ada", ())


@pytest.mark.parametrize(
    ("names", "expected"), [("s", (["joint"], None)), ("t", (None, ["joint"])), ("st", (["joint"], ["joint"]))]
)
def test_a_verdict_since_the_merge_goes_to_each_tool_that_the_article_names(names: str, expected: Any) -> None:
    assert divided(JOINT, None, names) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("s", (["source", "joint"], ["target"])),
        ("t", (["source"], ["target", "joint"])),
        ("st", (["source", "joint"], ["target", "joint"])),
    ],
)
def test_a_verdict_since_the_merge_follows_those_that_each_tool_had(names: str, expected: Any) -> None:
    merged = after(carried(OF_TARGET, OF_SOURCE, TARGET, MERGED), verdict("joint", TARGET, SINCE, reason="new"))
    assert divided(merged, OF_SOURCE, names) == expected


def test_undoing_a_verdict_of_the_tool_on_the_target_undoes_it_for_the_tool() -> None:
    merged = carried(None, OF_SOURCE, TARGET, MERGED).changed(SINCE, undone_at=SINCE, undone_by="Grace")
    both = returned(merged, OF_SOURCE, MERGED, LATER, names_tool=True, names_target=False)
    assert both.of_tool is not None
    assert (both.of_tool.undone_by, both.of_tool.history, both.of_target) == ("Grace", (), None)


def test_a_verdict_of_the_target_from_before_the_merge_stays_as_it_is() -> None:
    both = returned(OF_TARGET, None, MERGED, LATER, names_tool=True, names_target=False)
    assert both.of_target is OF_TARGET
    assert both.of_tool is None


def test_a_correction_that_never_arrived_returns() -> None:
    assert divided(None, OF_SOURCE, "st") == (["source"], None)
