"""What the client sends, and what it says when something goes wrong."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx
import pytest

from toolpulse.client import Client, part
from toolpulse.failures import CONFLICT, FAILED, NO_KEY, NOT_FOUND, UNREACHABLE, Failure, Problem
from toolpulse.targets import Remote

REMOTE = Remote("https://a.example/api/v1", "key", "management")


def client(answer: Callable[[httpx.Request], httpx.Response], pauses: list[float] | None = None) -> Client:
    waited = [] if pauses is None else pauses
    return Client(REMOTE, httpx.MockTransport(answer), pause=waited.append)


def problem(status: int, detail: str, **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"detail": detail, "status": status, "title": "T"}, headers=headers)


def test_keys_and_what_was_given_are_sent() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"items": [], "next": None})

    asked = client(answer)
    asked.get(f"tools/{part('C#/x y')}", limit=5, cursor=None, reverse=True)
    assert str(seen[0].url) == "https://a.example/api/v1/tools/C%23%2Fx%20y?limit=5&reverse=true"
    assert (seen[0].headers["x-functions-key"], seen[0].headers["x-management-key"]) == ("key", "management")
    asked.post("tools", {"name": "Ä"})
    assert (json.loads(seen[1].content), seen[1].headers["content-type"]) == ({"name": "Ä"}, "application/json")
    asked.upload("feeds/import", b"<opml/>", "text/x-opml")
    assert (seen[2].content, seen[2].headers["content-type"]) == (b"<opml/>", "text/x-opml")


def test_pages_are_read_until_there_are_enough() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        start = int(request.url.params.get("cursor") or 0)
        size = int(request.url.params["limit"])
        end = min(start + size, 1200)
        return httpx.Response(200, json={"items": [*range(start, end)], "next": str(end) if end < 1200 else None})

    asked = client(answer)
    assert [len(page["items"]) for page in asked.pages("x", None)] == [500, 500, 200]
    assert [len(page["items"]) for page in asked.pages("x", 700)] == [500, 200]


@pytest.mark.parametrize(
    ("response", "code", "said"),
    [
        (problem(400, "url: must be"), FAILED, r"^url: must be$"),
        (problem(401, "X-Management-Key: needed"), NO_KEY, "Set TOOLPULSE_MANAGEMENT_KEY"),
        (httpx.Response(401), NO_KEY, "refuses the function key: set TOOLPULSE_KEY"),
        (problem(404, "there is none"), NOT_FOUND, "there is none"),
        (httpx.Response(404), NOT_FOUND, "has no /api/v1/things: check the URL"),
        (problem(409, "belongs to another"), CONFLICT, "Nothing was changed"),
        (problem(412, "changed"), CONFLICT, "Run the command again"),
        (problem(500, "Its correlation id:"), FAILED, "correlation id"),
        (problem(503, "the store", **{"Retry-After": "7"}), UNREACHABLE, "Try again in 7 s; `toolpulse health`"),
        (httpx.Response(502), UNREACHABLE, "cannot work now"),
        (httpx.Response(302, headers={"Location": "https://b.example/"}), UNREACHABLE, "to https://b.example/"),
        (httpx.Response(418), FAILED, "answered 418"),
    ],
)
def test_an_error_says_what_to_do_next(response: httpx.Response, code: int, said: str) -> None:
    with pytest.raises(Problem, match=said) as failed:
        client(lambda request: response).post("things")
    assert (failed.value.code, failed.value.status) == (code, response.status_code)


def test_a_site_that_is_not_the_app_is_told() -> None:
    page = httpx.Response(200, text="<html>", headers={"Content-Type": "text/html"})
    with pytest.raises(Failure, match=r"does not answer as toolpulse does \(text/html\)"):
        client(lambda request: page).get("tools")


def test_reads_are_tried_again_while_the_app_cannot_work_and_writes_are_not() -> None:
    answers = [problem(503, "busy", **{"Retry-After": "2"}), httpx.Response(200, json={})]
    pauses: list[float] = []
    assert client(lambda request: answers.pop(0), pauses).get("tools") == {}
    assert pauses == [2.0]
    calls: list[httpx.Request] = []

    def busy(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        return problem(503, "busy")

    with pytest.raises(Problem):
        client(busy).post("tools")
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            httpx.ConnectError("Connection refused"),
            r"cannot be reached \(Connection refused\). Does",
        ),
        (httpx.ReadTimeout("slow"), "did not answer in time"),
        (httpx.RemoteProtocolError("gone"), r"cannot be reached \(gone\)"),
    ],
)
def test_no_answer_is_told_with_what_to_do(error: httpx.HTTPError, said: str) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise error

    with pytest.raises(Failure, match=said) as failed:
        client(answer).get("tools")
    assert failed.value.code == UNREACHABLE


def test_the_report_of_an_unhealthy_app_is_no_error() -> None:
    report = {"status": "unhealthy"}
    assert client(lambda request: httpx.Response(503, json=report)).get("health") == report
