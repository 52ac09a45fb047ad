#!/usr/bin/env python3
"""Checks a deployed app after publishing: its version, its health, and who may read its queues.

    python3 scripts/smoke.py https://<app>.azurewebsites.net [--version 0.1.0] [--wait 180]

It waits until health shows the version (by default that of this checkout), then checks a few responses. With
FUNCTION_KEY, and MANAGEMENT_KEY if the app has one, it also reads the queues; without keys it must be refused. It
changes nothing. The exit code is 0 if all checks pass, else 1. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from models.version import VERSION

TIMEOUT_SECONDS = 30
PAUSE_SECONDS = 5
HEADERS = {"x-content-type-options": "nosniff", "x-frame-options": "DENY"}


@dataclass(frozen=True, slots=True)
class Response:
    """A response. `status` is 0 if none came; `body` is then the reason. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: str

    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            return {}


def get(url: str, headers: Mapping[str, str] | None = None) -> Response:
    request = urllib.request.Request(url, headers=dict(headers or {}))  # noqa: S310 (main takes http and https only)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310
            return _read(response.status, response)
    except urllib.error.HTTPError as error:
        return _read(error.code, error)
    except OSError as error:
        return Response(0, {}, str(error))


def _read(status: int, response: Any) -> Response:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Response(status, headers, response.read().decode("utf-8", "replace"))


def wait_for(url: str, version: str, seconds: float) -> Response:
    """Returns the response of health when it shows the version, or the last one after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        health = get(f"{url}/api/v1/health")
        if (health.status == 200 and health.json().get("version") == version) or time.monotonic() >= deadline:
            return health
        time.sleep(PAUSE_SECONDS)


def wrong_with_health(health: Response, version: str) -> Iterator[str]:
    report = health.json()
    if health.status != 200:
        yield f"health answers {health.status}: {health.body[:500]}"
    elif report.get("version") != version:
        yield f"health shows version {report.get('version')}, not {version}"
    for name, value in HEADERS.items():
        if health.status == 200 and health.headers.get(name) != value:
            yield f"health lacks the header {name}: {value}"


def wrong_with_access(url: str, function_key: str, management_key: str) -> Iterator[str]:
    """Only a caller with the keys may read the queues."""
    unasked = get(f"{url}/api/v1/queues")
    if unasked.status != 401:
        yield f"queues answer {unasked.status} without a key, not 401"
    if not function_key:
        return
    keys = {"x-functions-key": function_key, "X-Management-Key": management_key}
    asked = get(f"{url}/api/v1/queues", keys)
    if asked.status != 200 or not asked.json().get("items"):
        yield f"queues answer {asked.status} with the keys: {asked.body[:500]}"


def wrong_with_routes(url: str) -> Iterator[str]:
    if (unknown := get(f"{url}/api/v1/no-such-thing")).status != 404:
        yield f"an unknown route answers {unknown.status}, not 404"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("url", help="URL of the app, without /api")
    parser.add_argument("--version", default=VERSION, help=f"the version that health must show (default {VERSION})")
    parser.add_argument(
        "--wait", type=float, default=180, metavar="SECONDS", help="longest wait for that version (default 180)"
    )
    arguments = parser.parse_args(argv)
    url = arguments.url.rstrip("/")
    if not url.startswith(("https://", "http://")):
        parser.error("the URL starts with https://")
    health = wait_for(url, arguments.version, arguments.wait)
    wrong = [*wrong_with_health(health, arguments.version), *wrong_with_routes(url)]
    wrong += wrong_with_access(url, os.environ.get("FUNCTION_KEY", ""), os.environ.get("MANAGEMENT_KEY", ""))
    for name, check in health.json().get("checks", {}).items():
        print(f"{name}: {check['status']}, {check['detail']}")
    for each in wrong:
        print(f"wrong: {each}", file=sys.stderr)
    print("failed" if wrong else f"passed: version {arguments.version}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
