"""Whether a body is a message of JSON-RPC, as MCP has them: https://www.jsonrpc.org/specification. Pure.

The SDK would answer with what its validation prints: every way in which the body is none of five kinds of message.
"""

from __future__ import annotations

import json
from typing import Any

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602
_ANSWERS = ("result", "error")


def refusal(body: bytes) -> dict[str, Any] | None:
    """The error that answers a body that is no message; None for a message."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return _error(None, PARSE_ERROR, "the body is not JSON")
    if not isinstance(message, dict):
        return _error(None, INVALID_REQUEST, "the body must be one message: an object, no list")
    if (wrong := _wrong(message)) is not None:
        return _error(message.get("id"), INVALID_REQUEST, wrong)
    wrong = _wrong_call(message.get("params") or {}) if message.get("method") == "tools/call" else None
    return None if wrong is None else _error(message.get("id"), INVALID_PARAMS, wrong)


def _wrong(message: dict[str, Any]) -> str | None:
    """The first field that breaks a rule, and the rule."""
    is_answer = any(name in message for name in _ANSWERS)
    has_result, has_id = "result" in message, "id" in message
    rules = (
        (message.get("jsonrpc") == "2.0", 'jsonrpc: must be "2.0"'),
        (not has_id or _is_id(message["id"]) or "error" in message, "id: must be a text or a whole number"),
        (is_answer or isinstance(message.get("method"), str), "method: must be a text, such as tools/list"),
        (is_answer or isinstance(message.get("params"), dict | None), "params: must be an object"),
        (not has_result or isinstance(message["result"], dict), "result: must be an object"),
        (not has_result or has_id, "id: is needed in an answer"),
        ("error" not in message or _is_error(message["error"]), "error: must be an object with code and message"),
    )
    return next((text for is_kept, text in rules if not is_kept), None)


def _wrong_call(params: dict[str, Any]) -> str | None:
    if not isinstance(params.get("name"), str):
        return "params.name: must be a text: the name of a tool"
    is_right = isinstance(params.get("arguments"), dict | None)
    return None if is_right else "params.arguments: must be an object"


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _is_error(value: Any) -> bool:
    return isinstance(value, dict) and _is_id(value.get("code")) and isinstance(value.get("message"), str)


def _error(message_id: Any, code: int, text: str) -> dict[str, Any]:
    known = message_id if _is_id(message_id) else None
    return {"jsonrpc": "2.0", "id": known, "error": {"code": code, "message": text}}
