"""What an endpoint declares: its parameters, body, answers and problems. The contract (contract.py) is made of these.

DECLARED has an entry for each endpoint of the app, in the order of their modules.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import azure.functions as func

from models.request import Request
from models.resources.base import Shape
from triggers.http_codec import JSON
from triggers.parameters import Parameter


@dataclass(frozen=True, slots=True)
class ListOf:
    """The answer with a page of items. `facts` has the fields that it has besides."""

    title: str
    item: type[Shape]
    facts: type[Shape] | None = None


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


def ok(shape: type[Shape] | ListOf | None, about: str = "Done.", **more: Any) -> Answer:
    return Answer(200, about, shape, **more)


def created(shape: type[Shape] | ListOf, about: str, **more: Any) -> Answer:
    return Answer(201, about, shape, headers={"Location": Header("The path of what was created.")}, **more)


def accepted_as_run(shape: type[Shape] | ListOf, about: str = "Accepted: a run does the work.") -> Answer:
    return Answer(202, about, shape, headers={"Location": Header("The path of the run.")})


def no_content_after(about: str) -> Answer:
    return Answer(204, about)


def a_list(title: str, item: type[Shape], facts: type[Shape] | None = None) -> ListOf:
    return ListOf(title, item, facts)
