"""A running host answers every example of the contract as the contract says: each parameter, each body, one by one."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from jsonschema_rs import Draft202012Validator

from tests.hosting import running_host
from triggers.contract import contract
from triggers.declared import of_app

pytestmark = pytest.mark.soak

DOCUMENT: dict[str, Any] = contract(of_app(), reads_are_open=False)
NAMED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tools", {"name": "Python"}),
    ("feeds", {"url": "https://example.com/python", "source_name": "Python", "feed_id": "python-insider"}),
)
"""What the examples name, and people choose the names of."""

MADE_BY_THE_APP = {"article_id", "correction_id", "event_id", "quarantine_id", "run_id"}
"""No empty app has what an example of these parameters names."""

OTHER_ANSWERS = {
    "merge_tool": 409,  # of Python into Python
}
"""The endpoints that cannot do what their example says in an app with nothing but the names of the examples."""

TODAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
NEEDED = {"get_movement": {"from": (TODAY - timedelta(days=2)).isoformat(), "to": TODAY.isoformat()}}
"""What is required and cannot have an example: it must lie in the last weeks."""


@dataclass(frozen=True)
class Example:
    operation: str
    method: str
    path: str
    query: dict[str, str]
    media_type: str | None = None
    body: Any = None

    @property
    def status(self) -> int | None:
        """The problem that it leads to; None: no problem."""
        parts = {part.strip("{}") for part in DOCUMENT_PATHS[self.operation].split("/") if part.startswith("{")}
        return 404 if parts & MADE_BY_THE_APP else OTHER_ANSWERS.get(self.operation)

    def sent(self) -> dict[str, Any]:
        if self.media_type is None:
            return {}
        if self.media_type == "multipart/form-data":
            form = aiohttp.FormData()
            form.add_field("file", self.body["file"], filename="example.opml")
            return {"data": form}
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return {"data": text.encode(), "headers": {"Content-Type": self.media_type}}


DOCUMENT_PATHS = {
    operation["operationId"]: path for path, methods in DOCUMENT["paths"].items() for operation in methods.values()
}


def examples() -> Iterator[Example]:
    """Each parameter alone, with what is required; each body. What deletes comes last."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            given = operation.get("parameters", ())
            parts = {each["name"]: each["example"] for each in given if each["in"] == "path"}
            query = {each["name"]: each for each in given if each["in"] == "query" and "example" in each}
            needed = NEEDED.get(operation["operationId"], {})
            needed |= {name: str(each["example"]) for name, each in query.items() if each.get("required")}
            requests = [{**needed, name: str(each["example"])} for name, each in query.items()] or [needed]
            content = operation.get("requestBody", {}).get("content", {None: {"example": None}})
            for media_type, body in content.items():
                for value in [each["value"] for each in body.get("examples", {}).values()] or [body["example"]]:
                    for one in requests:
                        yield Example(operation["operationId"], method, path.format_map(parts), one, media_type, value)


@lru_cache
def validator(schema: str) -> Draft202012Validator:
    return Draft202012Validator({**json.loads(schema), "components": DOCUMENT["components"]}, validate_formats=True)


def wrong(example: Example, status: int, media_type: str, body: bytes) -> str | None:
    """What the answer has that the contract does not say."""
    operation = DOCUMENT["paths"][DOCUMENT_PATHS[example.operation]][example.method]
    said = operation["responses"].get(str(status))
    if said is None or (status >= 400 if example.status is None else status != example.status):
        return f"{status}: {body[:300]!r}"
    if "$ref" in said:
        said = DOCUMENT["components"]["responses"][said["$ref"].rpartition("/")[2]]
    content = said.get("content")
    if not content:
        return f"{status} has a body" if body else None
    schema = next((each["schema"] for name, each in content.items() if media_type.startswith(name)), None)
    if schema is None:
        return f"{status} as {media_type}"
    if media_type not in ("application/json", "application/problem+json"):
        return None
    if not body:
        return f"{status} has no body"
    found = next(validator(json.dumps(schema)).iter_errors(json.loads(body)), None)
    return None if found is None else f"{found.instance_path}: {found.message[:300]}"


def test_every_body_and_every_part_of_a_path_has_an_example() -> None:
    found = list(examples())
    assert {each.operation for each in found} == set(DOCUMENT_PATHS)
    assert not any("{" in each.path for each in found)


async def test_the_host_answers_every_example_as_the_contract_says(tmp_path: Path) -> None:
    fetches_nothing = {f"AzureWebJobs.{name}.Disabled": "1" for name in ("ingest_due_feeds", "ingest_feeds")}
    settings = {"DATA_DIR": str(tmp_path), **fetches_nothing}
    found: list[tuple[Example, str | None]] = []
    async with running_host(data=tmp_path, settings=settings) as host, aiohttp.ClientSession(host.url) as session:
        for collection, named in NAMED:
            async with session.post(f"/api/v1/{collection}", json=named) as response:
                assert response.status == 201, await response.text()
        for example in sorted(examples(), key=lambda each: each.method == "delete"):
            url, sent = example.path, example.sent()
            async with session.request(example.method, url, params=example.query, **sent) as response:
                why = wrong(example, response.status, response.content_type, await response.read())
            found.append((example, why))
    assert len(found) > 120
    assert not [each for each in found if each[1]], "\n".join(str(each) for each in found if each[1])
