"""Messages of `acquire-documents`, and the names by which robots.txt may mean this app."""

import pytest

from models.errors import InvalidInput
from services.documents.discovery import IN_MESSAGE, acquire_messages, source_ids_of
from services.documents.robots import agents_of


def test_a_message_names_its_documents() -> None:
    [message] = acquire_messages(["dedup:1", "dedup:2"])
    assert message == '{"source_ids":["dedup:1","dedup:2"]}'
    assert source_ids_of(message) == ["dedup:1", "dedup:2"]
    assert [len(source_ids_of(each)) for each in acquire_messages(["dedup:1"] * (IN_MESSAGE + 1))] == [IN_MESSAGE, 1]


@pytest.mark.parametrize(
    "text",
    [
        *("", "7", "[]", "{}"),
        *('{"source_ids":[""]}', '{"source_ids":"a"}', '{"source_ids":[1]}'),
    ],
)
def test_another_message_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="source_ids"):
        source_ids_of(text)


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
