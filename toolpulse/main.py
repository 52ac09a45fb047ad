"""Assembles the commands, and turns what goes wrong into one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from toolpulse.commands import (
    articles,
    corrections,
    exports,
    feeds,
    ingest,
    operations,
    sentiment,
    tools,
    upkeep,
)
from toolpulse.completing import VARIABLE
from toolpulse.declare import SHARED, Csv, Data, Full, Json, NoColor, Profile, Set, Url
from toolpulse.failures import INTERRUPTED, MEANINGS, READER_ENDED, WRONG_USAGE, Failure

PROGRAM = "toolpulse"
_EXIT_CODES = "\n".join(f"  {code:<4} {meaning}" for code, meaning in MEANINGS)
_ABOUT = """Watches the news about your tools: the whole API on the command line.

Names stand for ids: of tools, feeds, articles, stories and runs. The options below may also follow the command."""
_WrongUsage: Any = typer.BadParameter.__base__
"""What typer raises for a wrong command line."""


def application() -> typer.Typer:
    app = typer.Typer(
        help=_ABOUT,
        epilog=f"\b\nexit codes:\n{_EXIT_CODES}",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_shared)
    for module in (tools, feeds, articles, corrections, sentiment, exports, ingest,
                   operations, upkeep):  # fmt: skip
        module.add_to(app)
    return app


def _version(is_asked: bool) -> None:
    if is_asked:
        from toolpulse.local import version

        print(f"{PROGRAM} {version()}")
        raise typer.Exit


def _shared(
    ctx: typer.Context,
    *,
    app_url: Url = None,
    app_data: Data = None,
    app_profile: Profile = None,
    app_settings: Set = None,
    as_json: Json = False,
    as_csv: Csv = False,
    full: Full = False,
    no_color: NoColor = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    given = locals()
    ctx.obj = {"shared": {name: given[name] for name in SHARED}}


def main(arguments: Sequence[str]) -> int:
    """Runs the command. Returns the exit code."""
    try:
        try:
            return _run(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # Python would flush the rest at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_ENDED


def _run(arguments: Sequence[str]) -> int:
    try:
        if VARIABLE in os.environ:
            from typer._completion_classes import completion_init

            completion_init()
        command = typer.main.get_command(application())
        return int(command.main(list(arguments), prog_name=PROGRAM, standalone_mode=False) or 0)
    except _WrongUsage as wrong:
        wrong.show()
        return WRONG_USAGE
    except Failure as failure:
        print(failure, file=sys.stderr)
        return failure.code
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except SystemExit as ended:
        # So typer ends if the reader of the output is gone.
        if isinstance(ended.__context__, BrokenPipeError):
            raise ended.__context__ from None
        raise


def entry() -> None:
    """The console script."""
    sys.exit(main(sys.argv[1:]))
