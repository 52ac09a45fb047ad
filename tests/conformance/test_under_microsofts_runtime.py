"""The app under Microsoft's own worker library: what Azure would index, it indexes; what Azure would call, it calls."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from services.topology import QUEUES, TIMERS
from tests.hosting import ROOT, running_host

DRIVER = Path(__file__).with_name("microsoft_runtime.py")


async def drive(app: Path, calls: list[dict[str, Any]], **settings: str) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(DRIVER),
        str(app),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], **settings},
    )
    printed, _ = await process.communicate(json.dumps(calls).encode())
    result: dict[str, Any] = json.loads(printed)
    return result


def http_call(function: str, method: str, path: str, **more: Any) -> dict[str, Any]:
    return {"kind": "http", "function": function, "method": method, "path": f"/api/{path}", **more}


async def test_it_indexes_and_runs_what_the_local_host_runs(tmp_path: Path) -> None:
    """The local host lends its queues, so that everything that the app asks answers."""
    async with running_host(data=tmp_path, settings={"DATA_DIR": str(tmp_path)}) as host:
        async with aiohttp.ClientSession(host.url) as web, web.get("/admin/functions") as response:
            here = {each["name"] for each in await response.json()}
        storage = ["DefaultEndpointsProtocol=http", "AccountName=devstoreaccount1", "AccountKey=a2V5"]
        result = await drive(
            ROOT,
            [
                http_call("health", "GET", "v1/health"),
                {"kind": "timer", "function": "clean_up"},
                http_call("list_queues", "GET", "v1/queues", headers={"x-management-key": "sesame"}),
                http_call("list_queues", "GET", "v1/queues"),
                http_call("redrive_queue", "POST", "v1/queues/nonesuch/redrive", params={"name": "nonesuch"}),
            ],
            DATA_DIR=str(tmp_path / "other"),
            MANAGEMENT_KEY="sesame",
            AzureWebJobsStorage=";".join([*storage, f"QueueEndpoint={host.url}/devstoreaccount1"]),
        )
    assert "error" not in result, result
    assert set(result["functions"]) == here
    health, timer, listed, refused, redriven = result["calls"]
    assert all(call["ok"] for call in result["calls"]), result["calls"]
    assert health["returned"]["status"] == 200
    assert json.loads(health["returned"]["body"])["status"] == "healthy"
    assert timer["returned"] is None
    assert [each["name"] for each in json.loads(listed["returned"]["body"])["items"]] == list(QUEUES)
    assert (refused["returned"]["status"], redriven["returned"]["status"]) == (401, 401)


async def test_triggers_have_the_names_and_schedules_of_the_topology() -> None:
    functions = (await drive(ROOT, []))["functions"]
    bindings = {name: {each["type"]: each for each in all_of_it} for name, all_of_it in functions.items()}
    schedules = {name: each["timerTrigger"]["schedule"] for name, each in bindings.items() if "timerTrigger" in each}
    assert schedules == {timer.name: timer.schedule for timer in TIMERS}
    for name, each in bindings.items():
        if "queueTrigger" in each:
            assert each["queueTrigger"]["queueName"] in QUEUES, name
        if "httpTrigger" in each:
            assert each["httpTrigger"]["authLevel"].upper() != "ADMIN", name


@pytest.mark.parametrize(
    "fault",
    [
        "async def work(msg: func.QueueMessage, out: func.Out[list[str]]) -> None: ...",
        "async def work(message: func.QueueMessage, out: func.Out[typing.List[str]]) -> None: ...",
    ],
)
async def test_an_annotation_that_azure_refuses_is_found(tmp_path: Path, fault: str) -> None:
    lines = [
        "import typing",
        "import azure.functions as func",
        "app = func.FunctionApp()",
        "@app.queue_trigger(arg_name='msg', queue_name='work', connection='AzureWebJobsStorage')",
        "@app.queue_output(arg_name='out', queue_name='more', connection='AzureWebJobsStorage')",
        fault,
    ]
    (tmp_path / "function_app.py").write_text("\n".join(lines))
    assert "error" in await drive(tmp_path, [])
