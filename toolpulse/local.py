"""The app of a data folder: the one that runs there, or else its functions in this process.

The app that runs gets the requests over HTTP, as from anybody. Without one, the same functions answer in this process,
with the same store and queue file; at its end the command does the work that its requests put on the queues.

The app's packages are beside this one in a checkout, inside of it in a wheel. Their names (models, services, triggers)
are put on the path, before packages of others with such a name, when a command needs the app itself, and never by a
command that talks to a URL.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import httpx

from toolpulse.client import Client
from toolpulse.failures import FAILED, Failure
from toolpulse.output import Output, progress
from toolpulse.targets import DEFAULT_FOLDER, KEY, MANAGEMENT_KEY, Local, Remote, base_of

if TYPE_CHECKING:
    from scripts.local_host.data import DataFolder
    from scripts.local_host.inprocess import InProcess
    from services.container import Container
    from toolpulse.local_queues import FolderQueues

Result = TypeVar("Result")
STARTING_SECONDS = 20.0
"""An app that starts has its port, but answers only when it is loaded."""
_OTHER_COMMAND_SECONDS = 60.0
_LOOKS_AGAIN_SECONDS = 0.1
_STEP_SECONDS = 0.5
_DATA_DIR = "DATA_DIR"
_KEYS, _MANAGEMENT_KEY = "FUNCTION_KEYS", "MANAGEMENT_KEY"
_HERE = Path(__file__).resolve().parent
_PACKED = _HERE / "_app"
_ROOT = _PACKED if _PACKED.is_dir() else _HERE.parent
"""Where the app's own packages are."""


def version() -> str:
    """Of the app, read from its source: an import would load the app's packages."""
    text = (_ROOT / "models" / "version.py").read_text(encoding="utf-8")
    found = re.search(r'^VERSION\b.*?"([^"]+)"', text, re.MULTILINE)
    return found[1] if found else "unknown"


@contextmanager
def the_app() -> Iterator[None]:
    """Makes the app's packages importable. What the app refuses, and a package that is not installed, are Failures."""
    if str(_ROOT) not in sys.path:
        sys.path.insert(0, str(_ROOT))
    try:
        from models.errors import ToolpulseError
        from scripts.local_host import Refused

        try:
            yield
        except (ToolpulseError, Refused) as error:
            raise Failure(str(error)) from None
    except ModuleNotFoundError as missing:
        raise Failure(
            f"the app of a data folder needs packages that are not installed here ({missing.name}): install "
            "toolpulse[local], start this in a checkout as .venv/bin/toolpulse (`python3 scripts/dev.py run` makes it),"
            " or talk to an app with --url URL"
        ) from None


def running(target: Local) -> Remote | None:
    """The app that runs on the folder."""
    with the_app():
        from scripts.local_host.data import running_host

        settings = _settings(target)
        folder = Path(settings[_DATA_DIR])
        if not folder.is_dir() and not target.is_named:
            raise Failure(
                f"there is no data folder {folder}: --data DIR names another (a new one is made), --url URL or "
                "TOOLPULSE_URL an app elsewhere, and `python3 scripts/dev.py run` runs one here",
            )
        found = running_host(folder)
    if found is None:
        return None
    if target.settings:
        raise Failure(f"an app runs on {folder} with settings of its own: stop it first, or leave out --set")
    key = os.environ.get(KEY) or settings.get(_KEYS, "").partition(",")[0].strip()
    management_key = os.environ.get(MANAGEMENT_KEY) or settings.get(_MANAGEMENT_KEY, "")
    return Remote(base_of(found.functions), key, management_key, f"the app at {found.functions}")


def folder_of(target: Local) -> Path:
    return Path(_settings(target)[_DATA_DIR])


def _settings(target: Local) -> dict[str, str]:
    """Those of the local host: the options win over the environment, over local.settings.json. The data folder is that
    of the checkout, or, of an installed command, the one in the working directory."""
    found = _own_settings(target)
    base = Path.cwd() if _ROOT == _PACKED else _ROOT
    folder = str(base / (found.get(_DATA_DIR) or os.environ.get(_DATA_DIR) or DEFAULT_FOLDER))
    return {**os.environ, **found, _DATA_DIR: folder}


def _own_settings(target: Local) -> dict[str, str]:
    from scripts.local_host.settings import app_settings

    return app_settings(_ROOT, _chosen(target), os.environ)[0]


def _chosen(target: Local) -> dict[str, str]:
    folder = {} if target.folder is None else {_DATA_DIR: str(target.folder)}
    return {**target.settings, **folder}


def _checked_settings(target: Local) -> dict[str, str]:
    """With those of a demo in the folder. Raises WrongSettings for names that are no settings."""
    from models.errors import WrongSettings
    from scripts import demo
    from scripts.backup import require_store
    from services.setting import unknown
    from services.settings import table

    if problems := unknown(_own_settings(target), table()):
        raise WrongSettings(*problems)
    settings = _settings(target)
    require_store(settings)
    return {**settings, **demo.settings_in(Path(settings[_DATA_DIR]), _chosen(target))}


def with_services(target: Local, work: Callable[[Container], Awaitable[Result]], *, migrate: bool = True) -> Result:
    """The result of work with the app's services, beside an app that runs on the folder or without one. Without
    `migrate` the store is opened as it is."""

    async def beside() -> Result:
        from services import container

        built = await container.build(_checked_settings(target), migrate=migrate)
        try:
            return await work(built)
        finally:
            await built.close()

    with the_app():
        return asyncio.run(beside())


@contextmanager
def in_process(target: Local, out: Output) -> Iterator[Client]:
    """The app of the folder in this process. Its event loop runs while a request or its work does. At the end the work
    that the requests began is done."""
    with the_app(), _errors_shown(), asyncio.Runner() as runner:
        settings = _checked_settings(target)
        folder = Path(settings[_DATA_DIR])
        if not folder.exists():
            out.say(f"{folder} does not exist: it is made, as an empty data folder")
        with closing(_locked(folder)) as lock:
            resources = AsyncExitStack()
            try:
                app = _App(runner, *runner.run(_hosted(lock, settings, resources)))
                key = settings.get(_MANAGEMENT_KEY, "")
                remote = Remote(base_of("http://127.0.0.1"), management_key=key, name=f"the app of {folder}")
                with closing(Client(remote, app, pause=app.pause)) as client:
                    yield client
                app.finish()
            finally:
                runner.run(resources.aclose())


async def _hosted(
    folder: DataFolder, settings: Mapping[str, str], resources: AsyncExitStack
) -> tuple[InProcess, FolderQueues]:
    from scripts.local_host.inprocess import InProcess
    from services import container
    from toolpulse.local_queues import FolderQueues

    hosted = InProcess(_ROOT, folder, settings)
    queues = FolderQueues(hosted.queues, is_base64=True)
    services = await container.build(settings, queues=queues)
    resources.push_async_callback(services.close)
    resources.push_async_callback(container.close)
    resources.push_async_callback(hosted.close)
    container.adopt(services)
    return hosted, queues


@contextmanager
def _errors_shown() -> Iterator[None]:
    """Shows errors of the app. The command itself reports failed fetches."""
    shown = logging.StreamHandler()
    shown.setLevel(logging.ERROR)
    shown.addFilter(lambda line: getattr(line, "event", None) != "feed_fetch_failed")
    logging.getLogger().addHandler(shown)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(shown)


def _locked(path: Path) -> DataFolder:
    """The folder, once another command has left it."""
    from scripts.local_host.data import DataFolder, Taken

    until = time.monotonic() + _OTHER_COMMAND_SECONDS
    while True:
        try:
            return DataFolder(path)
        except Taken:
            if time.monotonic() >= until:
                raise
            time.sleep(_LOOKS_AGAIN_SECONDS)


@dataclass(frozen=True, slots=True)
class _App(httpx.BaseTransport):
    """Gives requests to the functions in this process."""

    runner: asyncio.Runner
    hosted: InProcess
    queues: FolderQueues

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        raw_path, headers = request.url.raw_path.decode("ascii"), list(request.headers.items())
        answered = self.hosted.request(request.method, str(request.url), raw_path, headers, request.read())
        reply = self.runner.run(answered)
        return httpx.Response(reply.status, headers=reply.headers, content=reply.body)

    def pause(self, seconds: float) -> None:
        """Works off the queues instead of waiting. Raises Failure if there is nothing to wait for."""
        if self.hosted.waiting():
            self.runner.run(self.hosted.work(seconds))
        else:
            self._raise_failure()
            time.sleep(seconds)

    def finish(self) -> None:
        """Does the work that the requests began. What fails stays in the store: the app does it when it runs."""
        if not self.queues.sent:
            return
        most = 1
        with progress("messages worked off") as show:
            while not self.runner.run(self.hosted.work(_STEP_SECONDS)):
                left = self.hosted.waiting()
                most = max(most, left)
                show(most - left, (most - left) / most)
        self._raise_failure()

    def _raise_failure(self) -> None:
        if self.hosted.failed:
            text = f"{self.hosted.failed} messages of this command failed five times: see `toolpulse queues list`"
            raise Failure(text, FAILED)
