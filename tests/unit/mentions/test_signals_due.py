"""What `generate-ideas` is told."""

from __future__ import annotations

import json

import pytest

from models.errors import InvalidInput
from services.mentions.signals_due import MOST_NAMED, event_ids_of, ideas_messages

EVENT = f"story:20260221:{'ab' * 16}"


def test_the_messages_have_the_payload_of_the_specification() -> None:
    assert [json.loads(each) for each in ideas_messages([EVENT])] == [
        {"event": "processing.generate_ideas", "event_ids": [EVENT], "trigger_reason": "events_updated"}
    ]


def test_many_stories_are_named_in_several_messages_far_below_the_limit_of_a_queue() -> None:
    messages = ideas_messages([EVENT] * (MOST_NAMED + 1))
    assert [len(json.loads(each)["event_ids"]) for each in messages] == [100, 1]
    assert len(messages[0]) < 10_000
    assert event_ids_of(messages[0]) == [EVENT]
    assert ideas_messages([]) == []


@pytest.mark.parametrize(
    "text", ["", "7", "[]", "{}", '{"event_ids":"a"}', '{"event_ids":[""]}', '{"event_ids":["a"]}', '{"event_ids":[7]}']
)
def test_what_is_no_such_message_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="event_ids"):
        event_ids_of(text)
