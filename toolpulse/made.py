"""Commands that are made from the contract of the API: their arguments, options, choices and texts are those of its
endpoints."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer

from toolpulse import options
from toolpulse.call import LISTED, Call, most
from toolpulse.client import part
from toolpulse.declare import command, endpoint, one_of

Row = Callable[[Call, dict[str, Any]], dict[str, Any]]
Show = Callable[[Call, dict[str, Any]], None]

ARGUMENTS: Mapping[str, tuple[Any, Callable[[Call, str], str]]] = {
    "tool": (options.Tool, lambda call, text: call.names.tool(text)),
    "feed_id": (options.Feed, lambda call, text: part(call.names.feed(text))),
    "article_id": (options.Article, lambda call, text: part(call.names.article(text))),
    "event_id": (options.Story, lambda call, text: part(call.names.story(text))),
}
"""How a part of a path is given. Others are given as they are."""
NAMED: Mapping[str, tuple[Any, Callable[[Call, str], str]]] = {
    "tool": (options.ByTool, lambda call, text: call.names.tool_id(text)),
    "source": (options.ByFeed, lambda call, text: call.names.feed(text)),
    "feed": (options.ByFeed, lambda call, text: call.names.feed(text)),
    "subject": (options.BySubject, lambda call, text: call.names.subject(text)),
}
"""The query parameters that take an id, for which people give a name."""
FLAGS: Mapping[str, str] = {"enabled": "--enabled/--disabled", "failing": "--failing/--working"}
_TYPES: Mapping[str, Any] = {"integer": int, "number": float, "boolean": bool}
_OWN = ("view", "limit", "cursor", "If-None-Match")


def a_list(
    group: typer.Typer,
    name: str,
    operation: str,
    columns: Sequence[str],
    *,
    none: str = "There are none.",
    limit: int = LISTED,
    row: Row | None = None,
    without: Sequence[str] = (),
) -> None:
    """A command that lists. `row` makes the row of a table of an item."""

    def run(call: Call, **given: Any) -> None:
        asked = most(given.pop("limit"))
        found = call.listed(_path(call, operation, given), asked, **_query(call, operation, given))
        shown = [row(call, each) for each in found] if row is not None and call.out.is_table else None
        call.out.rows(found, columns, none=none, shown=shown)

    limited = _parameter("limit", options.Limit, limit)
    _declare(group, name, operation, run, [*_arguments(operation), *_options(operation, without), limited])


def an_item(group: typer.Typer, name: str, operation: str, show: Show | None = None) -> None:
    """A command that shows one resource. `show` prints it for people."""

    def run(call: Call, **given: Any) -> None:
        found = call.client.get(_path(call, operation, given), **_query(call, operation, given))
        if show is not None and call.out.is_table:
            show(call, found)
        else:
            call.out.item(found)

    _declare(group, name, operation, run, [*_arguments(operation), *_options(operation)])


def a_run(group: typer.Typer, name: str, operation: str) -> None:
    """A command that begins a run, and waits for it."""

    def run(call: Call, **given: Any) -> int:
        wait = not given.pop("no_wait")
        return call.finished(call.client.post(_path(call, operation, given))["run_id"], wait=wait)

    _declare(group, name, operation, run, [*_arguments(operation), _parameter("no_wait", options.NoWait, False)])


def a_deletion(group: typer.Typer, name: str, operation: str, what: str) -> None:
    """A command that deletes. `what` is deleted, in words with the argument in braces."""

    def run(call: Call, **given: Any) -> None:
        texts = dict(given)
        call.client.delete(_path(call, operation, given))
        call.out.say(f"deleted: {what.format(**texts)}")

    _declare(group, name, operation, run, _arguments(operation))


def _declare(
    group: typer.Typer, name: str, operation: str, run: Callable[..., int | None], own: Sequence[inspect.Parameter]
) -> None:
    parameters = [inspect.Parameter("call", inspect.Parameter.POSITIONAL_ONLY, annotation=Call), *own]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__doc__ = endpoint(operation)["about"]
    command(group, name)(run)


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _arguments(operation: str) -> list[inspect.Parameter]:
    found = []
    for name, about in endpoint(operation)["parts"].items():
        plain = Annotated[str, typer.Argument(metavar=name.upper(), help=about)]
        found.append(_parameter(name, ARGUMENTS[name][0] if name in ARGUMENTS else plain))
    return found


def _options(operation: str, without: Sequence[str] = ()) -> list[inspect.Parameter]:
    query = endpoint(operation)["query"].items()
    return [_option(name, each) for name, each in query if name not in (*_OWN, *without)]


def _option(name: str, said: Mapping[str, Any]) -> inspect.Parameter:
    if name in NAMED:
        return _parameter(name, NAMED[name][0], None)
    kind = _TYPES.get(said["type"], str)
    names = [f"--{name.replace('_', '-')}"]
    if kind is bool:
        names = [FLAGS.get(name, names[0])]
    annotation = one_of(said["enum"]) if "enum" in said else kind
    about, metavar = said["about"].removeprefix("`true`: "), "TIME" if said["type"] == "time" else None
    option = typer.Option(*names, help=about[0].upper() + about[1:], metavar=metavar, case_sensitive=False)
    return _parameter(name, Annotated[annotation | None, option], None)


def _path(call: Call, operation: str, given: dict[str, Any]) -> str:
    """The path, made of the arguments, which are taken out of what is given."""
    path = str(endpoint(operation)["path"])
    for name in re.findall(r"\{(\w+)\}", path):
        text = given.pop(name)
        path = path.replace(f"{{{name}}}", ARGUMENTS[name][1](call, text) if name in ARGUMENTS else part(text))
    return path


def _query(call: Call, operation: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The query parameters. An option that is not given is left out."""
    query = {
        name: NAMED[name][1](call, value) if name in NAMED and value is not None else value
        for name, value in given.items()
    }
    return {**query, "view": call.view} if "view" in endpoint(operation)["query"] else query
