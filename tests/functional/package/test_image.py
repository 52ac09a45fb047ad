"""Self-hosting works as far as it can without Docker: the image's files and commands, and the commands of the units."""

import asyncio
import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from models.version import VERSION
from scripts.local_host.command import argument_parser
from tests.hosting import ROOT, host_environment

DEPLOY = ROOT / "deploy"
DOCKERFILE = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text("utf-8"))
KEYS = {"FUNCTION_KEYS": "f" * 32, "MANAGEMENT_KEY": "m" * 32}


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} (.*)$", DOCKERFILE, re.MULTILINE)


def copied() -> list[tuple[str, str]]:
    """(source, target) of the files of this repository in the last stage."""
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    found = []
    for line in re.findall(r"^COPY (.*)$", last, re.MULTILINE):
        if not line.startswith("--from="):
            *sources, target = line.split()
            found += [(source, target) for source in sources]
    return found


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """The folder /app of the image."""
    app = tmp_path / "app"
    app.mkdir()
    for source, target in copied():
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, app / target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, app / target)
    return app


async def test_the_image_has_what_its_commands_need(image: Path, tmp_path: Path) -> None:
    _, *start = json.loads(instructions("ENTRYPOINT")[0])
    options = {"--host": "127.0.0.1", "--port": "0", "--data": str(tmp_path / "data")}
    for name, value in options.items():
        start[start.index(name) + 1] = value
    process = await asyncio.create_subprocess_exec(
        sys.executable, *start, stdout=asyncio.subprocess.PIPE, cwd=image, env=host_environment(KEYS)
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(300):
            while not (found := re.search(r"Ready on (\S+) ", line := (await process.stdout.readline()).decode())):
                assert line, "the app ended before it was ready"
        _, *check = json.loads(instructions("HEALTHCHECK")[0].partition("CMD ")[2])
        assert check.pop() == "http://127.0.0.1:7071"
        for url, code in ((found[1], 0), ("http://127.0.0.1:9", 1)):
            checked = await asyncio.create_subprocess_exec(sys.executable, *check, url, cwd=image, stdout=-3)
            assert await asyncio.wait_for(checked.wait(), 20) == code
        process.terminate()
        await asyncio.wait_for(process.stdout.read(), 15)
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def test_nothing_that_is_copied_is_kept_from_docker() -> None:
    let = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    assert let == {source.rstrip("/") for source, _ in copied()} | {"requirements.txt", "requirements-cli.txt"}


def test_the_image_is_pinned_and_its_process_is_no_administrator() -> None:
    bases = instructions("FROM")
    pinned = re.compile(r"python:3\.13\.\d+-slim-bookworm@sha256:[0-9a-f]{64}(?: AS \w+)?")
    assert all(map(pinned.fullmatch, bases))
    assert len({base.partition(" AS ")[0] for base in bases}) == 1
    user = instructions("USER")[-1].partition(":")[0]
    assert f"--uid {user} " in DOCKERFILE
    assert int(user) > 0
    assert instructions("VOLUME") == ["/data"]
    assert "--require-hashes" in DOCKERFILE


def test_each_action_is_pinned_by_its_commit_and_names_the_version() -> None:
    workflows = "".join(path.read_text("utf-8") for path in (ROOT / ".github" / "workflows").iterdir())
    uses = re.findall(r"uses: (.*)", workflows)
    assert uses
    assert [each for each in uses if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []


def test_the_composition_gives_the_keys_and_keeps_the_data() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]
    app = services["toolpulse"]
    assert app["image"] == f"toolpulse:{VERSION}"
    assert KEYS.keys() <= app["environment"].keys()
    assert "ports" not in app, "clients come through the proxy"
    assert app["volumes"] == ["data:/data"]
    arguments = json.loads(instructions("ENTRYPOINT")[0])[2:] + app["command"]
    given = argument_parser("serve.py", "", ROOT).parse_args(arguments)
    assert given.public_url.startswith("https://")
    assert re.search(rf"reverse_proxy toolpulse:{given.port}\b", (DEPLOY / "Caddyfile").read_text("utf-8"))


def unit(name: str) -> Any:
    found = configparser.RawConfigParser(strict=False)
    found.optionxform = str  # type: ignore[assignment, method-assign]
    found.read(DEPLOY / name, "utf-8")
    return found


def test_the_unit_starts_the_app_behind_a_proxy_with_its_data_in_its_state_directory() -> None:
    service = unit("toolpulse.service")["Service"]
    python, script, *arguments = shlex.split(service["ExecStart"])
    assert python == f"{service['WorkingDirectory']}/.venv/bin/python"
    assert (ROOT / script).is_file()
    given = argument_parser("serve.py", "", ROOT).parse_args(arguments)
    assert str(given.data) == f"/var/lib/{service['StateDirectory']}"
    assert (given.host, given.public_url) == ("127.0.0.1", "${PUBLIC_URL}")
    assert service["User"] != "root"


def test_the_backup_unit_names_the_command_and_the_same_folder() -> None:
    service = unit("toolpulse-backup.service")["Service"]
    found = re.search(
        r"python (-m scripts\.backup backup) /var/backups/toolpulse/\$\$\(date \+(\S+)\)", service["ExecStart"]
    )
    assert found
    assert service["Environment"] == "DATA_DIR=/var/lib/toolpulse"
    command = [sys.executable, *found[1].split(), "/nowhere", "--data", "/nowhere"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=host_environment(), check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
