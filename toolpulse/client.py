"""The API's client: requests, pages, and errors as sentences that say what to do next. httpx is loaded when needed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from toolpulse.failures import CONFLICT, FAILED, NO_KEY, NOT_FOUND, UNREACHABLE, Failure, Problem
from toolpulse.targets import KEY, MANAGEMENT_KEY, URL, Remote

if TYPE_CHECKING:
    import httpx

PAGE = 500
_CONNECT_SECONDS = 10.0
# Azure's load balancer answers after 230 s.
_ANSWER_SECONDS = 240.0
_CODES = {401: NO_KEY, 403: NO_KEY, 404: NOT_FOUND, 409: CONFLICT, 412: CONFLICT, 429: UNREACHABLE, 503: UNREACHABLE}
_TRIES = 4
_LONGEST_WAIT_SECONDS = 30.0


def part(text: str) -> str:
    """A name or id as one segment of a path."""
    return quote(text, safe="")


def headers_of(remote: Remote) -> dict[str, str]:
    """Of every request."""
    headers = {"Accept": "application/json", "User-Agent": "toolpulse-cli"}
    headers |= {"x-functions-key": remote.key} if remote.key else {}
    return headers | ({"X-Management-Key": remote.management_key} if remote.management_key else {})


class Client:
    """One app. `pause` waits for some seconds while the app works; `starting_seconds` is how long an app that begins
    to run may refuse connections."""

    def __init__(
        self,
        remote: Remote,
        transport: httpx.BaseTransport | None = None,
        *,
        pause: Callable[[float], None] = time.sleep,
        starting_seconds: float = 0.0,
    ) -> None:
        import httpx

        headers = headers_of(remote)
        timeout = httpx.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS)
        is_local = transport is not None or remote.is_local
        self._http = httpx.Client(headers=headers, timeout=timeout, transport=transport, trust_env=not is_local)
        self._remote = remote
        self._starting_until = time.monotonic() + starting_seconds
        self.pause = pause

    def close(self) -> None:
        self._http.close()

    # -- requests

    def get(self, path: str, **query: Any) -> Any:
        return self.answer(self.send("GET", path, query=query))

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return self.answer(self.send("POST", path, body=body or {}))

    def delete(self, path: str) -> None:
        self.send("DELETE", path)

    def upload(self, path: str, content: bytes, media_type: str) -> Any:
        return self.answer(self.send("POST", path, content=content, media_type=media_type))

    def exported(self, path: str, **query: Any) -> Iterator[httpx.Response]:
        """The pages of an export. The last one has no X-Next-Cursor."""
        cursor = query.pop("cursor", None)
        while True:
            page = self.text(path, limit=PAGE, cursor=cursor, **query)
            yield page
            cursor = page.headers.get("X-Next-Cursor")
            if cursor is None:
                return

    def text(self, path: str, **query: Any) -> httpx.Response:
        """A response that is no JSON document."""
        return self.send("GET", path, query=query)

    def pages(self, path: str, limit: int | None, **query: Any) -> Iterator[Any]:
        """The pages of a list, up to `limit` items in all; None: all of them."""
        cursor, left = None, limit
        while left is None or left > 0:
            size = PAGE if left is None else min(PAGE, left)
            page = self.get(path, **query, limit=size, cursor=cursor)
            yield page
            cursor = page.get("next")
            if cursor is None:
                return
            left = None if left is None else left - len(page["items"])

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        content: bytes | None = None,
        media_type: str = "application/json",
    ) -> httpx.Response:
        """Raises Problem for a response that is an error, Failure if there is no response. A read is tried again if the
        app cannot work now."""
        if body is not None:
            content = json.dumps(body, ensure_ascii=False).encode()
        parameters = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        headers = {"Content-Type": media_type} if content is not None else {}
        url = f"{self._remote.base}/{path}"
        request = self._http.build_request(method, url, params=parameters, content=content, headers=headers)
        tries = _TRIES if method == "GET" else 1
        for left in reversed(range(tries)):
            response = self._sent(request)
            if response.status_code not in (429, 503) or path == "health" or left == 0:
                break
            self.pause(min(_seconds(response.headers.get("Retry-After")), _LONGEST_WAIT_SECONDS))
        if response.is_success or (path == "health" and response.status_code == 503):
            return response
        raise _problem(response, self._remote, path)

    def _sent(self, request: httpx.Request) -> httpx.Response:
        import httpx

        while True:
            try:
                return self._http.send(request)
            except httpx.ConnectError as error:
                if time.monotonic() >= self._starting_until:
                    raise unreachable(self._remote, str(error)) from None
                time.sleep(0.05)
            except httpx.TimeoutException:
                why = f"{self._remote.site} did not answer in time: look at its log, then run the command again"
                raise Failure(why, UNREACHABLE) from None
            except httpx.HTTPError as error:
                raise unreachable(self._remote, str(error) or type(error).__name__) from None

    def answer(self, response: httpx.Response) -> Any:
        """The JSON document of a response."""
        if response.status_code == 204:
            return {}
        try:
            return response.json()
        except ValueError:
            raise _not_toolpulse(self._remote, response) from None


def unreachable(remote: Remote, why: str) -> Failure:
    return Failure(
        f"{remote.site} cannot be reached ({why}). Does the app run there? `python3 scripts/dev.py run` runs it on "
        f"this machine; --url or {URL} names another app",
        UNREACHABLE,
    )


def _not_toolpulse(remote: Remote, response: httpx.Response) -> Failure:
    media_type = response.headers.get("Content-Type", "nothing")
    return Failure(f"{remote.site} does not answer as toolpulse does ({media_type}): check the URL", UNREACHABLE)


def _problem(response: httpx.Response, remote: Remote, path: str) -> Failure:
    """The problem document of the app as a sentence with what to do next."""
    status = response.status_code
    try:
        document = response.json()
        detail, field = str(document["detail"]), str(document.get("field", ""))
    except (ValueError, KeyError, TypeError):
        return _without_document(response, remote, path)
    if status == 401:
        detail = f"{detail}. Set {MANAGEMENT_KEY}, or management_key in the profile"
    elif status == 409 and "first" not in detail:
        detail = f"{detail}. Nothing was changed"
    elif status == 412:
        detail = f"{detail}. Run the command again"
    elif status == 503:
        wait = _seconds(response.headers.get("Retry-After"))
        detail = f"{remote.site} cannot work now: {detail}. Try again in {wait:.0f} s; `toolpulse health` says more"
    elif status == 500 and "correlation_id" in document:
        detail = f"{detail} {document['correlation_id']}"
    return Problem(detail, _CODES.get(status, FAILED), status, field)


def _without_document(response: httpx.Response, remote: Remote, path: str) -> Failure:
    """The Functions host, or something before it, answered: the app did not see the request."""
    status = response.status_code
    if status in (401, 403):
        wrong = "refuses the function key" if remote.key else "needs a function key"
        return Problem(f"{remote.site} {wrong}: set {KEY}, or key in the profile", NO_KEY, status)
    if status == 404:
        text = f"{remote.site} has no /api/v1/{path}: check the URL, and whether the app there is an older version"
        return Problem(text, NOT_FOUND, status)
    if response.is_redirect:
        to = response.headers.get("Location", "elsewhere")
        return Problem(f"{remote.site} sends this request to {to}: give that app's URL", UNREACHABLE, status)
    if status in (429, 502, 503, 504):
        return Problem(f"{remote.site} cannot work now ({status}): try again later", UNREACHABLE, status)
    return Problem(f"{remote.site} answered {status} {response.reason_phrase}", _CODES.get(status, FAILED), status)


def _seconds(text: str | None) -> float:
    return float(text) if text is not None and text.isdecimal() else 5.0


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
