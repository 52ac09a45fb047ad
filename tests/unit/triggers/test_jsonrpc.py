"""What is no message of JSON-RPC is refused in one sentence that names the field."""

import json
from typing import Any

import pytest
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from triggers.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, refusal

CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"jsonrpc": "1.0"}, "jsonrpc"),
    ({"jsonrpc": None}, "jsonrpc"),
    ({"method": 3}, "method"),
    ({"method": None}, "method"),
    ({"params": [1]}, "params"),
    ({"params": "x"}, "params"),
    ({"params": []}, "params"),
    ({"id": {}}, "id"),
    ({"id": True}, "id"),
]


@pytest.mark.parametrize(("change", "field"), WRONG)
def test_a_field_that_breaks_a_rule_is_named(change: dict[str, Any], field: str) -> None:
    said = refusal(json.dumps({**CALL, **change}).encode())
    assert said is not None
    assert (said["error"]["code"], said["id"]) == (INVALID_REQUEST, None if field == "id" else 7)
    assert said["error"]["message"].startswith(f"{field}: ")
    assert len(said["error"]["message"]) < 100


@pytest.mark.parametrize(("body", "code"), [(b"{", PARSE_ERROR), (b"", PARSE_ERROR), (b"[]", INVALID_REQUEST),
                                            (b"[" * 100_000, PARSE_ERROR), (b'"x"', INVALID_REQUEST)])  # fmt: skip
def test_a_body_that_is_no_object_is_refused(body: bytes, code: int) -> None:
    said = refusal(body)
    assert said is not None
    assert (said["error"]["code"], said["id"]) == (code, None)


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "params.name"),
        ({"name": 3}, "params.name"),
        ({"name": "health", "arguments": [1]}, "params.arguments"),
        ({"name": "health", "arguments": ""}, "params.arguments"),
    ],
)
def test_a_wrong_call_of_a_tool_names_the_field(params: dict[str, Any], field: str) -> None:
    said = refusal(json.dumps({**CALL, "method": "tools/call", "params": params}).encode())
    assert said is not None
    assert said["error"]["code"] == INVALID_PARAMS
    assert said["error"]["message"].startswith(f"{field}: ")


MESSAGES = [
    CALL,
    {**CALL, "method": "tools/call", "params": {"name": "health"}},
    {**CALL, "id": "a"},
    {**CALL, "params": None},
    {**CALL, "method": "tools/call", "params": {"name": "health", "arguments": None}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 1, "result": {}},
    {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}},
]


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_let_through_and_the_sdk_takes_it(message: dict[str, Any]) -> None:
    assert refusal(json.dumps(message).encode()) is None
    jsonrpc_message_adapter.validate_python(message, by_name=False)


@pytest.mark.parametrize(("result", "field"), [({"result": 3}, "result"), ({"error": "x"}, "error")])
def test_an_answer_that_is_wrong_is_refused_as_the_sdk_does(result: dict[str, Any], field: str) -> None:
    message = {"jsonrpc": "2.0", "id": 1, **result}
    said = refusal(json.dumps(message).encode())
    assert said is not None
    assert said["error"]["message"].startswith(f"{field}: ")
    with pytest.raises(ValidationError):
        jsonrpc_message_adapter.validate_python(message, by_name=False)
