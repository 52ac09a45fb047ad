"""Commands that are made from the contract of the API: their arguments, options, choices and texts are those of its
endpoints."""

from __future__ import annotations

import inspect
import json
import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from toolpulse import declare
from toolpulse.call import LISTED, Call, most
from toolpulse.client import part
from toolpulse.declare import KEYWORD, contract, endpoint, one_of, with_shared
from toolpulse.failures import FAILED, WRONG_USAGE, Failure

Rows = Callable[[Call, dict[str, Any]], list[dict[str, Any]]]
Show = Callable[[Call, dict[str, Any]], None]
Before = Callable[[Call, str, dict[str, Any]], dict[str, Any]]
Resolve = Callable[[Call, str], str]

PARTS: Mapping[str, tuple[Any, Resolve]] = {
    "tool": (declare.Tool, lambda call, text: call.names.tool_id(text)),
    "feed_id": (declare.Feed, lambda call, text: call.names.feed(text)),
    "article_id": (declare.Article, lambda call, text: call.names.article(text)),
    "event_id": (declare.Story, lambda call, text: call.names.story(text)),
    "run_id": (declare.Run, lambda call, text: call.names.run(text)),
}
"""The parts of a path for which people give a name. Others are given as they are."""
NAMED: Mapping[str, Resolve] = {
    "tool": PARTS["tool"][1],
    "into": PARTS["tool"][1],
    "source": PARTS["feed_id"][1],
    "feed": PARTS["feed_id"][1],
    "article": PARTS["article_id"][1],
    "articles": PARTS["article_id"][1],
    "story": PARTS["event_id"][1],
    "subject": lambda call, text: call.names.subject(text),
}
"""The parameters and fields that take an id, for which people give a name."""
FILTERS: Mapping[str, Any] = {
    "tool": declare.ByTool,
    "source": declare.ByFeed,
    "feed": declare.ByFeed,
    "subject": declare.BySubject,
}
SPELLED: Mapping[str, str] = {
    "enabled": "--enabled/--disabled",
    "failing": "--failing/--working",
    "source_name": "--name",
    "url": "--new-url",
    "feed_id": "--id",
    "aliases": "--alias",
    "tickers": "--ticker",
    "keywords": "--keyword",
    "excluded": "--exclude",
    "muted_sources": "--mute",
    "tags": "--tag",
    "values": "--value",
}
"""The options that have another name than their field."""
NO_NOTES: Mapping[int, str] = {}
_TYPES: Mapping[str, Any] = {"integer": int, "number": float, "boolean": bool, "array": list[str]}
_OWN = ("view", "limit", "cursor", "If-None-Match")


@dataclass(frozen=True, slots=True)
class Made:
    """What commands of an endpoint have in common: its path, its query and its body, made of what a person gives. With
    `of_tool` they take --tool, which asks for the same below a tool; `by_id` they take no name or words for an id."""

    operation: str
    of_tool: bool = False
    by_id: bool = False

    def parts(self) -> list[inspect.Parameter]:
        found = []
        for name, about in endpoint(self.operation)["parts"].items():
            plain = Annotated[str, typer.Argument(metavar=name.upper(), help=about)]
            found.append(_parameter(name, PARTS[name][0] if self._is_named(name) else plain))
        return found + ([_parameter("tool", declare.ByTool, None)] if self.of_tool else [])

    def filters(self, without: Sequence[str] = ()) -> list[inspect.Parameter]:
        query = endpoint(self.operation)["query"].items()
        return [
            _parameter(name, FILTERS[name], None) if name in FILTERS else _option(name, said, is_needed=False)
            for name, said in query
            if name not in (*_OWN, *without)
        ]

    def fields(self, arguments: Sequence[str], without: Sequence[str]) -> list[inspect.Parameter]:
        """The fields of the body: those in `arguments` are arguments, in this order, the others are options."""
        body = contract()["bodies"][endpoint(self.operation)["body"]]
        first = [_argument(name, body[name]) for name in arguments]
        rest = {name: said for name, said in body.items() if name not in (*arguments, *without)}
        return first + [_option(name, said, is_needed=said["required"]) for name, said in rest.items()]

    def path(self, call: Call, given: dict[str, Any]) -> str:
        """The path, made of the arguments, which are taken out of what is given."""
        path = str(endpoint(self.operation)["path"])
        if self.of_tool and (tool := given.pop("tool")) is not None:
            path = f"tools/{call.names.tool(tool)}/{path}"
        for name in re.findall(r"\{(\w+)\}", path):
            text = given.pop(name)
            path = path.replace(f"{{{name}}}", part(PARTS[name][1](call, text) if self._is_named(name) else text))
        return path

    def _is_named(self, name: str) -> bool:
        return name in PARTS and not self.by_id

    def query(self, call: Call, given: Mapping[str, Any]) -> dict[str, Any]:
        """The query parameters. An option that is not given is left out."""
        query = {_field(name): _named(call, name, value) for name, value in given.items() if value is not None}
        return {**query, **self.view(call)}

    def body(self, call: Call, given: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that were given."""
        known = contract()["bodies"][endpoint(self.operation)["body"]]
        return {
            name: json_object(name, value) if known[name]["type"] == "object" else _named(call, name, value)
            for name, value in given.items()
            if value is not None and value != []
        }

    def view(self, call: Call) -> dict[str, Any]:
        return {"view": call.view} if "view" in endpoint(self.operation)["query"] else {}

    def declare(
        self,
        group: typer.Typer,
        name: str,
        run: Callable[..., int | None],
        own: Sequence[inspect.Parameter],
        about: str | None = None,
    ) -> None:
        run.__doc__ = about or endpoint(self.operation)["about"]
        group.command(name)(with_shared(run, own))


def a_list(
    group: typer.Typer,
    name: str,
    operation: str,
    columns: Sequence[str],
    *,
    none: str = "There are none.",
    limit: int = LISTED,
    rows: Rows | None = None,
    without: Sequence[str] = (),
    keep: Callable[[dict[str, Any]], bool] | None = None,
    after: Callable[[Call, list[dict[str, Any]]], None] | None = None,
    of_tool: bool = False,
    about: str | None = None,
    **fixed: Any,
) -> None:
    """A command that lists. `rows` makes the rows of a table of an item, `keep` chooses items, `after` adds notes to a
    table, `fixed` are parameters that the command always sends."""
    made = Made(operation, of_tool)
    has_pages = "limit" in endpoint(operation)["query"]

    def run(call: Call, **given: Any) -> None:
        asked = most(given.pop("limit")) if has_pages else None
        path = made.path(call, given)
        query = {**fixed, **made.query(call, given)}
        listed = call.listed(path, asked, **query) if has_pages else call.client.get(path, **query)["items"]
        found = [each for each in listed if keep is None or keep(each)]
        shown = [row for each in found for row in rows(call, each)] if rows is not None and call.out.is_table else None
        call.out.rows(found, columns, none=none, shown=shown)
        if after is not None and call.out.is_table:
            after(call, found)

    limited = [_parameter("limit", declare.Limit, limit)] if has_pages else []
    made.declare(group, name, run, [*made.parts(), *made.filters((*without, *fixed)), *limited], about)


def an_item(
    group: typer.Typer,
    name: str,
    operation: str,
    show: Show | None = None,
    before: Before | None = None,
    *,
    of_tool: bool = False,
    about: str | None = None,
) -> None:
    """A command that shows one resource. `show` prints it for people, `before` completes what is asked for."""
    made = Made(operation, of_tool)

    def run(call: Call, **given: Any) -> None:
        path = made.path(call, given)
        query = made.query(call, given)
        _shown(call, call.client.get(path, **(before(call, path, query) if before else query)), show)

    made.declare(group, name, run, [*made.parts(), *made.filters()], about)


def an_act(
    group: typer.Typer,
    name: str,
    operation: str,
    *,
    arguments: Sequence[str] = (),
    without: Sequence[str] = (),
    prints: str | None = None,
    show: Show | None = None,
    before: Before | None = None,
    extra: Mapping[str, Any] | None = None,
    waits: bool = False,
    notes: Mapping[int, str] = NO_NOTES,
    failed: Callable[[dict[str, Any]], bool] = lambda _found: False,
    of_tool: bool = False,
    about: str | None = None,
) -> None:
    """A command that makes or changes something. It prints the field `prints` of the answer, or what `show` prints.
    `before` completes the body, also from the `extra` options. With `waits` the command waits for the run that the
    answer names. `notes` are told by the status of the answer; `failed` says whether an answer is a failure."""
    made = Made(operation, of_tool)
    has_body = endpoint(operation)["body"] not in (None, "Nothing")
    method = endpoint(operation)["method"]

    def run(call: Call, **given: Any) -> int:
        wait = waits and not given.pop("no_wait")
        parts = endpoint(operation)["parts"]
        if method == "PATCH" and all(value in (None, []) for each, value in given.items() if each not in parts):
            raise Failure("nothing to change: see the options with --help", WRONG_USAGE)
        path = made.path(call, given)
        others = {each: given.pop(each) for each in extra or ()}
        body = made.body(call, given) if has_body else {}
        if before is not None:
            body = before(call, path, {**body, **others})
        response = call.client.send(method, path, query=made.view(call), body=body)
        found = call.client.answer(response)
        if response.status_code in notes:
            call.out.say(notes[response.status_code])
        if prints is not None:
            call.out.made(found, prints)
        elif show is not None or not waits:
            _shown(call, found, show)
        if waits:
            return call.finished(found.get("run_id"), wait=wait)
        return FAILED if failed(found) else 0

    own = [*made.parts(), *(made.fields(arguments, without) if has_body else ())]
    own += [_parameter(each, annotation, None) for each, annotation in (extra or {}).items()]
    own += [_parameter("no_wait", declare.NoWait, False)] if waits else []
    made.declare(group, name, run, own, about)


def a_run(group: typer.Typer, name: str, operation: str) -> None:
    """A command that begins a run, and waits for it."""
    an_act(group, name, operation, without=list(contract()["bodies"][endpoint(operation)["body"]]), waits=True)


def a_deletion(group: typer.Typer, name: str, operation: str, what: str, asks: str | None = None) -> None:
    """A command that deletes. `what` is deleted, in words with the argument in braces. It asks before if `asks`, and
    then takes an id only: words may be those of another article by now."""
    made = Made(operation, by_id=asks is not None)

    def run(call: Call, **given: Any) -> None:
        if asks is not None and not given.pop("yes") and not typer.confirm(asks.format(**given), err=True):
            raise Failure("nothing was deleted")
        deleted = what.format(**given)
        call.client.delete(made.path(call, given))
        call.out.say(f"deleted: {deleted}")

    made.declare(group, name, run, [*made.parts(), *([_parameter("yes", declare.Yes, False)] if asks else [])])


def _shown(call: Call, found: dict[str, Any], show: Show | None) -> None:
    if show is not None and call.out.is_table:
        show(call, found)
    else:
        call.out.item(found)


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    name = f"{name}_" if keyword.iskeyword(name) else name
    return inspect.Parameter(name, KEYWORD, default=default, annotation=annotation)


def _field(name: str) -> str:
    return name.removesuffix("_")


def _named(call: Call, name: str, value: Any) -> Any:
    """The value of a parameter or field: the id for a name."""
    if name not in NAMED:
        return value
    return [NAMED[name](call, each) for each in value] if isinstance(value, list) else NAMED[name](call, value)


def _argument(name: str, said: Mapping[str, Any]) -> inspect.Parameter:
    is_list = said["type"] == "array"
    annotation = one_of(said["enum"]) if "enum" in said else list[str] if is_list else str
    about = typer.Argument(metavar=f"{name.upper()}{'...' if is_list else ''}", help=_first_sentence(said["about"]))
    return _parameter(name, Annotated[annotation, about])


def _option(name: str, said: Mapping[str, Any], *, is_needed: bool) -> inspect.Parameter:
    kind = _TYPES.get(said["type"], str)
    annotation = one_of(said["enum"]) if "enum" in said else kind
    metavars = {"time": "TIME", "object": "JSON"}
    option = typer.Option(
        SPELLED.get(name, f"--{name.replace('_', '-')}"),
        help=_first_sentence(said["about"]),
        metavar=metavars.get(said["type"]),
        case_sensitive=False,
    )
    if is_needed:
        return _parameter(name, Annotated[annotation, option])
    return _parameter(name, Annotated[annotation | None, option], None)


def _first_sentence(about: str) -> str:
    first = re.split(r"(?<=\.) ", about.removeprefix("`true`: "))[0]
    return first[:1].upper() + first[1:]


def json_object(name: str, text: str) -> dict[str, Any]:
    """The value of an option that is an object, given as JSON."""
    try:
        fields = json.loads(text)
    except ValueError as error:
        raise Failure(f"--{name.replace('_', '-')}: must be a JSON object ({error})", WRONG_USAGE) from None
    if not isinstance(fields, dict):
        raise Failure(f"--{name.replace('_', '-')}: must be a JSON object", WRONG_USAGE)
    return fields
