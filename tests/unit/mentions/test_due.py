"""The messages of `refresh-tools`, and how long they wait."""

from __future__ import annotations

import pytest

from models.errors import InvalidInput
from services.mentions.due import RefreshMessage, next_delay


def test_messages_are_read_as_they_are_written_and_nothing_else_is() -> None:
    for message in (RefreshMessage(("a", "b")), RefreshMessage(("a",), "run", "0001"), RefreshMessage(())):
        assert RefreshMessage.from_message(message.to_message()) == message
    for text in ("", "[]", "{}", '{"tool_ids": [1]}', '{"tool_ids": [], "run_id": "r"}'):
        with pytest.raises(InvalidInput):
            RefreshMessage.from_message(text)


def test_the_next_refresh_waits_a_second_or_twice_as_long_as_the_last_one_took_but_15_seconds_at_most() -> None:
    assert [next_delay(took) for took in (0.0, 0.5, 0.6, 4.0, 7.5, 300.0)] == [1.0, 1.0, 1.2, 8.0, 15.0, 15.0]
