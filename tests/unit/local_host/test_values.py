"""What goes in and out of functions."""

import base64
from datetime import UTC, datetime

import azure.functions as func
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.local_host.queues import Message
from scripts.local_host.values import (
    Refusal,
    decoded,
    encoded,
    make_reply,
    query_parameters,
    queue_message,
    queue_texts,
    timer_request,
)


def message(text: str) -> Message:
    return Message(1, "work", "the-id", text, 1_771_704_000.0, 1_772_308_800.0, 1_771_704_600.5, 3, "receipt")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("a=1&b=2", {"a": "1", "b": "2"}),
        ("a=1&a=2&A=3", {"a": "1,2,3"}),
        ("a=&b", {}),
        ("a=&a=1&a=", {"a": "1"}),
        ("a=x+y%26z&%C3%A9=1", {"a": "x y&z", "é": "1"}),
    ],
)
def test_query_values_are_joined_by_commas_and_empty_ones_left_out(query: str, expected: dict[str, str]) -> None:
    assert query_parameters(query) == expected


def test_an_output_is_a_text_or_a_list_of_texts() -> None:
    assert (queue_texts(None, False), queue_texts("plain", False), queue_texts(["a", "b"], True)) == (
        [],
        ["plain"],
        ["a", "b"],
    )
    for value, is_list in (('{"a": 1}', False), ("[1]", False), (5, False), ([1], True), (["a"], False)):
        with pytest.raises(Refusal):
            queue_texts(value, is_list)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.booleans())
def test_a_message_is_decoded_to_the_text_that_was_sent(text: str, is_base64: bool) -> None:
    assert decoded(encoded(text, "work", is_base64), is_base64) == text


@pytest.mark.parametrize("text", ["not base64!", "YQ", base64.b64encode(b"\xff").decode()])
def test_a_message_that_is_not_base64_of_text_cannot_be_read(text: str) -> None:
    assert decoded(text, True) is None


@pytest.mark.parametrize(("is_base64", "limit"), [(True, 49152), (False, 65536)])
def test_a_message_has_the_size_limit_of_storage(is_base64: bool, limit: int) -> None:
    encoded("x" * limit, "work", is_base64)
    with pytest.raises(Refusal, match=str(limit)):
        encoded("x" * (limit + 1), "work", is_base64)


def test_a_queue_message_carries_what_storage_knows() -> None:
    made = queue_message(message("text"), "text")
    assert (made.id, made.dequeue_count, made.pop_receipt, made.get_body()) == ("the-id", 3, "receipt", b"text")
    assert made.insertion_time == datetime(2026, 2, 21, 20, tzinfo=UTC)
    assert made.time_next_visible == datetime(2026, 2, 21, 20, 10, 0, 500000, tzinfo=UTC)


def test_a_timer_request_says_whether_it_is_late() -> None:
    status = {"Last": "a", "Next": "b", "LastUpdated": "c"}
    made = timer_request(True, status)
    assert (made.past_due, made.schedule_status, made.schedule) == (True, status, {"AdjustForDST": True})
    assert timer_request(False, None).schedule_status == {}


def test_a_response_keeps_its_status_headers_and_body() -> None:
    response = func.HttpResponse("é", status_code=201, headers={"X-A": "1", "Transfer-Encoding": "chunked"})
    reply = make_reply(response, "GET")
    assert (reply.status, reply.body) == (201, "é".encode())
    assert dict(reply.headers) == {"X-A": "1", "content-type": "text/plain; charset=utf-8"}


@pytest.mark.parametrize(
    "value",
    [None, 5, "text", {"a": 1}, func.HttpResponse("x", status_code=204), func.HttpResponse(headers={"x": "é"})],
)
def test_a_value_that_is_no_response_is_refused(value: object) -> None:
    with pytest.raises(Refusal):
        make_reply(value, "GET")
