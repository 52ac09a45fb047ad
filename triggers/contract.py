"""What endpoints declare (their parameters, body, answers and problems), and the contract, which is made of it: an
OpenAPI 3.1 document. Pure.

DECLARED has an entry for each endpoint of the app, in the order of their modules. The contract is made when somebody
asks for it first, not when the app starts.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import azure.functions as func

from models.request import Request
from models.resources.base import ROOT, Page, Problem, Shape, Stored
from models.version import VERSION
from triggers.http_codec import JSON, MAX_BODY_BYTES, MAX_URL_CHARACTERS, PROBLEM
from triggers.parameters import PAGE, VIEW, Parameter


@dataclass(frozen=True, slots=True)
class ListOf:
    """The answer with a page of items, or with all if it is not paged. `facts` has the fields that it has besides."""

    title: str
    item: type[Shape]
    facts: type[Shape] | None = None
    is_paged: bool = True


@dataclass(frozen=True, slots=True)
class Header:
    """A header of an answer."""

    about: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    is_always_there: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """One status of an endpoint that is no problem. `shape` is None for an answer without a body."""

    status: int
    about: str
    shape: type[Shape] | ListOf | None = None
    media_types: tuple[str, ...] = JSON
    headers: Mapping[str, Header] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class File:
    """A request body that is a file, in one of these media types. `format` names what its text is."""

    about: str
    media_types: tuple[str, ...]
    format: str
    example: str


@dataclass(frozen=True, slots=True)
class Declared:
    """An endpoint. `problems` are statuses of its own, each with when it is returned; those of all endpoints (of a
    key, a parameter, a path, a body, the store) follow from the rest."""

    module: str
    function: str
    method: str
    route: str
    tag: str
    summary: str
    about: str
    parameters: Sequence[Parameter[Any]]
    body: type[Request] | File | None
    answers: Sequence[Answer]
    problems: Mapping[int, str]
    is_management: bool
    handler: Callable[..., Awaitable[func.HttpResponse]]  # takes the container and the request
    is_open: bool = False


DECLARED: list[Declared] = []


def of_app() -> list[Declared]:
    """The endpoints of the app. Tests declare endpoints of their own."""
    return [each for each in DECLARED if each.module.startswith("triggers.")]


Returned = type[Shape] | ListOf | Answer


def answers_of(returned: Returned | Sequence[Answer]) -> Sequence[Answer]:
    """The answers of an endpoint: a shape is that of the status 200."""
    if isinstance(returned, Sequence):
        return returned
    return (returned if isinstance(returned, Answer) else ok(returned),)


def implied_by(answers: Sequence[Answer]) -> tuple[Parameter[Any], ...]:
    """The parameters of every endpoint whose answers have resources of stored documents, or pages."""
    shapes = [each.shape.item if isinstance(each.shape, ListOf) else each.shape for each in answers]
    has_views = any(each is not None and issubclass(each, Stored) for each in shapes)
    has_pages = any(isinstance(each.shape, ListOf) and each.shape.is_paged for each in answers)
    return (*((VIEW,) if has_views else ()), *(PAGE if has_pages else ()))


def ok(shape: type[Shape] | ListOf | None, about: str = "Done.", **more: Any) -> Answer:
    return Answer(200, about, shape, **more)


def created(shape: type[Shape] | ListOf, about: str, **more: Any) -> Answer:
    return Answer(201, about, shape, headers={"Location": Header("The path of what was created.")}, **more)


def accepted_as_run(shape: type[Shape] | ListOf, about: str = "Accepted: a run does the work.") -> Answer:
    return Answer(202, about, shape, headers={"Location": Header("The path of the run.")})


_REF = "#/components/schemas/"

ABOUT = """\
Sentiment about the tools that you watch, from the news.

Times are ISO 8601 in UTC. Unknown fields and parameters are refused. Errors are problem documents (RFC 9457).
Every response has `X-Content-Type-Options`, `X-Frame-Options`, `Referrer-Policy` and `Cross-Origin-Resource-Policy`.
A HEAD request is answered as GET, without the body. The guide is docs/api.md.
"""

TAGS: Mapping[str, str] = {
    "Tools": "What is watched: products, libraries, tickers.",
    "Sentiment": "Aggregates, and the mentions behind them.",
    "History": "Figures by day and by hour.",
    "Articles": "What was published, each article once.",
    "Documents": "The full texts behind articles.",
    "Stories": "Articles about one event.",
    "Signals": "What a story suggests for a tool.",
    "Feeds": "The sources.",
    "Corrections": "What people say of mentions, sources and phrases.",
    "Grouping": "What people say of articles and stories that belong together, and why things were put together.",
    "Runs": "Work, with its attempts.",
    "Hosts": "What requests to the hosts of feeds cost.",
    "Cache": "The cached aggregates.",
    "Quarantine": "What waits for the decision of a person.",
    "Export": "Everything, page by page.",
    "Operations": "Health, metrics and queues.",
}

PROBLEMS: Mapping[int, str] = {
    400: "A parameter, a field or the body breaks a rule. `field` names it, `allowed` says what is allowed.",
    401: "A key is missing or wrong. For the function key the host answers, without a body; for the management key the "
    "app, with a problem document.",
    404: "Nothing has this id or name.",
    409: "Another document has this identity, or the state of the document does not allow the change.",
    412: "Other writers kept changing the document: try again.",
    413: f"The body is over {MAX_BODY_BYTES:,} bytes.",
    414: f"The URL is over {MAX_URL_CHARACTERS:,} characters.",
    415: "The body is of another media type.",
    500: "A stored document cannot be read, or an unexpected error: the log has it under `correlation_id`.",
    503: "The store, a queue or an analyzer did not answer, or the settings of the app are wrong.",
}

NO_STORE = Header("No cache may keep the answer.", {"type": "string", "const": "no-store"})
RETRY_AFTER = Header("The seconds to wait.", {"type": "integer", "minimum": 0}, is_always_there=False)

SECURITY: Mapping[str, Any] = {
    "functionKey": {
        "type": "apiKey",
        "in": "header",
        "name": "x-functions-key",
        "description": "A key of the Functions app. The local host asks for one only if it serves other machines.",
    },
    "functionKeyInQuery": {
        "type": "apiKey",
        "in": "query",
        "name": "code",
        "description": "The same key, for programs that cannot send headers.",
    },
    "managementKey": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Management-Key",
        "description": "`MANAGEMENT_KEY`, if it is set: for what changes something, or shows what an operator sees.",
    },
}


def contract(endpoints: Sequence[Declared], *, reads_are_open: bool) -> dict[str, Any]:
    """The document. `reads_are_open`: those that only read need no key (READ_AUTH_LEVEL)."""
    schemas = _Schemas()
    schemas.of(Problem)
    paths: dict[str, dict[str, Any]] = {}
    for each in endpoints:
        operation = _operation(each, schemas, _keys(each, reads_are_open=reads_are_open))
        paths.setdefault(f"{ROOT}/{each.route}".rstrip("/"), {})[each.method.lower()] = operation
    used = {each.tag for each in endpoints}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "toolpulse",
            "version": VERSION,
            "description": ABOUT,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": about} for name, about in TAGS.items() if name in used],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(schemas.found.items())),
            "responses": {f"Problem{status}": _problem(status, about) for status, about in PROBLEMS.items()},
            "securitySchemes": dict(SECURITY),
        },
    }


def _keys(endpoint: Declared, *, reads_are_open: bool) -> list[dict[str, list[str]]]:
    """What a request needs; an empty list is nothing."""
    if endpoint.is_open or (reads_are_open and not endpoint.is_management):
        return []
    also: dict[str, list[str]] = {"managementKey": []} if endpoint.is_management else {}
    return [{"functionKey": [], **also}, {"functionKeyInQuery": [], **also}]


def _operation(endpoint: Declared, schemas: _Schemas, keys: list[dict[str, list[str]]]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "operationId": endpoint.function,
        "tags": [endpoint.tag],
        "summary": endpoint.summary,
        "security": keys,
        "responses": _responses(endpoint, schemas, has_keys=bool(keys)),
    }
    if endpoint.about:
        shown["description"] = endpoint.about
    if endpoint.parameters:
        shown["parameters"] = [each.described() for each in endpoint.parameters]
    if endpoint.body is not None:
        shown["requestBody"] = _body(endpoint.body, schemas)
    return shown


def _body(body: type[Request] | File, schemas: _Schemas) -> dict[str, Any]:
    if isinstance(body, File):
        content = {media_type: _file(media_type, body) for media_type in body.media_types}
        return {"description": body.about, "required": True, "content": content}
    schema = schemas.of_body(body)
    examples = {
        name.replace(" ", "_"): {"summary": name, "value": dict(value)} for name, value in body.EXAMPLES.items()
    }
    is_required = bool(body.schema_of_body().get("required")) or "oneOf" in body.RULES
    return {"required": is_required, "content": {"application/json": {"schema": schema, "examples": examples}}}


def _file(media_type: str, body: File) -> dict[str, Any]:
    text = {"type": "string", "format": body.format}
    if media_type != "multipart/form-data":
        return {"schema": text, "example": body.example}
    file = {**text, "description": "The file."}
    closed = {"required": ["file"], "additionalProperties": False}
    return {"schema": {"type": "object", "properties": {"file": file}, **closed}, "example": {"file": body.example}}


def _responses(endpoint: Declared, schemas: _Schemas, *, has_keys: bool) -> dict[str, Any]:
    found = {str(each.status): _answer(each, schemas) for each in endpoint.answers}
    for status in _problem_statuses(endpoint, has_keys=has_keys):
        if str(status) in found:  # health answers 503 with its report, or with a problem
            found[str(status)]["content"][PROBLEM] = {"schema": {"$ref": f"{_REF}Problem"}}
            found[str(status)]["headers"]["Retry-After"] = _header(RETRY_AFTER)
        elif status in endpoint.problems:
            found[str(status)] = _problem(status, f"{endpoint.problems[status]} {_usual(endpoint, status)}".strip())
        else:
            found[str(status)] = {"$ref": f"#/components/responses/Problem{status}"}
    return dict(sorted(found.items()))


def _usual(endpoint: Declared, status: int) -> str:
    """What the status says besides what the endpoint says of it."""
    is_usual = status in (400, 412) or (status == 404 and "{" in endpoint.route)
    return PROBLEMS[status] if is_usual else ""


def _problem_statuses(endpoint: Declared, *, has_keys: bool) -> list[int]:
    statuses = {500, 503, *endpoint.problems}
    if not endpoint.is_open:
        statuses |= {400, 414}
    if has_keys:
        statuses.add(401)
    if "{" in endpoint.route or any(each.name == "tool" for each in endpoint.parameters):
        statuses.add(404)
    if endpoint.body is not None:
        statuses |= {413, 415}
    if endpoint.method != "GET":
        statuses.add(412)
    return sorted(statuses)


def _problem(status: int, about: str) -> dict[str, Any]:
    if status == 401:  # without `content`, a body is neither promised nor excluded
        return {"description": about}
    headers = {"Cache-Control": NO_STORE, **({"Retry-After": RETRY_AFTER} if status == 503 else {})}
    content = {PROBLEM: {"schema": {"$ref": f"{_REF}Problem"}}}
    return {
        "description": about,
        "headers": {name: _header(each) for name, each in headers.items()},
        "content": content,
    }


def _answer(answer: Answer, schemas: _Schemas) -> dict[str, Any]:
    headers = {"Cache-Control": NO_STORE, **answer.headers}
    shown: dict[str, Any] = {
        "description": answer.about,
        "headers": {name: _header(each) for name, each in headers.items()},
    }
    if answer.shape is not None:
        shown["content"] = {"application/json": {"schema": schemas.of(answer.shape)}}
    elif answer.status == 200:
        shown["content"] = {media_type: {"schema": {"type": "string"}} for media_type in answer.media_types}
    return shown


def _header(header: Header) -> dict[str, Any]:
    return {"description": header.about, "required": header.is_always_there, "schema": dict(header.schema)}


class _Schemas:
    """The named schemas of the contract."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def of(self, shape: type[Shape] | ListOf) -> dict[str, Any]:
        """A reference to the schema of the shape. Raises ValueError for two of one name."""
        if isinstance(shape, ListOf):
            return self._of_list(shape)
        return self._of_schema(shape.__name__, shape.model_json_schema(mode="serialization"))

    def add(self, name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        if self.found.setdefault(name, schema) != schema:
            raise ValueError(f"two schemas have the name {name}")
        return {"$ref": f"{_REF}{name}"}

    def _of_list(self, page: ListOf) -> dict[str, Any]:
        schema = Page.model_json_schema(mode="serialization")
        schema["properties"]["items"]["items"] = self.of(page.item)
        if page.facts is not None:
            facts = page.facts.model_json_schema(mode="serialization")
            schema["properties"] |= facts["properties"]
            schema["$defs"] = facts.get("$defs", {})
        return self._of_schema(page.title, {**schema, "description": "A page of a list."})

    def of_body(self, body: type[Request]) -> dict[str, Any]:
        return self._of_schema(body.__name__, body.schema_of_body())

    def _of_schema(self, name: str, schema: dict[str, Any]) -> dict[str, Any]:
        for each, definition in schema.pop("$defs", {}).items():
            self.add(_public(each), _plain(definition))
        if "$ref" in schema:  # a model that refers to itself
            return {"$ref": f"{_REF}{_public(schema['$ref'].rpartition('/')[2])}"}
        return self.add(_public(name), _plain(schema))


def _public(name: str) -> str:
    return re.sub("(Resource|Body)$", "", name)


def _plain(schema: Any) -> Any:
    """Without the titles that repeat the names of fields, and with the public names of classes."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    plain: dict[str, Any] = {}
    parts = schema.get("prefixItems")
    if isinstance(parts, list) and all(each == parts[0] for each in parts):
        schema = {**schema, "items": parts[0]}  # a tuple of one kind: what reads older JSON Schema knows it, too
        del schema["prefixItems"]
    for name, value in schema.items():
        if name == "title" and isinstance(value, str):
            continue
        if name == "$ref" and isinstance(value, str):
            plain[name] = _REF + _public(value.rpartition("/")[2])
        elif name == "properties" and isinstance(value, dict):
            plain[name] = {field: _plain(each) for field, each in value.items()}
        else:
            plain[name] = _plain(value)
    return plain
