"""Requests in, answers out, and one shape for every error."""

import gzip
import json
import logging
from collections.abc import Sequence
from typing import Any

import azure.functions as func
import pytest

from models.errors import (
    ChangedMeanwhile,
    Conflict,
    InvalidInput,
    InvalidTransition,
    NotAllowed,
    NotFound,
    ToolpulseError,
    Unavailable,
    WrongSettings,
)
from models.request import MAX_REDRIVEN, Request
from models.resources.feeds import FeedChange
from models.resources.tools import ToolChange
from tests import resources
from triggers.http_codec import (
    JSON,
    MAX_BODY_BYTES,
    MAX_URL_CHARACTERS,
    OPML,
    WORTH_BYTES,
    SentChange,
    accepted,
    compressed,
    json_object,
    sent_change,
    uploaded,
    with_problem_responses,
    wrong_media_type,
)
from triggers.http_operations import SAMPLES


def request(body: bytes = b"", headers: dict[str, str] | None = None, **params: str) -> func.HttpRequest:
    return func.HttpRequest("POST", "http://localhost/api/v1/x", headers=headers or {}, params=params, body=body)


async def answer_to(error: Exception) -> tuple[func.HttpResponse, dict[str, Any]]:
    @with_problem_responses
    async def handler(req: func.HttpRequest) -> func.HttpResponse:
        raise error

    response = await handler(request())
    return response, json.loads(response.get_body())


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InvalidInput("hours", "1, 24, 168 or 720"), 400),
        (NotAllowed("a key is wanted"), 401),
        (NotFound("no such run"), 404),
        (Conflict("taken"), 409),
        (InvalidTransition("article", "analyzed", "pending"), 409),
        (ChangedMeanwhile("changed"), 412),
        (Unavailable("the store does not answer"), 503),
        (WrongSettings("BATCH_SIZE must be a whole number"), 503),
        (ToolpulseError("anything else"), 500),
    ],
)
async def test_each_error_of_the_tree_has_its_status_and_one_shape(error: ToolpulseError, status: int) -> None:
    response, body = await answer_to(error)
    assert response.status_code == status
    assert response.mimetype == "application/problem+json"
    assert body["status"] == status
    assert body["detail"] == str(error)
    assert {"type", "title", "status", "detail"} <= set(body)


async def test_invalid_input_names_the_field_and_what_is_allowed() -> None:
    _, body = await answer_to(InvalidInput("hours", "1, 24, 168 or 720"))
    assert (body["field"], body["allowed"]) == ("hours", "1, 24, 168 or 720")


async def test_unavailable_says_when_to_try_again() -> None:
    response, _ = await answer_to(Unavailable("busy", retry_after=7.2))
    assert response.headers["Retry-After"] == "8"


async def test_an_unexpected_error_is_an_opaque_answer_and_a_logged_traceback_with_one_id(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        response, body = await answer_to(RuntimeError("password=hunter2"))
    assert response.status_code == 500
    assert b"hunter2" not in response.get_body()
    assert body["correlation_id"] in caplog.text
    assert "RuntimeError: password=hunter2" in caplog.text


@pytest.mark.parametrize(
    ("too_large", "status"),
    [
        (func.HttpRequest("POST", "http://localhost/api/v1/x", body=b"x" * (MAX_BODY_BYTES + 1)), 413),
        (func.HttpRequest("GET", f"http://localhost/api/v1/x?text={'x' * MAX_URL_CHARACTERS}", body=b""), 414),
    ],
)
async def test_a_request_that_is_too_large_never_reaches_a_handler(too_large: func.HttpRequest, status: int) -> None:
    @with_problem_responses
    async def handler(req: func.HttpRequest) -> func.HttpResponse:
        raise AssertionError("reached")

    for response in (await handler(too_large), await handler(req=too_large)):
        assert (response.status_code, response.mimetype) == (status, "application/problem+json")
        assert json.loads(response.get_body())["status"] == status


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"{", "body"),
        (b"[]", "body"),
        (b'"text"', "body"),
        (b"\xff\xfe", "body"),
        (b"[" * 100_000, "body"),
        (rb'{"\ud800": 1}', "body"),
        (rb'{"a": ["half a surrogate pair is no text: \udfff"]}', "body"),
    ],
)
def test_a_body_that_is_no_object_is_refused_by_name(body: bytes, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        json_object(request(body))
    assert caught.value.field == field


def test_an_empty_body_is_an_empty_object() -> None:
    assert json_object(request(b" \n")) == {}


def test_the_limits_of_requests() -> None:
    assert (MAX_BODY_BYTES, MAX_URL_CHARACTERS) == (1_048_576, 8192)
    assert (SAMPLES, MAX_REDRIVEN) == (5, 1000)


def test_an_accepted_run_has_its_location() -> None:
    response = accepted("r1", tool_id="t")
    assert (response.status_code, response.headers["Location"]) == (202, "/api/v1/runs/r1")
    assert json.loads(response.get_body()) == {"run_id": "r1", "tool_id": "t"}
    assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("content_type", "body", "accepted", "refused"),
    [
        ("application/json", b"{}", JSON, False),
        ("Application/JSON; charset=utf-8", b"{}", JSON, False),
        ("text/plain", b"{}", JSON, True),
        ("application/x-www-form-urlencoded", b"{}", JSON, True),
        ("multipart/form-data", b"{}", JSON, True),
        ("", b"{}", JSON, True),
        ("text/plain", b"", JSON, False),
        ("", b"", JSON, False),
        ("application/json", b"<opml/>", OPML, True),
        ("text/x-opml", b"<opml/>", OPML, False),
        ("text/xml", b"<opml/>", OPML, False),
        ("application/xml", b"<opml/>", OPML, False),
    ],
)
def test_a_body_that_a_page_of_another_site_could_send_is_refused(
    content_type: str, body: bytes, accepted: Sequence[str], refused: bool
) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    request = func.HttpRequest("POST", "http://localhost/api/v1/x", headers=headers, body=body)
    answer = wrong_media_type(request, accepted)
    assert (answer is not None) == refused
    if answer is not None:
        given = content_type or "absent"
        assert answer.status_code == 415
        assert json.loads(answer.get_body())["detail"] == f"Content-Type: must be {' or '.join(accepted)}, not {given}"


def form(*fields: tuple[str, bytes], **headers: str) -> func.HttpRequest:
    parts = [
        f'--b\r\nContent-Disposition: form-data; name="{name}"; filename="f"\r\n\r\n'.encode() + content + b"\r\n"
        for name, content in fields
    ]
    media_type = {"Content-Type": "multipart/form-data; boundary=b"}
    return request(b"".join([*parts, b"--b--\r\n"]), media_type | headers)


def test_the_uploaded_bytes_are_the_body_or_the_one_file_of_a_form() -> None:
    assert uploaded(request(b"<opml/>", {"Content-Type": "text/xml"})) == b"<opml/>"
    assert uploaded(form(("file", b"\x00\r\n--c"))) == b"\x00\r\n--c"
    for wrong in (form(), form(("file", b"x"), ("file", b"y"))):
        with pytest.raises(InvalidInput, match=r"^file: a form with one file in the field file"):
            uploaded(wrong)


def test_another_field_of_a_form_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^other: unknown: the only field is file, a file"):
        uploaded(form(("file", b"x"), ("other", b"y")))
    with pytest.raises(InvalidInput, match=r"^note: unknown"):
        uploaded(text_field("note"))


def test_a_file_without_a_name_is_a_file() -> None:
    assert uploaded(text_field("file")) == "ä".encode()


def text_field(name: str) -> func.HttpRequest:
    body = f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\nä\r\n--b--\r\n'
    return request(body.encode(), {"Content-Type": "multipart/form-data; boundary=b"})


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://app.example:8080", "http://x.app.example"])
def test_a_form_of_a_page_of_another_site_is_refused(origin: str) -> None:
    with pytest.raises(InvalidInput, match=r"^Origin: "):
        uploaded(form(("file", b"x"), Origin=origin, Host="app.example"))
    assert uploaded(form(("file", b"x"), Origin="https://App.example", Host="app.example")) == b"x"


LONG = b"a" * WORTH_BYTES


async def answered(body: bytes, accepted: str | None, **headers: str) -> func.HttpResponse:
    @compressed
    async def handler(req: func.HttpRequest) -> func.HttpResponse:
        return func.HttpResponse(body, status_code=207, headers=headers, mimetype="application/json", charset="utf-8")

    asked = {} if accepted is None else {"Accept-Encoding": accepted}
    return await handler(func.HttpRequest("GET", "http://localhost/api/v1/tools", headers=asked, body=b""))


async def test_a_long_body_is_sent_in_gzip() -> None:
    response = await answered(LONG, "br, gzip", Location="/there")
    assert gzip.decompress(response.get_body()) == LONG
    assert (response.headers["Content-Encoding"], response.headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert (response.status_code, response.mimetype, response.charset) == (207, "application/json", "utf-8")
    assert response.headers["Location"] == "/there"


@pytest.mark.parametrize("accepted", [None, "br", "gzip;q=0"])
async def test_a_client_that_accepts_no_gzip_gets_none(accepted: str | None) -> None:
    response = await answered(LONG, accepted)
    assert response.get_body() == LONG
    assert "Content-Encoding" not in response.headers
    assert response.headers["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    ("body", "headers"), [(LONG[1:], {}), (LONG, {"ETag": '"1"'}), (LONG, {"Content-Encoding": "br"})]
)
async def test_what_is_short_tagged_or_encoded_stays_as_it_is(body: bytes, headers: dict[str, str]) -> None:
    response = await answered(body, "gzip", **headers)
    assert response.get_body() == body
    assert response.headers.get("Content-Encoding") == headers.get("Content-Encoding")


CHANGES = [pytest.param(FeedChange, "Feed", id="feed"), pytest.param(ToolChange, "Tool", id="tool")]


def sent(body: dict[str, Any], declared: type[Request]) -> SentChange:
    content = {"Content-Type": "application/json"}
    return sent_change(func.HttpRequest("PATCH", "/", headers=content, body=json.dumps(body).encode()), declared)


@pytest.mark.parametrize(("declared", "kind"), CHANGES)
def test_an_empty_body_changes_nothing_and_is_not_refused(declared: type[Request], kind: str) -> None:
    assert sent({}, declared).fields == {}


@pytest.mark.parametrize(("declared", "kind"), CHANGES)
def test_a_resource_that_was_read_can_be_sent_back(declared: type[Request], kind: str) -> None:
    shown = resources.EACH[kind][1]("full").shown()
    assert set(sent(shown, declared).fields) == declared.model_fields.keys() & set(shown)


@pytest.mark.parametrize(("declared", "kind"), CHANGES)
def test_a_body_with_nothing_that_can_be_changed_is_refused_with_what_can_be(
    declared: type[Request], kind: str
) -> None:
    with pytest.raises(InvalidInput, match="cannot be changed; what can be changed: ") as refused:
        sent({"created_at": "2026-02-21T20:00:00Z", "links": {}}, declared)
    assert refused.value.field == "created_at, links"


@pytest.mark.parametrize(("declared", "kind"), CHANGES)
def test_a_field_that_the_resource_does_not_have_is_refused_by_its_name(declared: type[Request], kind: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        sent({"nmae": "x"}, declared)
    assert refused.value.field == "nmae"
