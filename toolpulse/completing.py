"""Names that the shell completes: those of tools and feeds, as the app has them now.

A person waits for them at every key. So there is one short request; whatever fails, nothing is completed, and nothing
is printed: the text would stand in the command line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from toolpulse.targets import Given, Local, Remote, target

VARIABLE = "_TOOLPULSE_COMPLETE"
"""The script that `toolpulse completion` prints sets it: to `complete_bash`, for example."""
_SECONDS = 3.0
_MOST = 500


def tools(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Names and aliases, each with the name of its tool."""
    found = ((name, each["name"]) for each in _listed(ctx, "tools") for name in (each["name"], *each["aliases"]))
    return [(written(name), about) for name, about in found if name.startswith(incomplete)]


def feeds(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Ids, each with the name of its feed."""
    found = ((each["feed_id"], each["source_name"]) for each in _listed(ctx, "feeds"))
    return [(feed_id, about) for feed_id, about in found if feed_id.startswith(incomplete)]


def written(name: str) -> str:
    """As it must stand in the command line. The other shells quote what they insert by themselves."""
    if os.environ.get(VARIABLE) != "complete_bash":
        return name
    return re.sub(r"([^\w./:@%+=,#-])", r"\\\1", name)


def _listed(ctx: typer.Context, what: str) -> Sequence[dict[str, Any]]:
    try:
        remote = _app(ctx)
        if remote is None:
            return ()
        import httpx

        from toolpulse.client import headers_of

        asked: dict[str, Any] = {"params": {"limit": _MOST}, "headers": headers_of(remote), "timeout": _SECONDS}
        response = httpx.get(f"{remote.base}/{what}", **asked, trust_env=not remote.is_local)
        items: Sequence[dict[str, Any]] = response.raise_for_status().json()["items"]
        return items
    except Exception:
        return ()


def _app(ctx: typer.Context) -> Remote | None:
    """The app that runs: one that must be started first would take too long."""
    given = dict(_given(ctx))
    data = given.get("app_data")
    found = target(Given(given.get("app_url"), Path(data) if data else None, given.get("app_profile"), ()), os.environ)
    if not isinstance(found, Local):
        return found
    from toolpulse.local import running

    return running(found)


def _given(ctx: typer.Context) -> Iterator[tuple[str, Any]]:
    """The options before and after the command; the last ones win."""
    at: Any = ctx.find_root()
    for each in (at, ctx):
        yield from ((name, value) for name, value in each.params.items() if value)
