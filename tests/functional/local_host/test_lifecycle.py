"""Starting, stopping, running once, and the timers."""

import asyncio
import itertools
import json
import os
import re
import shutil
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scripts.local_host.data import DataFolder
from scripts.local_host.timers import Status, TimerRecords
from tests.functional.local_host.sample import APP, recorded, running_sample, sample_settings
from tests.hosting import ROOT, HostFailed, host_environment, run_host_once, running_host


async def once(folder: Path, **settings: str) -> tuple[int, str]:
    return await run_host_once(app_dir=APP, data=folder / "data", settings=sample_settings(folder, settings))


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
async def test_a_stop_lets_running_functions_finish(tmp_path: Path, signum: signal.Signals) -> None:
    settings = {"AzureFunctionsJobHost__logging__logLevel__Function": "Debug"}
    async with running_sample(tmp_path, settings=settings) as sample:
        slow = asyncio.create_task(sample.client.post("/api/v1/sleep", data="0.3"))
        await sample.send(many=["slow"])
        await sample.until(lambda: sample.recorded(text="slow") and "'Functions.sleep'" in sample.host.printed())
        assert await sample.host.stop(signum) == 0
        response = await slow
        assert (response.status, await response.text()) == (200, "slept")
        assert "Executed 'Functions.work' (Succeeded" in sample.host.printed()
    async with running_sample(tmp_path) as sample:
        assert (await sample.count("work"), await sample.count("done")) == (0, 1)


async def test_a_function_that_does_not_end_delays_no_other_and_a_stop_cancels_it(tmp_path: Path) -> None:
    """Its message is delivered again."""
    settings = {"AzureFunctionsJobHost__functionTimeout": "-1"}
    settings["AzureFunctionsJobHost__logging__logLevel__Function"] = "Debug"
    async with running_sample(tmp_path, settings=settings) as sample:
        blocked = asyncio.create_task(sample.client.post("/api/v1/block", data="600"))
        await sample.until(lambda: "Executing 'Functions.block'" in sample.host.printed())
        await sample.send(many=["stuck"])
        await sample.until(lambda: sample.recorded(text="stuck"))
        sample.host.process.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.2)
        assert sample.host.process.returncode is None
        # The second signal does not wait for them.
        assert await sample.host.stop(signal.SIGTERM) == 0
        blocked.cancel()
    async with running_sample(tmp_path, settings=settings) as sample:
        await sample.until(lambda: len(sample.recorded(text="stuck")) == 2)


async def test_a_second_host_on_the_same_data_is_refused(tmp_path: Path) -> None:
    async with running_sample(tmp_path) as sample:
        with pytest.raises(HostFailed, match=rf"another host \(process {sample.host.process.pid}\)"):
            async with running_host(app_dir=APP, data=tmp_path / "data", settings=sample_settings(tmp_path)):
                pass
        assert (await sample.client.get("/api/v1/ping")).status == 200


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("func.Out[List[str]]", "func.Out[list[str]]"), "typing.List"),
        (("import os\n", "import os\nimport nowhere\n"), "No module named 'nowhere'"),
        (("import os\n", "import os\nasyncio.run(asyncio.sleep(0))\n"), "asyncio.run"),
        (("import os\n", "import os\nraise SystemExit(0)\n"), "cannot be loaded"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
async def test_an_app_that_azure_would_not_index_does_not_start(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    app = tmp_path / "app"
    shutil.copytree(APP, app, ignore=shutil.ignore_patterns("__pycache__"))
    text = (app / "function_app.py").read_text()
    assert change[0] in text
    (app / "function_app.py").write_text(text.replace(*change))
    with pytest.raises(HostFailed, match=message):
        async with running_host(app_dir=app, data=tmp_path / "data", settings=sample_settings(tmp_path)):
            pass


@pytest.mark.parametrize("wrong", ["", "99999"])
async def test_a_port_that_cannot_be_used_is_named(tmp_path: Path, wrong: str) -> None:
    async with running_sample(tmp_path) as sample:
        port = wrong or sample.host.url.rpartition(":")[2]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "scripts.local_host", "--port", port, "--app", str(APP),
            "--data", str(tmp_path / "other"), stderr=asyncio.subprocess.PIPE, cwd=ROOT,
        )  # fmt: skip
        _, message = await process.communicate()
        assert process.returncode == 1
        assert f"port {port} of 127.0.0.1 cannot be used" in message.decode()


async def test_the_start_counts_the_functions_and_names_the_replaced_settings(tmp_path: Path) -> None:
    settings = {"AzureWebJobsStorage": "AccountName=real", "AzureWebJobs.words.Disabled": "1"}
    async with running_sample(tmp_path, settings=settings, environment={"GREETING": "from the shell"}) as sample:
        printed = sample.host.printed()
        found = re.search(r"(\d+) functions \((\d+) HTTP, (\d+) timer, (\d+) queue; disabled: words\)", printed)
        assert found
        total, *kinds = map(int, found.groups())
        assert total == sum(kinds)
        assert f"listed at {sample.host.url}/admin/functions." in printed
        assert "/api/v1/ping" not in printed
        assert "AzureWebJobsStorage is replaced" in printed
        assert "GREETING is taken from the environment" in printed
        assert (await sample.client.get("/api/v1/words")).status == 404


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no limit can be set to another process")
async def test_a_host_that_cannot_write_its_queues_serves_on_and_works_again_by_itself(tmp_path: Path) -> None:
    import resource

    unlimited, text = resource.RLIM_INFINITY, "<QueueMessage><MessageText>YQ==</MessageText></QueueMessage>"
    async with running_sample(tmp_path) as sample:
        size = (tmp_path / "data" / "host.sqlite-wal").stat().st_size
        resource.prlimit(sample.host.process.pid, resource.RLIMIT_FSIZE, (size, unlimited))
        while (response := await sample.client.post("/devstoreaccount1/other/messages", data=text)).status == 201:
            pass
        assert (response.status, "host.sqlite cannot be used" in await response.text()) == (503, True)
        assert (await sample.client.get("/api/v1/ping")).status == 200
        resource.prlimit(sample.host.process.pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
        await sample.send(many=["a"])
        await sample.until(lambda: sample.recorded(text="a"))
        assert await sample.host.stop() == 0


async def test_once_runs_every_timer_and_drains_the_queues(tmp_path: Path) -> None:
    code, printed = await once(tmp_path, YEARLY_SENDS="a,once,slow")
    assert code == 0, printed
    assert len(recorded(tmp_path, timer="yearly")) == len(recorded(tmp_path, timer="tick")) == 1
    assert sorted(each["text"] for each in recorded(tmp_path, queue="work")) == ["a", "once", "once", "slow"]
    last = json.loads(printed.splitlines()[-1])
    assert last["message"] == "Every timer ran once: 0 failed, 0 messages went to a poison queue."


async def test_once_drains_messages_of_an_earlier_run(tmp_path: Path) -> None:
    async with running_sample(tmp_path) as sample:
        await sample.send(many=["slow"])
        sample.host.kill()
        await sample.host.process.wait()
    code, printed = await once(tmp_path)
    assert code == 0, printed
    assert recorded(tmp_path, text="slow")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"YEARLY_SENDS": "fail"}, "0 failed, 1 messages"), ({"YEARLY_FAILS": "1"}, "1 failed, 0 messages")],
)
async def test_once_fails_if_a_message_went_to_poison_or_a_timer_failed(
    tmp_path: Path, wrong: dict[str, str], said: str
) -> None:
    code, printed = await once(tmp_path, **wrong)
    assert code == 1, printed
    assert f"{said} went to a poison queue" in printed


async def test_a_timer_runs_when_it_is_due_and_never_overlaps_itself(tmp_path: Path) -> None:
    async with running_sample(tmp_path, settings={"TICK": "00:00:00.1", "TICK_TAKES": "0.3"}) as sample:
        await sample.until(lambda: len(sample.recorded(timer="tick")) >= 4)
        assert not any(each["past_due"] for each in sample.recorded(timer="tick"))
        times = [each["at"] for each in sample.recorded(timer="tick")]
        assert all(after - before >= 0.29 for before, after in itertools.pairwise(times))


async def test_a_timer_that_was_due_while_the_host_was_down_is_past_due(tmp_path: Path) -> None:
    async with running_sample(tmp_path) as sample:
        await sample.until(lambda: sample.recorded(timer="yearly"))
        assert sample.recorded(timer="yearly")[0]["past_due"] is False
        assert await sample.host.stop() == 0
    miss_the_new_year(tmp_path, "tick")
    async with running_sample(tmp_path) as sample:
        await sample.until(lambda: sample.recorded(timer="tick"))
        assert [each["past_due"] for each in sample.recorded(timer="tick")] == [True]
        await sample.until(lambda: len(sample.recorded(timer="yearly")) == 2)
        first, second = sample.recorded(timer="yearly")
        assert first["status"]["Last"].startswith("0001-")
        assert second["status"]["Last"] == first["status"]["LastUpdated"]
        assert await sample.host.stop() == 0
    async with running_sample(tmp_path) as sample:
        await sample.until(lambda: len(sample.recorded(timer="yearly")) == 3)
        assert len(sample.recorded(timer="tick")) == 1


def miss_the_new_year(folder: Path, name: str) -> None:
    """As if the host had last been up in the year before."""
    data = DataFolder(folder / "data")
    records = TimerRecords(data)
    assert records.find(name) is not None
    due = datetime(datetime.now(UTC).year, 1, 1, tzinfo=UTC)
    records.save(name, Status(None, due, due - timedelta(days=1)))
    data.close()


async def test_a_reader_that_goes_away_does_not_stop_the_host(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "scripts.local_host", "--port", "0", "--app", str(APP),
        "--data", str(tmp_path / "data"), "--set", f"RECORD={tmp_path / 'record'}", "--set", "TICK=00:00:00.1",
        stdout=writing, env=host_environment(), cwd=ROOT,
    )  # fmt: skip
    os.close(writing)
    os.close(reading)
    for _ in range(200):
        if len(recorded(tmp_path, timer="tick")) > 3:
            break
        await asyncio.sleep(0.05)
    assert process.returncode is None
    process.terminate()
    assert await asyncio.wait_for(process.wait(), 10) == 0
    assert len(recorded(tmp_path, timer="tick")) > 3
