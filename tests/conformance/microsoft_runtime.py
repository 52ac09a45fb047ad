"""Drives Microsoft's own worker library (azure-functions-runtime, Python 3.13): indexes an app and calls its functions.

Run as a program: `microsoft_runtime.py APP` reads a JSON array of calls from standard input and prints one JSON object,
{"functions": {name: [bindings]}, "calls": [...]}, or {"error": ...} if the app could not be indexed. The library does
the indexing, decoding, calling and encoding, as in Azure; only the messages that the host would send are made here.
"""

import asyncio
import json
import os
import sys
import uuid
from pathlib import Path
from typing import Any


class Message:
    """Stands in for a protobuf message of any type: fields that were not given read as empty."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update({name: value for name, value in fields.items() if value is not None})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "TypedData":
            raise AttributeError(name)
        return {"headers": {}, "params": {}, "query": {}, "capabilities": {}, "trigger_metadata": {}}.get(name, "")

    def WhichOneof(self, group: str) -> str | None:  # noqa: N802 (protobuf's name)
        return next((name for name in self.__dict__ if name != "name"), None) if group else None


class Enumerated:
    """The numbers that the library compares bindings and results with."""

    class BindingInfo(Message):
        inout, out, undefined, string, binary, stream = 2, 1, 0, 1, 2, 3

    class StatusResult(Message):
        Failure, Success = 0, 1


setattr(Enumerated.BindingInfo, "in", 0)


class Protos:
    """The module of message classes that the library is handed."""

    BindingInfo = Enumerated.BindingInfo
    StatusResult = Enumerated.StatusResult

    def __getattr__(self, name: str) -> type[Message]:
        return type(name, (Message,), {})


PROTOS: Any = Protos()


def request(**content: Any) -> Any:
    return Message(request=Message(**content), properties={"protos": PROTOS, "host": "127.0.0.1"})


class IndexingFailedError(Exception):
    """Azure would show no function of this app at all."""


class Worker:
    def __init__(self, app: Path) -> None:
        import azure_functions_runtime

        self._library: Any = azure_functions_runtime
        self._app = str(app)
        self.functions: dict[str, Any] = {}

    async def index(self) -> None:
        self._library.start_threadpool_executor()
        start = Message(host_version="4.0", capabilities={}, function_app_directory=self._app)
        self._accept(await self._library.worker_init_request(request(worker_init_request=start)))
        wanted = Message(function_app_directory=self._app)
        answer = await self._library.functions_metadata_request(request(functions_metadata_request=wanted))
        self._accept(answer)
        for function in answer.function_metadata_results:
            load = Message(function_id=function.function_id, metadata=function)
            self._accept(await self._library.function_load_request(request(function_load_request=load)))
            self.functions[function.name] = function

    def bindings(self) -> dict[str, list[dict[str, Any]]]:
        return {name: [json.loads(raw) for raw in one.raw_bindings] for name, one in self.functions.items()}

    async def call(self, name: str, trigger: Any, metadata: dict[str, Any]) -> dict[str, Any]:
        function = self.functions[name]
        parameter = next(each["name"] for each in self.bindings()[name] if "trigger" in each["type"].lower())
        invocation = Message(
            invocation_id=str(uuid.uuid4()),
            function_id=function.function_id,
            input_data=[Message(name=parameter, data=trigger)],
            trigger_metadata=metadata,
            trace_context=Message(),
            retry_context=Message(),
        )
        answer = await self._library.invocation_request(request(invocation_request=invocation))
        if answer.result.status != Enumerated.StatusResult.Success:
            return {"ok": False, "error": answer.result.exception.message}
        outputs = {each.name: plain(each.data) for each in answer.output_data}
        return {"ok": True, "returned": plain(answer.return_value), "outputs": outputs}

    def stop(self) -> None:
        self._library.stop_threadpool_executor()

    @staticmethod
    def _accept(answer: Any) -> None:
        if answer.result.status != Enumerated.StatusResult.Success:
            raise IndexingFailedError(answer.result.exception.message)


def plain(data: Any) -> Any:
    if not data:
        return None
    kind = data.WhichOneof("data")
    value = getattr(data, kind)
    if kind == "http":
        return {"status": int(value.status_code), "headers": value.headers, "body": plain(value.body)}
    return value.decode() if isinstance(value, bytes) else value


def trigger_of(call: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    if call["kind"] == "timer":
        moment = "2026-01-01T00:00:00+00:00"
        status = {"Last": moment, "LastUpdated": moment, "Next": moment}
        timer = {"Schedule": {"AdjustForDST": True}, "ScheduleStatus": status, "IsPastDue": False}
        return Message(json=json.dumps(timer)), {}
    if call["kind"] == "queue":
        metadata = {"Id": Message(string=str(uuid.uuid4())), "DequeueCount": Message(json="1")}
        return Message(string=call["text"]), {"QueueTrigger": Message(string=call["text"]), **metadata}
    body = call.get("body", "").encode()
    http = Message(
        method=call["method"],
        url="http://localhost" + call["path"],
        headers=call.get("headers", {}),
        params=call.get("params", {}),
        query=call.get("query", {}),
        body=Message(bytes=body) if body else Message(),
    )
    return Message(http=http), {}


async def drive(app: Path, calls: list[dict[str, Any]]) -> dict[str, Any]:
    worker = Worker(app)
    try:
        await worker.index()
        results = [await worker.call(call["function"], *trigger_of(call)) for call in calls]
        return {"functions": worker.bindings(), "calls": results}
    except IndexingFailedError as error:
        return {"error": str(error)}
    finally:
        worker.stop()


if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve()
    os.chdir(folder)
    sys.path.append(str(folder))
    sys.stdout.write(json.dumps(asyncio.run(drive(folder, json.load(sys.stdin)))))
