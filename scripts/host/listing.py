"""What the host prints at its start: the functions, as `func start` lists them, and what to open. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from scripts.host.functions import Function

# What a person wants first, if the app has it.
_WORTH_OPENING = ("api/v1/sentiment/latest", "api/v1/articles", "api/v1/health")


def listing(functions: Sequence[Function], origin: str, notes: Sequence[str]) -> str:
    lines = [f"Note: {note}." for note in notes]
    lines += ["", "Functions:"]
    lines += [f"\n    {each.name}: {_described(each, origin)}" for each in functions]
    gets = {each.route.template for each in functions if each.route is not None and each.route.takes("GET")}
    worth = [path for path in _WORTH_OPENING if path in gets]
    if worth:
        lines += ["", "Open:"]
        lines += [f"    {origin}/{path}" for path in worth]
    return "\n".join([*lines, ""])


def _described(function: Function, origin: str) -> str:
    text = ""
    if function.route is not None:
        methods = ",".join(sorted(function.route.methods)) if function.route.methods else "any"
        text = f"[{methods}] {origin}/{function.route.template}"
    if function.schedule is not None:
        text = f"timerTrigger ({function.schedule_text})"
    if function.queue is not None:
        text = f"queueTrigger ({function.queue})"
    if function.outputs:
        text += f" -> {', '.join(sorted(set(function.outputs.values())))}"
    return text + " (disabled)" * function.disabled
