"""How a command is declared: `command` makes one of a function, and gives it the options that every command has. The
options and arguments that several commands have are here, under one name and with one meaning.

`contract.json` has what commands need of the contract of the API (`python -m scripts.openapi --commands` writes it).
The function gets a `Call` first, then what its own signature says. It returns the exit code, or None for 0.
"""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Sequence
from functools import cache, wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from toolpulse.call import Call
from toolpulse.completing import feeds, tools
from toolpulse.failures import WRONG_USAGE, Failure
from toolpulse.output import Output
from toolpulse.targets import KEY, MANAGEMENT_KEY, PROFILE, URL, Given

FILE = Path(__file__).with_name("contract.json")
KEYWORD = inspect.Parameter.KEYWORD_ONLY

Url = Annotated[str | None, typer.Option("--url", metavar="URL", help=f"The app at this URL, also {URL}; its keys: {KEY}, {MANAGEMENT_KEY}.")]  # fmt: skip  # noqa: E501
Data = Annotated[Path | None, typer.Option("--data", metavar="DIR", help="The app of this data folder, running or not [default: .data].")]  # fmt: skip  # noqa: E501
Profile = Annotated[str | None, typer.Option("--profile", metavar="NAME", help=f"The app that the configuration file names so, also {PROFILE}.")]  # fmt: skip  # noqa: E501
Set = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the app of a data folder; repeatable.")]  # fmt: skip  # noqa: E501
Json = Annotated[bool, typer.Option("--json", help="Results as JSON, as the API has them.")]
Csv = Annotated[bool, typer.Option("--csv", help="Results as CSV, with every field.")]
Full = Annotated[bool, typer.Option("--full", help="With internal fields (view=full of the API).")]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colours, as with NO_COLOR.")]

SHARED = {
    "app_url": (Url, None), "app_data": (Data, None), "app_profile": (Profile, None), "app_settings": (Set, None),
    "as_json": (Json, False), "as_csv": (Csv, False), "full": (Full, False), "no_color": (NoColor, False),
}  # fmt: skip
"""The options of every command by their parameter, with type and default. They may also stand before the command."""

Tool = Annotated[str, typer.Argument(metavar="TOOL", help="Name, alias or id of a tool.", autocompletion=tools)]
Feed = Annotated[str, typer.Argument(metavar="FEED", help="Name, title, URL or id of a feed.", autocompletion=feeds)]
Article = Annotated[str, typer.Argument(metavar="ARTICLE", help="Id of an article, or words that only one has.")]
Story = Annotated[str, typer.Argument(metavar="STORY", help="Id of a story, or words that only one has.")]
Run = Annotated[str, typer.Argument(metavar="RUN", help="Its id, the beginning of it, or last.")]
ByTool = Annotated[
    str | None,
    typer.Option("--tool", metavar="TOOL", help="Only about this tool: name, alias or id.", autocompletion=tools),
]
ByFeed = Annotated[
    str | None, typer.Option("--feed", metavar="FEED", help="Only of this feed: name, URL or id.", autocompletion=feeds)
]
BySubject = Annotated[str | None, typer.Option("--subject", metavar="NAME", help="Only about this feed, tool or article.")]  # fmt: skip  # noqa: E501
Limit = Annotated[int, typer.Option("--limit", metavar="N", help="At most so many; 0 is all.", show_default=False)]
Text = Annotated[str | None, typer.Option("--text", metavar="WORDS", help="Only with these words.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Do not wait for the run that does the work.")]
MaybeFile = Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Default: standard output.")]
ByPeriod = Annotated[str, typer.Option("--period", case_sensitive=False, help="The window.")]

Function = Callable[..., int | None]


@cache
def contract() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_bytes())
    return found


def endpoint(operation: str) -> dict[str, Any]:
    """`path`, `about`, the `parts` of the path and the `query` parameters of an endpoint."""
    found: dict[str, Any] = contract()["endpoints"][operation]
    return found


def described(where: str) -> dict[str, Any]:
    """A query parameter of an endpoint or a field of a body: `list_tools.status`, `Review.decision`."""
    name, _, field = where.partition(".")
    fields = contract()["bodies"].get(name) or endpoint(name)["query"]
    found: dict[str, Any] = fields[field]
    return found


def group(about: str) -> typer.Typer:
    """Commands below one word."""
    return typer.Typer(help=about, no_args_is_help=True, add_completion=False, rich_markup_mode=None)


def command(app: typer.Typer, name: str, **choices: str) -> Callable[[Function], Function]:
    """Declares the function as the command `name` of `app`. `choices` says of some parameters where the contract has
    the values that they may have: `status="list_tools.status"`."""

    def declare(run: Function) -> Function:
        hints = typing.get_type_hints(run, include_extras=True)
        hints |= {name: _chosen(hints[name], where) for name, where in choices.items()}
        _, *own = inspect.signature(run).parameters.values()
        parameters = [each.replace(kind=KEYWORD, annotation=hints[each.name]) for each in own]
        app.command(name)(with_shared(run, parameters))
        return run

    return declare


def one_of(values: Sequence[str]) -> Any:
    return Literal[tuple(values)]


def _chosen(hint: Any, where: str) -> Any:
    """The type of a parameter with the values that the contract allows, and its text if the option has none."""
    plain, *others = typing.get_args(hint)
    values = one_of(described(where)["enum"])
    for each in others:
        each.help = each.help or described(where)["about"]
    return Annotated[values if plain is str else values | None, *others]


def with_shared(run: Function, own: Sequence[inspect.Parameter]) -> Function:
    """The command of a function that gets a Call and its `own` parameters: with the options that every command has."""

    @wraps(run)
    def invoked(*, ctx: typer.Context, **given: Any) -> None:
        before: dict[str, Any] = (ctx.find_root().obj or {}).get("shared", {})
        shared = {name: given.pop(name) or before.get(name) or default for name, (_, default) in SHARED.items()}
        with call_of(shared) as call:
            code = run(call, **given)
        raise typer.Exit(code or 0)

    shared = [inspect.Parameter(name, KEYWORD, default=default, annotation=annotation)
              for name, (annotation, default) in SHARED.items()]  # fmt: skip
    parameters = [inspect.Parameter("ctx", KEYWORD, annotation=typer.Context), *own, *shared]
    invoked.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    invoked.__annotations__ = {each.name: each.annotation for each in parameters}
    return invoked


def call_of(shared: dict[str, Any]) -> Call:
    if shared["as_json"] and shared["as_csv"]:
        raise Failure("--json and --csv: give one of them", WRONG_USAGE)
    form = "json" if shared["as_json"] else "csv" if shared["as_csv"] else "table"
    given = Given(shared["app_url"], shared["app_data"], shared["app_profile"], shared["app_settings"] or ())
    return Call(given, Output(form, shared["no_color"]), full=shared["full"])
