"""Which corrections return to a tool whose merge is undone, and which stay with the target. Pure.

A verdict that the tool had before the merge returns to it, and one that the target had before stays. A verdict that a
person made on the target since, on a mention, was about the article for both tools: each tool that the article names
gets it. A muted source or an excluded phrase that was added to the target since stays with the target.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from models.correction import Correction, PastVerdict
from services.mentions.corrections import latest, past, runs_of, with_history


@dataclass(frozen=True, slots=True)
class Returned:
    """The correction of the unmerged tool and that of the target afterwards; None: none."""

    of_tool: Correction | None
    of_target: Correction | None


def returned(
    of_target: Correction | None,
    of_tool: Correction | None,
    merged_at: datetime,
    now: datetime,
    *,
    names_tool: bool,
    names_target: bool,
) -> Returned:
    """`of_tool` is the correction as the merge carried it over, if the tool had one. `names_tool` and `names_target`
    say which of the tools the article names."""
    if of_target is None:
        return Returned(of_tool, None)
    theirs = runs_of(of_tool) if of_tool is not None else set()
    is_theirs = of_target.made_by_run in theirs
    if is_theirs and of_tool is not None:
        is_joint = of_target.undone_at != of_tool.undone_at
    else:
        is_joint = latest(of_target) > merged_at
    others = tuple(each for each in of_target.history if each.made_by_run not in theirs)
    return Returned(
        _joint(of_target, of_tool, others, merged_at) if is_joint and names_tool else of_tool,
        _staying(of_target, others, merged_at, now, is_present=names_target if is_joint else not is_theirs),
    )


def _joint(
    of_target: Correction, of_tool: Correction | None, others: tuple[PastVerdict, ...], merged_at: datetime
) -> Correction:
    """The verdict since the merge as one of the tool, after the verdicts that the tool had."""
    history = [each for each in others if each.made_at > merged_at]
    if of_tool is not None:
        history += of_tool.history
        if of_tool.made_by_run != of_target.made_by_run:
            history.append(past(of_tool))
    return of_target.changed(of_target.updated_at, history=tuple(sorted(history, key=lambda each: each.made_at)))


def _staying(
    of_target: Correction, others: tuple[PastVerdict, ...], merged_at: datetime, now: datetime, *, is_present: bool
) -> Correction | None:
    """The target's correction without the verdicts of the tool; the same object if it has none of them."""
    if is_present:
        return of_target if others == of_target.history else of_target.changed(now, history=others)
    own = [each for each in others if each.made_at <= merged_at]
    if not own:
        return None
    fields: dict[str, Any] = {name: getattr(own[-1], name) for name in PastVerdict.model_fields if name != "tool_id"}
    return of_target.changed(
        now, **fields, history=with_history(of_target.model_copy(update={"history": ()}), *own[:-1])
    )
