"""The span of an invocation: `traced` continues the trace of the host or of the queue message.

The worker passes the host's trace in `context`, a parameter that every function has here; the handler need not take it.
"""

import contextlib
import functools
import inspect
import time
import typing
from collections.abc import Awaitable, Callable

import azure.functions as func

from services import container, telemetry

R = typing.TypeVar("R")
Function = Callable[..., Awaitable[R]]


def traced(function: Function[R]) -> Function[R]:
    """Puts each invocation into a span with the name of the function, if telemetry is on.

    The span is an internal one, since the host reports each invocation as a request: alerts would count both.
    """
    signature = inspect.signature(function)
    takes_context = "context" in signature.parameters
    name = function.__name__

    @functools.wraps(function)
    async def run(*args: typing.Any, **kwargs: typing.Any) -> R:
        context = kwargs.get("context") if takes_context else kwargs.pop("context", None)
        # The container begins telemetry. What is wrong with the settings, the function itself reports.
        with contextlib.suppress(Exception):
            await container.get()
        if not telemetry.is_on():
            return await function(*args, **kwargs)
        of_host = getattr(getattr(context, "trace_context", None), "trace_parent", None)
        given = (*args, *kwargs.values())
        trigger = next((each for each in given if isinstance(each, func.QueueMessage | func.HttpRequest)), None)
        body = trigger.get_body().decode(errors="replace") if isinstance(trigger, func.QueueMessage) else ""
        of_message = telemetry.trace_of(body)
        with (
            _measured(name),
            telemetry.span(
                name,
                parent=of_message or of_host,
                link=of_host if of_message else None,
                attributes=_of_trigger(context, trigger),
            ) as span,
        ):
            result = await function(*args, **kwargs)
            if isinstance(result, func.HttpResponse):
                span.set("http.response.status_code", result.status_code)
                if result.status_code >= 500:
                    span.fail(f"HTTP {result.status_code}")
            return result

    if not takes_context:
        own = [*signature.parameters.values()]
        own.append(inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=func.Context))
        run.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
        run.__annotations__ = {**function.__annotations__, "context": func.Context}
    return run


@contextlib.contextmanager
def _measured(name: str) -> typing.Iterator[None]:
    started, outcome = time.monotonic(), "failed"
    try:
        yield
        outcome = "succeeded"
    finally:
        milliseconds = (time.monotonic() - started) * 1000
        telemetry.record(telemetry.INVOCATIONS, milliseconds, function=name, outcome=outcome)


def _of_trigger(context: object, trigger: object) -> dict[str, telemetry.Attribute]:
    found: dict[str, telemetry.Attribute] = {"faas.trigger": _trigger_of(trigger)}
    if invocation := getattr(context, "invocation_id", None):
        found["faas.invocation_id"] = str(invocation)
    if isinstance(trigger, func.QueueMessage):
        found["toolpulse.delivery"] = trigger.dequeue_count or 1
    if isinstance(trigger, func.HttpRequest):
        found["http.request.method"] = str(trigger.method)
    return found


def _trigger_of(trigger: object) -> str:
    if isinstance(trigger, func.HttpRequest):
        return "http"
    return "pubsub" if isinstance(trigger, func.QueueMessage) else "timer"
