"""The messages of runs are read as they are written, and nothing else is."""

from __future__ import annotations

import pytest

from models.errors import InvalidInput
from services.workflows.messages import completed_message, completed_tool_of, run_id_of, run_message


def test_messages_are_read_as_they_are_written() -> None:
    assert run_id_of(run_message("r")) == "r"
    assert completed_tool_of(completed_message("t", "r")) == "t"
    assert completed_message("t", "r") == '{"tool_id":"t","run_id":"r"}'


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"run_id": 1, "tool_id": 1}', '{"run_id": "", "tool_id": ""}', '"r"']
)
def test_what_is_no_message_is_refused(text: str) -> None:
    for read in (run_id_of, completed_tool_of):
        with pytest.raises(InvalidInput):
            read(text)
