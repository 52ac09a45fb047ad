"""The app's functions, read from its decorators. Refuses an app that Azure would not index or run.

The real host goes on without a function whose route, queue name or schedule is wrong; here the start is refused, so
that the mistake is seen.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import azure.functions as func
from azure.functions.decorators.core import Binding, BindingDirection
from azure.functions.decorators.function_app import Function as Declared

from . import Refused
from .queues import is_queue_name
from .routes import Route, parse_route
from .schedule import Schedule, parse_schedule, under_a_minute
from .settings import HostOptions, resolved
from .values import converter

_FUNCTION_NAME = re.compile(r"(?!host$)[a-z][a-z0-9_\-]{0,127}", re.IGNORECASE)
_BINDING_NAME = re.compile(r"(?!.*__)[a-zA-Z_][a-zA-Z0-9_]{0,127}|\$return")
_TRIGGERS = ("httpTrigger", "timerTrigger", "queueTrigger")
_STORAGE = ("", "AzureWebJobsStorage", "Storage")


@dataclass(frozen=True, slots=True)
class Function:
    """One function: exactly one of `route`, `schedule` and `queue` says how it is triggered. `auth_level` is the name
    of a level of azure.functions, for a route.

    `outputs` maps the name of a queue output, $return included, to its queue.
    """

    name: str
    call: Callable[..., Any]
    directory: str
    is_async: bool
    parameters: Parameters
    outputs: Mapping[str, str]
    has_return: bool
    disabled: bool
    route: Route | None = None
    auth_level: str = "FUNCTION"
    schedule: Schedule | None = None
    schedule_text: str = ""
    run_on_startup: bool = False
    monitored: bool = False
    queue: str | None = None


def load_functions(app_dir: Path, options: HostOptions, settings: Mapping[str, str]) -> list[Function]:
    """In the host's order, which is by name without regard to case. Raises Refused."""
    try:
        declared = _declared(app_dir)
    except ValueError as error:
        raise Refused(f"function_app.py: {error}") from None
    functions = [_inspected(each, options, settings) for each in declared]
    if not functions:
        raise Refused(f"{app_dir / 'function_app.py'} declares no functions")
    functions.sort(key=lambda each: each.name.lower())
    _compare(functions)
    return functions


@functools.cache
def _declared(app_dir: Path) -> tuple[Declared, ...]:
    """The library takes the functions of an app that is read a second time for others of the same names."""
    app = _function_app(app_dir)
    app.functions_bindings = None
    found = tuple(app.get_functions())
    app.functions_bindings = None
    return found


def _function_app(app_dir: Path) -> Any:
    path = app_dir / "function_app.py"
    if not path.exists():
        raise Refused(f"{path} is missing: without it the folder is no Functions app")
    sys.path.append(str(app_dir))
    module = importlib.import_module("function_app")
    if Path(module.__file__ or "").resolve() != path.resolve():
        raise Refused(f"another module named function_app hides {path}: {module.__file__}")
    apps = [value for value in vars(module).values() if isinstance(value, func.FunctionRegister)]
    if len(apps) != 1:
        raise Refused(f"{path} must have exactly one FunctionApp at its top level, not {len(apps)}")
    return apps[0]


def _inspected(declared: Declared, options: HostOptions, settings: Mapping[str, str]) -> Function:
    name, bindings = str(declared.get_function_name()), declared.get_bindings()
    trigger = declared.get_trigger()
    if not _FUNCTION_NAME.fullmatch(name):
        raise Refused(f"{name!r} is not a valid name of a function")
    if trigger is None:
        raise Refused(f"{name}: there is no trigger decorator")
    if trigger.type not in _TRIGGERS:
        raise Refused(f"{name}: this host has no {trigger.type}, only {', '.join(_TRIGGERS)}")
    if declared.get_setting("retry_policy") is not None:
        raise Refused(f"{name}: this host has no retry policies")
    seen = set[str]()
    for binding in bindings:
        if binding.name.lower() in seen:
            raise Refused(f"{name}: two bindings are named {binding.name}")
        seen.add(binding.name.lower())
        _check_binding(name, binding, trigger, options)
    call = declared.get_user_function()
    parameters = check_parameters(name, call, bindings)
    check_return(name, call, bindings)
    outputs = {each.name: _queue_name(name, each, settings) for each in bindings if each.type == "queue"}
    return Function(
        name=name,
        call=call,
        directory=str(Path(inspect.getfile(call)).parent),
        is_async=inspect.iscoroutinefunction(call),
        parameters=parameters,
        outputs=outputs,
        has_return=any(binding.name == "$return" for binding in bindings),
        disabled=settings.get(f"AzureWebJobs.{name}.Disabled", "").lower() in ("1", "true"),
        **_triggered(name, trigger, options, settings),
    )


def _check_binding(name: str, binding: Binding, trigger: Binding, options: HostOptions) -> None:
    if not _BINDING_NAME.fullmatch(binding.name):
        raise Refused(f"{name}: {binding.name!r} is not a valid name of a binding")
    if binding is not trigger:
        http = binding.type == "http" and binding.name == "$return" and trigger.type == "httpTrigger"
        if not http and (binding.type != "queue" or binding.direction != BindingDirection.OUT.value):
            raise Refused(f"{name}: this host has no binding {binding.type} ({binding.name}), only queue outputs")
    if binding.type in ("queue", "queueTrigger"):
        if not options.has_bundle:
            raise Refused(f"{name}: {binding.type} needs an extensionBundle in host.json")
        connection = getattr(binding, "connection", "") or ""
        if connection not in _STORAGE:
            raise Refused(f"{name}: this host has one storage account: connection must be AzureWebJobsStorage")


def _queue_name(name: str, binding: Binding, settings: Mapping[str, str]) -> str:
    queue = resolved(getattr(binding, "queue_name", ""), settings, f"{name}, queue of {binding.name}").lower()
    if not is_queue_name(queue):
        raise Refused(
            f"{name}: {queue!r} is not a queue name: 3 to 63 of a-z, 0-9 and single hyphens, none at the ends"
        )
    return queue


def _triggered(name: str, trigger: Any, options: HostOptions, settings: Mapping[str, str]) -> dict[str, Any]:
    try:
        if trigger.type == "httpTrigger":
            template = (trigger.route or "").strip() or name
            if re.match(r"/?(admin|runtime)(/|$)", template, re.IGNORECASE):
                raise Refused(f"{name}: the route {template!r} is the host's own")
            methods = trigger.methods and [getattr(method, "value", method) for method in trigger.methods]
            route = parse_route(options.route_prefix, template, methods or None)
            level = getattr(trigger.auth_level, "name", "FUNCTION")  # a decorator without a level: FUNCTION
            return {"route": route, "auth_level": level}
        if trigger.type == "queueTrigger":
            return {"queue": _queue_name(name, trigger, settings)}
        text = resolved(trigger.schedule, settings, f"{name}, schedule")
        schedule, now = parse_schedule(text), datetime.now(UTC)
        return {
            "schedule": schedule,
            "schedule_text": text,
            "run_on_startup": bool(trigger.run_on_startup),
            "monitored": trigger.use_monitor is not False and not under_a_minute(schedule, now),
        }
    except ValueError as error:
        raise Refused(f"{name}: {error}") from None


def _compare(functions: list[Function]) -> None:
    names, routes = set[str](), list[tuple[str, Route]]()
    for function in functions:
        if function.name.lower() in names:
            raise Refused(f"two functions are named {function.name}")
        names.add(function.name.lower())
        if function.route is None:
            continue
        for other, route in routes:
            common = _common(route.methods, function.route.methods)
            if common and route.template.lower() == function.route.template.lower():
                raise Refused(f"{function.name} and {other} have the same route, {route.template}")
        routes.append((function.name, function.route))


def _common(some: frozenset[str] | None, others: frozenset[str] | None) -> bool:
    return some is None or others is None or bool(some & others)


# The worker knows typing.List and not list[...]; ruff must not make one of the other here.
_LIST_OF_TEXT = typing.List[str]  # noqa: UP006


@dataclass(frozen=True, slots=True)
class Parameters:
    """`outputs` maps an output's name to whether it is a list; `as_text`: the trigger's value goes in as str."""

    trigger: str
    outputs: dict[str, bool]
    wants_context: bool
    as_text: bool


def check_parameters(name: str, call: Callable[..., Any], bindings: Sequence[Binding]) -> Parameters:
    """Raises Refused."""
    try:
        hints = typing.get_type_hints(call)
    except NameError as error:
        raise Refused(f"{name}: an annotation cannot be resolved when the app is indexed: {error}") from None
    declared = dict(inspect.signature(call).parameters)
    bound = {binding.name: binding for binding in bindings if binding.name != "$return"}
    for binding in bindings:
        if binding.direction == BindingDirection.INOUT.value:
            raise Refused(f"{name}: the binding {binding.name} is inout, which Python does not support")
        if binding.name == "$return" and binding.direction != BindingDirection.OUT.value:
            raise Refused(f"{name}: $return must be an output")
    wants_context = "context" in declared and "context" not in bound
    if wants_context:
        del declared["context"]
        if getattr(hints.get("context", func.Context), "__name__", None) != "Context":
            raise Refused(f"{name}: the parameter context must be annotated func.Context or not at all")
    _same_names(name, set(declared), set(bound))
    outputs = {
        each: _output_is_list(name, each, hints)
        for each in bound
        if bound[each].direction == BindingDirection.OUT.value
    }
    trigger = next(each for each in bound if each not in outputs)
    return Parameters(trigger, outputs, wants_context, _trigger_as_text(name, bound[trigger], hints))


def _same_names(name: str, declared: set[str], bound: set[str]) -> None:
    if declared - bound:
        missing = ", ".join(sorted(declared - bound))
        raise Refused(
            f"{name}: declared in Python but not in the decorators: {missing}. A parameter is named as its binding"
        )
    if bound - declared:
        missing = ", ".join(sorted(bound - declared))
        raise Refused(
            f"{name}: declared in the decorators but not in Python: {missing}. A parameter is named as its binding"
        )


def _output_is_list(name: str, parameter: str, hints: dict[str, Any]) -> bool:
    hint = hints.get(parameter)
    inner = typing.get_args(hint)
    if typing.get_origin(hint) is func.Out and inner in ((str,), (_LIST_OF_TEXT,)):
        return inner == (_LIST_OF_TEXT,)
    raise Refused(
        f"{name}: the queue output {parameter} must be annotated func.Out[str] or func.Out[typing.List[str]], "
        f"not {hint}: anything else (list[str] too) leaves the whole app unindexed in Azure"
    )


def _trigger_as_text(name: str, binding: Binding, hints: dict[str, Any]) -> bool:
    if binding.name not in hints:
        return False
    hint = hints[binding.name]
    if hint in (str, bytes):
        return True
    if not isinstance(hint, type) or not converter(binding.type).check_input_type_annotation(hint):
        raise Refused(f"{name}: the parameter {binding.name} of a {binding.type} cannot be annotated {hint}")
    return False


def check_return(name: str, call: Callable[..., Any], bindings: Sequence[Binding]) -> None:
    """The annotation of what goes to $return. Raises Refused."""
    returned = next((binding for binding in bindings if binding.name == "$return"), None)
    hints = typing.get_type_hints(call)
    if returned is None or "return" not in hints:
        return
    hint = hints["return"]
    if not isinstance(hint, type) or not converter(returned.type).check_output_type_annotation(hint):
        raise Refused(f"{name}: what goes to a {returned.type} output cannot be annotated {hint}")
