"""What the worker or the host would not take is refused when the app is loaded, with what is wrong."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.local_host import Refused
from scripts.local_host.functions import Function, load_functions
from scripts.local_host.settings import read_host_json
from tests.hosting import ROOT

OPTIONS = read_host_json(ROOT / "host.json", {})
HEAD = """
import typing
from typing import List, Optional
import azure.functions as func
app = func.FunctionApp()
"""
HTTP = "@app.route(route='x')\n"
QUEUE_IN = "@app.queue_trigger(arg_name='msg', queue_name='work', connection='AzureWebJobsStorage')\n"
QUEUE_OUT = "@app.queue_output(arg_name='out', queue_name='done', connection='AzureWebJobsStorage')\n"
BOTH = QUEUE_IN + QUEUE_OUT
STORAGE = "AzureWebJobsStorage"
RETRY = "@app.retry(strategy='fixed_delay', max_retry_count='3', delay_interval='00:00:01')\n"
BLOB = "arg_name='b', path='x', connection='c'"
TIMER = "@app.timer_trigger(arg_name='timer', schedule='0 * * * * *')\n"


@pytest.fixture(autouse=True)
def _import_afresh(tmp_path: Path) -> Iterator[None]:
    """As in a process of its own, where this repository is not on the path."""
    path, ours = list(sys.path), sys.modules.pop("function_app", None)
    sys.path.insert(0, str(tmp_path))
    yield
    sys.path[:] = path
    sys.modules.pop("function_app", None)
    if ours is not None:
        sys.modules["function_app"] = ours


def load(folder: Path, text: str, settings: dict[str, str] | None = None) -> list[Function]:
    (folder / "function_app.py").write_text(HEAD + text)
    return load_functions(folder, OPTIONS, settings or {})


def test_functions_come_in_order_of_name_without_regard_to_case(tmp_path: Path) -> None:
    text = "".join(f"@app.route(route='{name}')\ndef {name}(req): ...\n" for name in ("b", "C", "a"))
    assert [each.name for each in load(tmp_path, text)] == ["a", "b", "C"]


def test_what_the_decorators_declare_is_what_runs(tmp_path: Path) -> None:
    text = (
        QUEUE_IN.replace("work", "%IN%")
        + QUEUE_OUT
        + "@app.queue_output(arg_name='many', queue_name='MORE', connection='AzureWebJobsStorage')\n"
        + "async def run(msg: func.QueueMessage, out: func.Out[str], many: func.Out[List[str]], context) -> None: ...\n"
        + "@app.timer_trigger(arg_name='timer', schedule='%WHEN%', run_on_startup=True)\ndef often(timer): ...\n"
        + "@app.route(methods=['GET'])\ndef page(req: func.HttpRequest) -> func.HttpResponse: ...\n"
    )
    often, page, run = load(
        tmp_path, text, {"IN": "work", "WHEN": "*/30 * * * * *", "AzureWebJobs.page.Disabled": "true"}
    )
    assert (run.queue, run.outputs, run.is_async) == ("work", {"out": "done", "many": "more"}, True)
    assert (run.parameters.outputs, run.parameters.wants_context) == ({"out": False, "many": True}, True)
    assert (often.run_on_startup, often.monitored, often.is_async) == (True, False, False)
    assert page.route is not None
    assert (page.route.template, page.route.methods, page.disabled) == ("api/page", frozenset(["GET"]), True)


REFUSED = {
    "an output that is a list[str]": (BOTH + "def f(msg, out: func.Out[list[str]]): ...", "typing.List"),
    "an output that may be None": (BOTH + "def f(msg, out: func.Out[Optional[str]]): ...", "typing.List"),
    "an output of messages": (BOTH + "def f(msg, out: func.Out[List[func.QueueMessage]]): ...", "out"),
    "an output that is no Out": (BOTH + "def f(msg, out: str): ...", "func.Out"),
    "an output without an annotation": (BOTH + "def f(msg, out): ...", "func.Out"),
    "a parameter of another name": (HTTP + "def f(request): ...", "request"),
    "a parameter too few": (BOTH + "def f(msg): ...", "out"),
    "a wrong type of request": (HTTP + "def f(req: func.TimerRequest): ...", "httpTrigger"),
    "a wrong type of message": (QUEUE_IN + "def f(msg: List[func.QueueMessage]): ...", "queueTrigger"),
    "a wrong type of timer": (TIMER + "def f(timer: int): ...", "timerTrigger"),
    "a response that may be None": (HTTP + "def f(req) -> Optional[func.HttpResponse]: ...", "http"),
    "a response that is a dict": (HTTP + "def f(req) -> dict: ...", "http"),
    "a context that is none": (HTTP + "def f(req, context: str): ...", "context"),
    "an annotation that is nowhere": (HTTP + "def f(req: 'Nowhere'): ...", "Nowhere"),
    "two functions of one name": (HTTP + "def f(req): ...\n" + TIMER + "def f(timer): ...", "unique"),
    "names that differ in case only": (HTTP + "def f(req): ...\n" + TIMER + "def F(timer): ...", "two functions"),
    "two bindings of one name": (BOTH.replace("'out'", "'MSG'") + "def f(msg, MSG: func.Out[str]): ...", "two b"),
    "a name that is not allowed": ("@app.function_name('1st')\n" + HTTP + "def f(req): ...", "1st"),
    "the host's own name": ("@app.function_name('Host')\n" + HTTP + "def f(req): ...", "Host"),
    "a name of a binding": (HTTP.replace("'x'", "'x', trigger_arg_name='a__b'") + "def f(a__b): ...", "a__b"),
    "a queue name that is none": (QUEUE_IN.replace("work", "my_queue") + "def f(msg): ...", "my_queue"),
    "a queue name too short": (QUEUE_IN.replace("work", "ab") + "def f(msg): ...", "3 to 63"),
    "a queue name from nowhere": (QUEUE_IN.replace("work", "%NOWHERE%") + "def f(msg): ...", "NOWHERE"),
    "another storage account": (QUEUE_IN.replace(STORAGE, "Other") + "def f(msg): ...", "connection"),
    "a schedule that is none": (TIMER.replace("0 * * * * *", "hourly") + "def f(timer): ...", "hourly"),
    "a schedule that never comes": (TIMER.replace("0 * * * * *", "0 0 0 31 2 *") + "def f(timer): ...", "never"),
    "a schedule from nowhere": (TIMER.replace("0 * * * * *", "%NOWHERE%") + "def f(timer): ...", "NOWHERE"),
    "a route that is wrong": (HTTP.replace("'x'", "'{a:what}'") + "def f(req): ...", "what"),
    "the host's own route": (HTTP.replace("'x'", "'admin/x'") + "def f(req): ...", "admin"),
    "one route twice": (HTTP + "def f(req): ...\n" + HTTP + "def g(req): ...", "same route"),
    "an unknown trigger": (f"@app.blob_trigger({BLOB})\ndef f(b): ...", "blobTrigger"),
    "an unknown output": (HTTP + f"@app.blob_output({BLOB})\ndef f(req, b): ...", "blob"),
    "a retry policy": (
        RETRY + TIMER + "def f(timer): ...",
        "retry",
    ),
    "no trigger": (QUEUE_OUT + "def f(out: func.Out[str]): ...", "trigger"),
    "no functions": ("", "no functions"),
    "two apps": ("other = func.FunctionApp()\n" + HTTP + "def f(req): ...", "exactly one"),
}  # fmt: skip


@pytest.mark.parametrize("case", list(REFUSED))
def test_an_app_that_azure_would_not_index_is_refused_with_the_reason(case: str, tmp_path: Path) -> None:
    text, message = REFUSED[case]
    with pytest.raises(Refused, match=f"(?i){message}"):
        load(tmp_path, text)


def test_queues_need_an_extension_bundle(tmp_path: Path) -> None:
    (tmp_path / "host.json").write_text('{"version": "2.0"}')
    (tmp_path / "function_app.py").write_text(HEAD + QUEUE_IN + "def f(msg): ...")
    with pytest.raises(Refused, match="extensionBundle"):
        load_functions(tmp_path, read_host_json(tmp_path / "host.json", {}), {})


def test_a_folder_without_function_app_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="missing"):
        load_functions(tmp_path, OPTIONS, {})


def test_one_route_may_serve_other_methods_in_another_function(tmp_path: Path) -> None:
    text = "".join(f"@app.route(route='x', methods=['{m}'])\ndef f_{m}(req): ...\n" for m in ("GET", "POST"))
    assert len(load(tmp_path, text)) == 2
