#!/usr/bin/env python3
"""Sets up, runs, tests, checks and packages the app. Standard library only.

    python3 scripts/dev.py run [options]       set up once, then run the whole app at http://127.0.0.1:7071
    python3 scripts/dev.py test [pytest args]  set up once, then run all tests; --fast: those that take half a minute
    python3 scripts/dev.py soak [pytest args]  the long runs of kills, races, faults, memory and made-up input
    python3 scripts/dev.py install             install the packages that the tests need
    python3 scripts/dev.py check               ruff, mypy (strict), the trained tables, then all tests
    python3 scripts/dev.py mutate MODULE ...   mutation tests of modules that only decide
    python3 scripts/dev.py infra               check the Bicep: Azure's type schemas, checkov, azure-functions-doctor
    python3 scripts/dev.py package             build dist/toolpulse-<version>.zip (with the Python that Azure runs)
    python3 scripts/dev.py vendor              fetch the libraries of the dashboard from npm; --check compares them
    python3 scripts/dev.py openapi [FILE]      write the contract of the API
    python3 scripts/dev.py screenshots         make the pictures of the dashboard in docs/images (needs Chromium)
    python3 scripts/dev.py lock                resolve requirements*.in into requirements*.txt

Set-up makes a virtual environment and installs the pinned, hashed requirements. It is repeated when these change.
scripts/serve.py runs the app.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SERVERS = {
    ROOT / "tests" / "cosmos_server": "the Cosmos-compatible test server",
    ROOT / "tests" / "azurite": "Azurite, the emulator of Azure Storage",
    ROOT / "tests" / "browser": "axe-core, the accessibility checks of the browser tests",
}
FLOOR = (3, 11)
COMPILED = ("function_app.py", "models", "services", "triggers", "scripts")
# Many tests wait for another process: three workers keep two cores busy.
ALL_CORES = [f"--numprocesses={(os.cpu_count() or 1) * 3 // 2}", "--dist=worksteal"]
BROWSER = "tests/browser"
FAST = ["tests/unit", "tests/properties", "tests/infra", "--ignore=tests/infra/tools", "-m", "not slow and not soak"]
FAST += ["--durations=10", "--durations-min=1"]  # shows the tests that are to be marked as slow


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def venv_folder() -> Path:
    """`.venv`, unless another Python version lives there already: then `.venv-3.13` and the like."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    config = ROOT / ".venv" / "pyvenv.cfg"
    if config.exists():
        lines = dict(line.split(" = ", 1) for line in config.read_text().splitlines() if " = " in line)
        if not lines.get("version", "").startswith(version + "."):
            return ROOT / f".venv-{version}"
    return ROOT / ".venv"


def python_in(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def fingerprint(*files: Path) -> str:
    digest = hashlib.sha256(sys.version.encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def is_current(stamp: Path, wanted: str) -> bool:
    return stamp.exists() and stamp.read_text() == wanted


def set_up(development: bool) -> Path:
    """Returns the interpreter of an environment with the requirements. Quick when nothing has changed."""
    folder = venv_folder()
    python = python_in(folder)
    runtime, everything = (ROOT / "requirements.txt", ROOT / "requirements-cli.txt"), ROOT / "requirements-dev.txt"
    full_stamp, stamp = folder / "installed-dev", folder / "installed"
    full, wanted = fingerprint(*runtime, everything), fingerprint(*runtime)
    if python.exists() and (is_current(full_stamp, full) or (not development and is_current(stamp, wanted))):
        add_command(folder)
        return python

    started = time.monotonic()
    if not python.exists():
        make_environment(folder)
    # Beside pip, which waits for the network: the first start then need not compile the app.
    with subprocess.Popen([sys.executable, "-m", "compileall", "-qq", *COMPILED], cwd=ROOT):
        install(folder, *([everything] if development else runtime))
    add_command(folder)
    stamp.write_text(wanted)
    if development:
        full_stamp.write_text(full)
    else:
        full_stamp.unlink(missing_ok=True)
    say(f"Ready after {time.monotonic() - started:.0f} s.")
    return python


def add_command(folder: Path) -> None:
    """Makes `toolpulse` a command of the environment, which runs this checkout. A build would need another package."""
    python = python_in(folder)
    script = python.parent / "toolpulse"
    # The kernel takes no interpreter with a blank in its path; sh does, and Python takes the first lines for a text.
    lines = ["#!/bin/sh", f"""'''exec' "{python}" "$0" "$@" #'''""", "import sys", f"sys.path.insert(0, {str(ROOT)!r})"]
    wanted = "\n".join([*lines, "from toolpulse.main import entry", "entry()", ""])
    if script.exists() and script.read_text("utf-8") == wanted:
        return
    script.write_text(wanted, "utf-8")
    script.chmod(0o755)
    if os.name == "nt":
        (python.parent / "toolpulse.cmd").write_text('@"%~dp0python.exe" "%~dp0toolpulse" %*\n', "utf-8")


def need_packages() -> None:
    """Stops another script that was started with a Python without the packages."""
    if importlib.util.find_spec("pydantic") is None:
        raise SystemExit(
            f"The packages are not installed for this Python: start it as {python_in(venv_folder())} {sys.argv[0]} … "
            "(python3 scripts/dev.py run makes that environment)."
        )


def set_up_infra() -> Path:
    """Returns the interpreter of an environment for the infrastructure checks, which pin older versions."""
    folder, requirements = ROOT / ".venv-infra", ROOT / "requirements-infra.txt"
    stamp, wanted = folder / "installed", fingerprint(requirements)
    if not is_current(stamp, wanted):
        make_environment(folder)
        install(folder, requirements)
        stamp.write_text(wanted)
    return python_in(folder)


def make_environment(folder: Path) -> None:
    say(f"Making the virtual environment {folder.name} (Python {sys.version.split()[0]}) ...")
    try:
        venv.create(folder, with_pip=True, clear=True)
    except subprocess.CalledProcessError as error:
        raise SystemExit(
            f"The virtual environment could not be made: {error}\nOn Debian and Ubuntu: apt install python3-venv"
        ) from None


def install(folder: Path, *requirements: Path) -> None:
    names = " and ".join(each.name for each in requirements)
    step = f"Installing {names} (once; again only when {'it changes' if len(requirements) == 1 else 'they change'})"
    pip = [str(python_in(folder)), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    files = [part for each in requirements for part in ("-r", str(each))]
    code, output = with_progress(step, [*pip, "--progress-bar=off", *files], packages_in(*requirements))
    if code:
        say(output)
        raise SystemExit(
            f"Installing failed: see pip's output above. Can this machine reach a package index?\n"
            f"Run the same command again to continue, or remove {folder.name} to start over."
        )


def packages_in(*requirements: Path) -> int:
    lines = [line for each in requirements for line in each.read_text("utf-8").splitlines()]
    return len({line.partition("==")[0] for line in lines if "==" in line and not line.startswith((" ", "#"))})


def with_progress(step: str, command: list[str], packages: int) -> tuple[int, str]:
    """Runs pip and shows one line, which counts the packages at a terminal. The exit code, and all that pip printed."""
    at_terminal = sys.stderr.isatty()
    if not at_terminal:
        say(f"{step} ...")
    printed: list[str] = []
    found = 0
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as pip:
        for line in pip.stdout or ():
            printed.append(line)
            # pip says for each package that it collects it or has it, then installs all of them.
            found += line.startswith(("Collecting ", "Requirement already satisfied: "))
            doing = "installing" if line.startswith("Installing collected") else f"{min(found, packages)} of {packages}"
            if at_terminal:
                print(f"\r\x1b[K{step}: {doing} ...", end="", file=sys.stderr, flush=True)
    if at_terminal:
        print(f"\r\x1b[K{step}: {'failed' if pip.returncode else 'done'}.", file=sys.stderr, flush=True)
    return pip.returncode, "".join(printed)


def set_up_servers() -> None:
    """Installs the servers of the contract tests if there is Node. Without Node the contract suite reports it."""
    npm = shutil.which("npm")
    for folder, name in SERVERS.items():
        lock, stamp = folder / "package-lock.json", folder / "node_modules" / ".installed"
        wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
        if npm is None or is_current(stamp, wanted):
            continue
        say(f"Installing {name} ...")
        command = [npm, "ci", "--no-audit", "--no-fund"]
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True, encoding="utf-8", errors="replace")
        if done.returncode:
            raise SystemExit(f"{done.stdout}{done.stderr}npm ci failed: see its output above.")
        stamp.write_text(wanted)


def become(command: list[str]) -> None:
    """Replaces this process by `command` where the system can, so that signals reach the command directly."""
    os.chdir(ROOT)
    if os.name == "nt":
        raise SystemExit(subprocess.call(command))
    os.execv(command[0], command)  # noqa: S606


def execute(*command: str) -> None:
    if code := subprocess.run(command, cwd=ROOT, check=False).returncode:
        raise SystemExit(code)


def run(arguments: argparse.Namespace) -> None:
    python = set_up(development=False)
    data = str(arguments.data.absolute())
    settings = [f"DATA_DIR={data}", *arguments.set]
    if arguments.store:
        settings.append(f"STORE={arguments.store}")
    command = [str(python), str(ROOT / "scripts" / "serve.py")]
    command += ["--host", arguments.host, "--port", str(arguments.port), "--data", data]
    command += ["--public-url", arguments.public_url] if arguments.public_url else []
    command += [part for setting in settings for part in ("--set", setting)]
    command += ["--demo"] if arguments.demo else []
    command += ["--once"] if arguments.once else []
    become(command)


def test(arguments: list[str]) -> None:
    python = set_up(development=True)
    set_up_servers()
    pytest = [str(python), "-m", "pytest"]
    options = [each for each in arguments if each != "--fast"]
    if options != arguments:
        become([*pytest, *FAST, *ALL_CORES, *options])
    if options:
        become([*pytest, *options])
    execute(*pytest, *ALL_CORES)
    become([*pytest, BROWSER])  # in one process: its tests share an app with demo data


def install_packages() -> None:
    set_up(development=True)


def soak(arguments: list[str]) -> None:
    python = set_up(development=True)
    set_up_servers()
    become([str(python), "-m", "pytest", "-m", "soak", *ALL_CORES, *arguments])


def check(arguments: list[str]) -> None:
    python = str(set_up(development=True))
    execute(python, "-m", "ruff", "check", ".")
    execute(python, "-m", "ruff", "format", "--check", ".")
    execute(python, "-m", "mypy")
    execute(python, "-m", "scripts.sentiment.train", "--check")
    test(arguments)


def mutate(arguments: list[str]) -> None:
    become([str(set_up(development=True)), "-m", "scripts.mutate", *arguments])


def infra() -> None:
    # The conftest.py of the other tests needs packages that this environment does not have.
    become([str(set_up_infra()), "-m", "pytest", "--confcutdir", "tests/infra/tools", "tests/infra/tools"])


def openapi(arguments: list[str]) -> None:
    become([str(set_up(development=False)), "scripts/openapi.py", *arguments])


def package(arguments: list[str]) -> None:
    become([str(set_up(development=True)), "scripts/package.py", *arguments])


def vendor(arguments: list[str]) -> None:
    become([sys.executable, str(ROOT / "scripts" / "vendor.py"), *arguments])


def screenshots() -> None:
    become([str(set_up(development=True)), "-m", "scripts.screenshots"])


def lock() -> None:
    python = str(set_up(development=True))
    compile_ = [python, "-m", "uv", "pip", "compile", "--quiet", "--system-certs", "--universal"]
    compile_ += ["--python-version", "3.11"]
    compile_ += ["--generate-hashes", "--no-emit-index-url", "--upgrade"]
    compile_ += ["--custom-compile-command", "python3 scripts/dev.py lock"]
    execute(*compile_, "requirements.in", "-o", "requirements.txt")
    execute(*compile_, "requirements-cli.in", "-c", "requirements.txt", "-o", "requirements-cli.txt")
    both = ("-c", "requirements.txt", "-c", "requirements-cli.txt")
    execute(*compile_, "requirements-dev.in", *both, "-o", "requirements-dev.txt")
    execute(*compile_, "requirements-infra.in", "-o", "requirements-infra.txt")


def parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("run", help="run the app on this machine")
    serve.add_argument("--port", type=int, default=7071, help="the port (default 7071)")
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on; other than loopback needs keys")
    serve.add_argument("--public-url", metavar="URL", help="what clients use, if a proxy is in front; needs keys")
    serve.add_argument(
        "--data", default=ROOT / ".data", type=Path, metavar="DIR", help="the data folder (default .data)"
    )
    serve.add_argument("--demo", action=argparse.BooleanOptionalAction, default=True, help="demo feeds (default)")
    serve.add_argument("--store", choices=("sqlite", "cosmos"), help="the store (default sqlite)")
    serve.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an app setting; repeatable")
    serve.add_argument("--once", action="store_true", help="run every timer once, drain the queues, exit 0 or 1")
    commands.add_parser("test", help="run all tests; --fast: those of half a minute", add_help=False)
    commands.add_parser("soak", help="run the long tests of kills, races, faults and memory", add_help=False)
    commands.add_parser("install", help="install the packages that the tests need")
    commands.add_parser("check", help="ruff, mypy, tables, all tests; other arguments go to pytest", add_help=False)
    commands.add_parser("mutate", help="run mutation tests of modules", add_help=False)
    commands.add_parser("infra", help="check the Bicep: Azure's type schemas, checkov, azure-functions-doctor")
    commands.add_parser("package", help="build the zip that Azure runs; --output FOLDER", add_help=False)
    commands.add_parser("vendor", help="fetch the libraries of the dashboard from npm: [--check]", add_help=False)
    commands.add_parser("openapi", help="write the contract of the API: [FILE]", add_help=False)
    commands.add_parser("screenshots", help="make the pictures of the dashboard in docs/images")
    commands.add_parser("lock", help="resolve requirements*.in into requirements*.txt")
    arguments, rest = parser.parse_known_args(argv)
    if rest and arguments.command not in PASSED_ON:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return arguments, rest


def main(argv: list[str]) -> None:
    if sys.version_info < FLOOR:
        raise SystemExit(f"toolpulse needs Python {FLOOR[0]}.{FLOOR[1]} or newer; this is {sys.version.split()[0]}.")
    arguments, rest = parse(argv)
    if arguments.command == "run":
        run(arguments)
    elif (plain := PLAIN.get(arguments.command)) is not None:
        plain()
    else:
        PASSED_ON[arguments.command](rest)


PLAIN: Mapping[str, Callable[[], None]] = {
    "install": install_packages,
    "infra": infra,
    "screenshots": screenshots,
    "lock": lock,
}
PASSED_ON: Mapping[str, Callable[[list[str]], None]] = {
    "test": test,
    "soak": soak,
    "check": check,
    "mutate": mutate,
    "openapi": openapi,
    "package": package,
    "vendor": vendor,
}
"""The commands that take other arguments, such as those of pytest."""


if __name__ == "__main__":
    main(sys.argv[1:])
