"""How functions are declared: the methods of `Routes`, `timer` and `consumer` make a function of a handler.

The arguments of a handler are the container, then those of its trigger. Services send messages through the Queues port,
not through output bindings, which send only after the function has returned. Decorators need the auth level of an
endpoint at import, so READ_AUTH_LEVEL is the one setting that is read so early. An invalid value means the safer level;
services/settings.py reports it.

`traced` continues the trace of the host or of the queue message. The worker passes the host's trace in `context`, a
parameter that every function has here; the handler need not take it.
"""

import contextlib
import functools
import hmac
import inspect
import logging
import os
import time
import typing
from collections.abc import Awaitable, Callable

import azure.functions as func

from models.errors import NotAllowed, Unavailable
from models.request import Request
from services import container, deadline, telemetry
from services.container import Container
from services.logs import log_event
from services.topology import FUNCTION_TIMEOUT, HTTP_TIMEOUT, Timer
from triggers.contract import DECLARED, Answer, Declared, File, Returned, answers_of, implied_by
from triggers.http_codec import JSON, compressed, with_problem_responses, wrong_media_type
from triggers.parameters import Parameter, check_query, parameters_of

R = typing.TypeVar("R")
P = typing.ParamSpec("P")
Handler = Callable[typing.Concatenate[Container, P], Awaitable[R]]
Function = Callable[..., Awaitable[R]]
Endpoint = Callable[typing.Concatenate[Container, func.HttpRequest, P], Awaitable[func.HttpResponse]]

Declare = Callable[[Callable[..., Awaitable[func.HttpResponse]]], typing.Any]
AnyParameter = Parameter[typing.Any]

MAX_CHECKED, LONGEST_KEPT = 4000, 300
_checked: set[object] = set()
"""Queries that have passed the check and need no other one. Their number and length are bounded."""
CONNECTION = "AzureWebJobsStorage"
OPEN = func.AuthLevel.ANONYMOUS
READ = OPEN if os.environ.get("READ_AUTH_LEVEL", "").strip().lower() == "anonymous" else func.AuthLevel.FUNCTION
MANAGE = func.AuthLevel.FUNCTION
NO_PROBLEMS: typing.Mapping[int, str] = {}

log = logging.getLogger("toolpulse.timers")


class Routes(func.Blueprint):
    """The HTTP functions of one module, all under `v1/`. Their group in the contract is `tag`, or the first word of the
    route.

    What a function declares is checked before its handler is called, and is in the contract. A function accepts the
    declared query parameters and no others, and a body of the media types of `body`. All methods but GET are management
    unless `is_management` is given. One that is open needs no key, and ignores unknown parameters. The first line of
    the handler's docstring is the summary of the endpoint, the others are its description, after `about`.
    """

    def __init__(self, tag: str | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._tag = tag

    def _endpoint(
        self,
        method: str,
        route: str,
        *parameters: AnyParameter,
        returns: Returned | typing.Sequence[Answer],
        about: str = "",
        tag: str | None = None,
        body: type[Request] | File | None = None,
        problems: typing.Mapping[int, str] = NO_PROBLEMS,
        is_management: bool | None = None,
        is_open: bool = False,
    ) -> Declare:
        managed = method != "GET" if is_management is None else is_management
        level = OPEN if is_open else MANAGE if managed else READ
        answers = answers_of(returns)
        taken = (*parameters, *implied_by(answers))
        accepts = body.media_types if isinstance(body, File) else JSON

        def declare(handler: Endpoint[P]) -> typing.Any:
            @functools.wraps(handler)
            async def checked(
                services: Container, req: func.HttpRequest, *args: P.args, **kwargs: P.kwargs
            ) -> func.HttpResponse:
                if managed:
                    require_management(req, services.settings.management_key)
                asked = (handler, req.url, *req.params.items())
                if not is_open and asked not in _checked:
                    check_query(req, taken)
                    if len(req.url) <= LONGEST_KEPT:
                        _checked.add(asked)
                    if len(_checked) > MAX_CHECKED:
                        _checked.pop()
                if (refused := wrong_media_type(req, accepts)) is not None:
                    return refused
                return await handler(services, req, *args, **kwargs)

            name = handler.__name__
            summary, _, further = (inspect.getdoc(handler) or "").partition("\n\n")
            described = " ".join(f"{about} {further}".split())
            group = tag or self._tag or route.partition("/")[0].capitalize()
            DECLARED.append(
                Declared(
                    *(handler.__module__, name, method, route, group, summary.removesuffix("."), described),
                    *((*parameters_of(route), *taken), body, answers, problems),
                    is_management=managed,
                    handler=checked,
                    is_open=is_open,
                )
            )
            function = traced(compressed(with_problem_responses(with_container(checked))))
            methods = [method, "HEAD"] if method == "GET" else [method]  # the host leaves out the body of a HEAD
            path = f"v1/{route}".rstrip("/")
            return self.route(route=path, methods=methods, auth_level=level)(function)

        return declare

    get = functools.partialmethod(_endpoint, "GET")
    post = functools.partialmethod(_endpoint, "POST")
    patch = functools.partialmethod(_endpoint, "PATCH")
    delete = functools.partialmethod(_endpoint, "DELETE")


def timer(blueprint: func.Blueprint, spec: Timer) -> Callable[[Handler[P, None]], typing.Any]:
    """A timer function."""

    def declare(handler: Handler[P, None]) -> typing.Any:
        function = traced(beating(spec)(with_container(handler, in_background=True)))
        trigger = blueprint.timer_trigger(arg_name="timer_request", schedule=spec.schedule, run_on_startup=False)
        return trigger(function)

    return declare


def consumer(blueprint: func.Blueprint, queue: str) -> Callable[[Handler[P, None]], typing.Any]:
    """A function for each message of `queue`.

    If the handler raises, the message goes back to its queue; after host.json's maxDequeueCount to the poison queue.
    """

    def declare(handler: Handler[P, None]) -> typing.Any:
        function = traced(with_container(handler, in_background=True))
        return blueprint.queue_trigger(arg_name="message", queue_name=queue, connection=CONNECTION)(function)

    return declare


def with_container(handler: Handler[P, R], *, in_background: bool = False) -> Callable[P, Awaitable[R]]:
    """The handler with this worker's container as its first argument, under its deadline.

    The worker reads the bindings of a function from its signature, which must not have that argument. The container is
    made outside of the deadline, since it outlives the invocation.
    """
    limit = FUNCTION_TIMEOUT if in_background else HTTP_TIMEOUT

    @functools.wraps(handler)
    async def function(*args: P.args, **kwargs: P.kwargs) -> R:
        services = await container.get()
        services.figures.counters.writer.soon()
        with deadline.within(limit.total_seconds(), in_background=in_background):
            return await handler(services, *args, **kwargs)

    signature = inspect.signature(handler)
    services, *bound = signature.parameters.values()
    function.__signature__ = signature.replace(parameters=bound)  # type: ignore[attr-defined]
    function.__annotations__ = {name: each for name, each in handler.__annotations__.items() if name != services.name}
    return function


def beating(timer: Timer) -> Callable[[Callable[P, Awaitable[None]]], Callable[P, Awaitable[None]]]:
    """Records how each run of `timer` ended. A run that fails is not retried: the next tick is the retry."""

    def decorate(handler: Callable[P, Awaitable[None]]) -> Callable[P, Awaitable[None]]:
        @functools.wraps(handler)
        async def run(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                await recorded(*args, **kwargs)
            except Unavailable as error:
                # Not the fault of this timer: an outage stops all timers, so the event has a level of its own.
                log_event(log, logging.CRITICAL, "system_unavailable", timer=timer.name, error=str(error))
                raise

        async def recorded(*args: P.args, **kwargs: P.kwargs) -> None:
            services = await container.get()
            started = services.clock()
            try:
                await handler(*args, **kwargs)
            except Exception as error:
                await services.heartbeats.record(timer.name, started, error=type(error).__name__)
                raise
            await services.heartbeats.record(timer.name, started)

        return run

    return decorate


def require_management(req: func.HttpRequest, management_key: str) -> None:
    """Raises NotAllowed without the management key. A function key alone is not enough, since a host key opens every
    function. Without a configured key nothing is checked."""
    if not management_key:
        return
    given = req.headers.get("X-Management-Key", "")
    if not hmac.compare_digest(given.encode(), management_key.encode()):
        raise NotAllowed("X-Management-Key: this endpoint needs the management key of the app in this header")


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
