"""What keeps the app from working is said at the start, in one sentence with the path and what to do: the host ends
with 1, prints no traceback, and never says that it is ready."""

import asyncio
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import aiohttp
import pytest

from scripts.backup import require_store
from scripts.local_host import Refused
from scripts.local_host.data import DataFolder
from scripts.local_host.queues import Queues
from tests.hosting import ROOT, host_command, host_environment, running_host

STARTED = "Ready on "


def ended(data: Path, *arguments: str, environment: dict[str, str] | None = None, **settings: str) -> tuple[int, str]:
    command = host_command(
        "--port", "0", *arguments, app_dir=ROOT, data=data, settings={"DATA_DIR": str(data), **settings}
    )
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=host_environment(environment), timeout=300, check=False
    )
    return done.returncode, done.stdout + done.stderr


def statement(sql: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(sql)

    return write


def no_database(path: Path) -> None:
    path.write_bytes(b"no database" * 1000)


@pytest.mark.parametrize(
    ("name", "write", "said"),
    [
        ("toolpulse.db", no_database, "is damaged, or no database of this program"),
        ("toolpulse.db", statement("PRAGMA user_version = 999"), "has schema version 999"),
        ("host.sqlite", no_database, "cannot be used: file is not a database. Move it away"),
        ("host.sqlite", statement("CREATE TABLE messages (a)"), "cannot be used: no such column: "),
    ],
)
def test_a_file_that_cannot_be_used_is_named(
    tmp_path: Path, name: str, write: Callable[[Path], None], said: str
) -> None:
    write(tmp_path / name)
    code, printed = ended(tmp_path, "--demo")
    refusal = printed.splitlines()[-1]
    assert code == 1
    assert refusal.startswith(f"The host does not start: {tmp_path / name} ")
    assert said in refusal
    assert STARTED not in printed
    assert "Traceback" not in printed


def test_a_store_that_is_lost_beside_its_queues_or_archive_is_no_new_one(tmp_path: Path) -> None:
    (tmp_path / "toolpulse.db").touch()
    require_store({"DATA_DIR": str(tmp_path)})
    with closing(DataFolder(tmp_path)) as folder:
        Queues(folder, lambda: 0.0, lambda *_: None).create("ingest-feeds")
    code, printed = ended(tmp_path)
    assert code == 1
    assert f"{tmp_path / 'toolpulse.db'} is empty, but " in printed.splitlines()[-1]
    assert "Traceback" not in printed
    page = tmp_path / "other" / "archive" / "page"
    page.parent.mkdir(parents=True)
    page.touch()
    with pytest.raises(Refused, match=r"toolpulse\.db is missing, but .*: restore a backup, or move .* away"):
        require_store({"DATA_DIR": str(tmp_path / "other")})


def test_a_store_that_cannot_be_reached_is_named_with_its_setting(tmp_path: Path) -> None:
    code, printed = ended(
        tmp_path, STORE="cosmos", COSMOS_ENDPOINT="http://127.0.0.1:9", COSMOS_KEY="QUFBQQ==", COSMOS_DATABASE="none"
    )
    assert code == 1
    assert "Cosmos DB could not be reached" in printed.splitlines()[-1]
    assert "check COSMOS_ENDPOINT" in printed
    assert STARTED not in printed
    assert "Traceback" not in printed


def test_unknown_settings_are_refused_with_the_nearest_ones(tmp_path: Path) -> None:
    code, printed = ended(tmp_path, FOO="1", BATCH_SIZ="1", LOG_LEVEL="LOUD")
    assert code == 1
    assert "FOO is not a setting of this app\n" in printed
    assert "BATCH_SIZ is not a setting of this app: did you mean BATCH_SIZE?" in printed
    assert "LOG_LEVEL must be one of" in printed
    assert STARTED not in printed


def test_a_misspelt_setting_of_the_settings_file_is_refused_and_names_of_the_host_are_not(tmp_path: Path) -> None:
    app = tmp_path / "app"
    shutil.copytree(
        ROOT, app, ignore=shutil.ignore_patterns(".*", "tests", "docs", "node_modules", "benchmarks", "infra")
    )
    values = {"FUNCTIONS_WORKER_RUNTIME": "python", "WEBSITE_TIME_ZONE": "UTC", "FEED_CREDENTIAL_WIRE": "secret"}
    (app / "local.settings.json").write_text(json.dumps({"Values": {**values, "COSMOS_ENDPIONT": "https://x.example"}}))
    for script, *arguments in (("scripts/serve.py", "--port", "0"), ("-mtoolpulse", "feeds", "list")):
        command = [sys.executable, script, "--data", str(tmp_path / "data"), *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=app, env=host_environment(), timeout=300, check=False
        )
        assert done.returncode == 1
        assert "COSMOS_ENDPIONT is not a setting of this app: did you mean COSMOS_ENDPOINT?" in done.stderr
        assert not any(name in done.stderr for name in values)


async def test_a_variable_of_the_machine_is_never_refused_but_pointed_out(tmp_path: Path) -> None:
    settings = {"DATA_DIR": str(tmp_path)}
    environment = {"COSMOS_ENDPIONT": "https://x.example", "FOO": "1"}
    async with running_host(data=tmp_path, settings=settings, environment=environment) as host:
        printed = host.printed()
    assert "the environment variable COSMOS_ENDPIONT is not a setting, but resembles COSMOS_ENDPOINT" in printed
    assert "FOO" not in printed


async def test_damage_while_the_app_runs_shows_in_health_with_the_path_and_what_to_do(tmp_path: Path) -> None:
    async with running_host(data=tmp_path, settings={"DATA_DIR": str(tmp_path)}) as host:
        async with aiohttp.ClientSession(host.url) as session:
            async with session.get("/api/v1/health") as answer:
                assert (await answer.json())["checks"]["database"]["status"] == "healthy"
            path = tmp_path / "toolpulse.db"
            for suffix in ("", "-wal"):
                damaged = path.with_name(path.name + suffix)
                damaged.write_bytes(b"no database" * (damaged.stat().st_size // 11 + 1))
            async with asyncio.timeout(300):
                while True:
                    async with session.get("/api/v1/health") as answer:
                        check = (await answer.json())["checks"]["database"]
                    if check["status"] == "unhealthy" and str(path) in check["detail"]:
                        break
                    await asyncio.sleep(0.2)
        assert "restore a backup" in check["detail"]
