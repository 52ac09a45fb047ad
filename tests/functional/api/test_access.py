"""What changes things takes the management key besides the function key; what reads does not."""

import re

from services.container import Container
from tests.functional.api.conftest import TRIGGERS, call

MANAGED_READS = {
    "export_corrections",
    "get_correction",
    "get_grouping_correction",
    "list_corrections",
    "list_grouping_corrections",
    "list_merges",
    "list_quarantine",
    "list_queues",
    "preview_quarantine",
}
"""What only reads, and shows what an operator sees or names people."""


ENDPOINTS = {name: trigger for name, trigger in TRIGGERS.items() if trigger["type"] == "httpTrigger"}
METHODS = {name: {str(method).upper() for method in each["methods"]} for name, each in ENDPOINTS.items()}
READING = sorted(name for name, methods in METHODS.items() if "GET" in methods and name not in MANAGED_READS)
MANAGEMENT = sorted(METHODS.keys() - set(READING))
IDS = {name: "nobody" for each in ENDPOINTS.values() for name in re.findall(r"{(\w+)}", each["route"])}


async def test_management_takes_the_key_and_reading_takes_none(locked: None) -> None:
    for name in MANAGEMENT:
        for key in (None, "sesamo"):
            answer = await call(name, key=key, **IDS)
            assert (answer.status, answer.mimetype, answer.sent) == (401, "application/problem+json", []), name
        assert (await call(name, key="sesame", **IDS)).status != 401, name
    for name in READING:
        assert (await call(name, **IDS)).status != 401, name


def test_the_reads_that_need_the_key_are_endpoints() -> None:
    assert all(METHODS[name] == {"GET", "HEAD"} for name in MANAGED_READS)


async def test_a_body_of_a_type_that_any_page_can_send_changes_nothing(app: Container) -> None:
    body = b'{"url": "https://example.com/feed", "source_name": "Example"}'
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        answer = await call("add_feed", body=body, content_type=content_type)
        assert (answer.status, answer.mimetype) == (415, "application/problem+json")
    assert (await call("list_feeds")).json["items"] == []
    assert (await call("add_feed", body=body)).status == 201
