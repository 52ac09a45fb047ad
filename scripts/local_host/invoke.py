"""Runs functions: arguments in, outcome and queue messages out, log lines as the host writes them.

Async functions run in the event loop, each in a task and context of its own; others in a thread pool of the size that
PYTHON_THREADPOOL_THREAD_COUNT says. Decides nothing about triggers.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
import traceback
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from .console import Console, Invocation, current, thread_local
from .functions import Function
from .values import Context, Out, Refusal, Reply, encoded, make_reply, queue_texts

PROGRAMMATIC = "This function was programmatically called via the host APIs."


@dataclass(slots=True)
class Outcome:
    """The result of one run. `stopped` means that the host cancelled the run because the host stops."""

    id: str
    error: str | None = None
    stopped: bool = False
    reply: Reply | None = None
    sent: list[tuple[str, str]] = field(default_factory=list)
    milliseconds: int = 0


class _Failed(Exception):
    """The function raised `__cause__`."""


class Invoker:
    """Runs one function at a time per call, any number of calls at once. `send` takes (queue, stored text) pairs."""

    def __init__(
        self,
        console: Console,
        send: Callable[[list[tuple[str, str]]], None],
        *,
        timeout: float | None,
        is_base64: bool,
        threads: int | None,
    ) -> None:
        self._console = console
        self._send = send
        self._timeout = timeout
        self._is_base64 = is_base64
        self._threads = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="function")
        self._stopping = False
        self.running: set[asyncio.Task[Outcome]] = set()

    def start(
        self, function: Function, value: Any, reason: str, *, method: str = "", trace_parent: str = ""
    ) -> asyncio.Task[Outcome]:
        """`method` is the request's, for an HTTP function. The task never raises but CancelledError."""
        run = self._run(function, value, reason, method, trace_parent)
        task = asyncio.get_running_loop().create_task(run, context=contextvars.Context())
        self.running.add(task)
        task.add_done_callback(self.running.discard)
        return task

    async def until_idle(self) -> None:
        """Waits until no function runs."""
        while self.running:
            await asyncio.wait(self.running)

    async def cut_short(self) -> None:
        """Cancels running functions. A function that ignores it is left behind."""
        self._stopping = True
        left = list(self.running)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=0.5)
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, function: Function, value: Any, reason: str, method: str, trace_parent: str) -> Outcome:
        outcome = Outcome(str(uuid.uuid4()))
        current.set(Invocation(outcome.id, function.name))
        category = f"Function.{function.name}"
        self._console.log(
            *("debug", category, {"message": f"Executing 'Functions.{function.name}' (Reason='{reason}')"}),
            _of_host(function, outcome),
        )
        began = time.perf_counter()
        task, late = asyncio.current_task(), False

        def expire() -> None:
            nonlocal late
            late = True
            if task is not None:
                task.cancel()

        limit = asyncio.get_running_loop().call_later(self._timeout, expire) if self._timeout else None
        try:
            arguments, outs = self._arguments(function, value, outcome.id, trace_parent)
            result = await self._call(function, arguments)
            if late:
                raise asyncio.CancelledError
            self._use(function, result, outs, method, outcome)
        except asyncio.CancelledError:
            outcome.stopped = self._stopping and not late
            outcome.error = f"it ran longer than functionTimeout, {self._timeout:g} s" if late else "it was cancelled"
        except Refusal as refusal:
            outcome.error = str(refusal)
        except _Failed as failed:
            outcome.error = self._log_error(function, outcome, failed.__cause__)
        except Exception as error:  # a result that cannot be converted is a failure, as in the worker
            outcome.error = self._log_error(function, outcome, error)
        finally:
            if limit is not None:
                limit.cancel()
        outcome.milliseconds = round((time.perf_counter() - began) * 1000)
        self._log_end(function, category, outcome)
        return outcome

    def _arguments(
        self, function: Function, value: Any, id: str, trace_parent: str
    ) -> tuple[dict[str, Any], dict[str, Out]]:
        outs = {name: Out() for name in function.parameters.outputs}
        arguments: dict[str, Any] = {function.parameters.trigger: value, **outs}
        if function.parameters.wants_context:
            digits = id.replace("-", "")
            parent = trace_parent or f"00-{digits}-{digits[16:]}-00"
            arguments["context"] = Context(id, function.name, function.directory, parent, thread_local)
        return arguments, outs

    async def _call(self, function: Function, arguments: Mapping[str, Any]) -> Any:
        try:
            if function.is_async:
                return await function.call(**arguments)
            context = contextvars.copy_context()
            return await asyncio.get_running_loop().run_in_executor(
                self._threads, context.run, _call_in_thread, function.call, arguments
            )
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise _Failed from error
        except BaseException as error:  # not only Exception: a function's sys.exit() must not end the host
            raise _Failed from error

    def _use(self, function: Function, result: Any, outs: Mapping[str, Out], method: str, outcome: Outcome) -> None:
        """Makes the reply and sends the messages: all of it, or Refusal and nothing is sent."""
        if result is not None and not function.has_return:
            raise Refusal(f"{function.name} has no $return binding but returned a value")
        messages: list[tuple[str, str]] = []
        for name, is_list in function.parameters.outputs.items():
            messages += [(function.outputs[name], text) for text in queue_texts(outs[name].get(), is_list)]
        if "$return" in function.outputs:
            messages += [(function.outputs["$return"], text) for text in queue_texts(result, isinstance(result, list))]
        reply = None
        if function.route is not None and "$return" not in function.outputs:
            reply = make_reply(result, method)
        if messages:
            self._send([(queue, encoded(text, queue, self._is_base64)) for queue, text in messages])
        outcome.reply, outcome.sent = reply, messages

    def _log_error(self, function: Function, outcome: Outcome, error: BaseException | None) -> str:
        if error is None:
            return "unknown"
        # The first frame is the host's own.
        frames = error.__traceback__ and error.__traceback__.tb_next
        lines = "".join(traceback.format_exception(type(error), error, frames)).rstrip()
        fields = {"message": f"'Functions.{function.name}' raised an exception", "traceback": lines}
        self._console.log("error", f"Function.{function.name}", fields, _of_host(function, outcome))
        return f"{type(error).__name__}: {error}"

    def _log_end(self, function: Function, category: str, outcome: Outcome) -> None:
        ok = outcome.error is None
        status = f", {outcome.reply.status}" if outcome.reply is not None else ""
        state = f"{'Succeeded' if ok else 'Failed'}{status}, {outcome.milliseconds} ms"
        text = f"Executed 'Functions.{function.name}' ({state})" + ("" if ok else f": {outcome.error}")
        # A person at a terminal reads what the app logs of its work; that a timer or a queue was looked at is no news.
        quiet = self._console.is_terminal and function.route is None
        level = "error" if not ok else "debug" if quiet else "information"
        self._console.log(level, category, {"message": text}, _of_host(function, outcome))


def _of_host(function: Function, outcome: Outcome) -> dict[str, str]:
    return {"function": function.name, "invocation": outcome.id}


def _call_in_thread(call: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    invocation = current.get()
    thread_local.invocation_id = invocation and invocation.id
    try:
        return call(**arguments)
    finally:
        thread_local.invocation_id = None
