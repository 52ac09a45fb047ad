"""What an endpoint declares: its parameters, body, answers and problems. The contract (contract.py) is made of these.

DECLARED has an entry for each endpoint of the app, in the order of their modules.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import azure.functions as func

from models.request import Request
from triggers.http_codec import JSON
from triggers.parameters import Parameter

Schema = Mapping[str, Any]


Shape = type[Any] | Schema
"""What a JSON body looks like: a model of pydantic, or a JSON Schema in which models may stand for schemas."""


@dataclass(frozen=True, slots=True)
class Header:
    """A header of an answer."""

    about: str
    schema: Schema = field(default_factory=lambda: {"type": "string"})
    is_always_there: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """One status of an endpoint that is no problem. `shape` is None for an answer without a body."""

    status: int
    about: str
    shape: Shape | None = None
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


def ok(shape: Shape | None, about: str = "Done.", **more: Any) -> Answer:
    return Answer(200, about, shape, **more)


def created(shape: Shape, about: str, **more: Any) -> Answer:
    return Answer(201, about, shape, headers={"Location": Header("The path of what was created.")}, **more)


def accepted_as_run(shape: Shape, about: str = "Accepted: a run does the work.") -> Answer:
    return Answer(202, about, shape, headers={"Location": Header("The path of the run.")})


def no_content_after(about: str) -> Answer:
    return Answer(204, about)


def a_list(title: str, item: Shape, **more: Any) -> Schema:
    """The shape of a list: `items`, `next`, `unreadable` if documents were left out, and `more`, all always there."""
    return {
        "title": title,
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": item, "description": "The items of this page."},
            "next": {"type": ["string", "null"], "description": "The `cursor` of the next page; null on the last one."},
            "unreadable": UNREADABLE,
            **more,
        },
        "required": ["items", "next"],
        "additionalProperties": False,
    }


UNREADABLE: Schema = {
    "type": "array",
    "items": {"type": "string"},
    "description": "The ids of documents that break the rules of this version and were left out; absent without any.",
}
