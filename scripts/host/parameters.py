"""The worker's checks of a function's parameters against its bindings. What fails here leaves a whole app unindexed in
Azure, so it is refused.

Stricter than the worker in one place: a queue output must be annotated, as func.Out[str] or func.Out[typing.List[str]].
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import azure.functions as func
from azure.functions.decorators.core import Binding, BindingDirection

from scripts.host import Refused
from scripts.host.values import converter

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
