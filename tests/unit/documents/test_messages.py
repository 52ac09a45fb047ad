"""Messages of `acquire-documents`, and the names by which robots.txt may mean this app."""

import pytest

from models.errors import InvalidInput
from services.documents.discovery import AcquireMessage
from services.documents.robots import agents_of


def test_a_message_names_its_run_and_documents() -> None:
    message = AcquireMessage("run-1", ("dedup:1", "dedup:2"))
    assert message.to_message() == '{"run_id":"run-1","source_ids":["dedup:1","dedup:2"]}'
    assert AcquireMessage.from_message(message.to_message()) == message


@pytest.mark.parametrize(
    "text",
    [
        *("", "7", "[]", "{}", '{"run_id":"r"}', '{"run_id":"","source_ids":["a"]}'),
        *('{"run_id":"r","source_ids":[]}', '{"run_id":"r","source_ids":"a"}', '{"run_id":"r","source_ids":[1]}'),
        '{"run_id":7,"source_ids":["a"]}',
    ],
)
def test_another_message_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="message: must be a JSON object with run_id and source_ids"):
        AcquireMessage.from_message(text)


@pytest.mark.parametrize(
    ("headers", "names"),
    [
        (("toolpulse/1.0 (+https://example.org)",), ("toolpulse",)),
        (("a/1", "b-c/2", "a/3"), ("a", "b-c")),
        ((" Mozilla/5.0 (compatible)",), ("Mozilla",)),
        (("1234",), ("toolpulse",)),
        ((), ("toolpulse",)),
    ],
)
def test_rules_are_looked_for_by_product_names(headers: tuple[str, ...], names: tuple[str, ...]) -> None:
    assert agents_of(headers) == names
