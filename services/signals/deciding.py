"""Decides which signals of a story are written: made, updated, withdrawn, or made anew. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any

from models.signal import Signal, signal_id
from services.signals.facts import ToolStory
from services.signals.rules import Finding, findings

TOLD_WITHIN = timedelta(hours=24)
"""A signal is made within this time of what it tells: a first import, or a new tool, makes none of old stories. A
signal that was made follows its story however old it gets."""

Key = tuple[str, str]
"""The tool and the id of a signal."""


def decide(
    stories: Iterable[ToolStory], known: Collection[Signal], inherited: Collection[Key], now: datetime
) -> list[Signal]:
    """The signals to write, from a story as far as it mentions each tool, and from the known signals of the story.

    `inherited` are signals that go on although they are old: see `too_old`.
    """
    before: dict[Key, Signal] = {(each.tool_id, each.id): each for each in known}
    written: list[Signal] = []
    found: set[Key] = set()
    for story in stories:
        for finding in findings(story):
            key = key_of(story, finding)
            found.add(key)
            if key in before:
                after = _updated(before[key], story, finding, now)
                written += [after] if after is not None else []
            elif key in inherited or _is_told(finding, now):
                fields = {**_fields(story, finding), "created_at": now, "updated_at": now}
                written.append(Signal(tool_id=story.tool_id, event_id=story.event_id, **fields))
    gone = [each for key, each in before.items() if key not in found and each.withdrawn_at is None]
    return [*written, *(each.changed(now, withdrawn_at=now) for each in gone)]


def too_old(stories: Iterable[ToolStory], known: Collection[Signal], now: datetime) -> list[tuple[ToolStory, Finding]]:
    """The findings of which no signal is made, unless they had one before the tool was merged or the story got another
    id."""
    there = {(each.tool_id, each.id) for each in known}
    return [
        (story, finding)
        for story in stories
        for finding in findings(story)
        if not _is_told(finding, now) and key_of(story, finding) not in there
    ]


def key_of(story: ToolStory, finding: Finding) -> Key:
    return story.tool_id, signal_id(finding.kind, finding.topic, story.event_id)


def _is_told(finding: Finding, now: datetime) -> bool:
    return now - finding.timestamp <= TOLD_WITHIN


def _updated(before: Signal, story: ToolStory, finding: Finding, now: datetime) -> Signal | None:
    """None if nothing changes."""
    after = before.changed(now, **_fields(story, finding), withdrawn_at=None)
    same = after.changed(before.updated_at) == before
    return None if same else after


def _fields(story: ToolStory, finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "timestamp": finding.timestamp,
        "story_published_at": story.began_at,
        "reason": finding.reason,
        "before": finding.before,
        "after": finding.after,
        "compared_with": finding.compared_with,
        "topic": finding.topic,
        "days": finding.days,
        "publishers": finding.publishers,
        "articles": finding.articles,
    }
