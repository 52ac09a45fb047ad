"""The app of a data folder: the one that runs there, or else its functions in this process.

The app that runs gets the requests over HTTP, as from anybody. Without one, the same functions answer in this process,
with the same store and queue file; at its end the command does the work that its requests put on the queues.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import httpx

from toolpulse import app
from toolpulse.client import Client
from toolpulse.failures import FAILED, Failure
from toolpulse.output import Output, Progress
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
_DATA_DIR, _STORAGE = "DATA_DIR", "AzureWebJobsStorage"
_KEYS, _MANAGEMENT_KEY = "FUNCTION_KEYS", "MANAGEMENT_KEY"


def opened(target: Local, out: Output) -> LocalApp | Remote:
    """The app that runs on the folder, or one in this process that is not open yet."""
    app.on_path()
    try:
        from scripts.local_host.data import running_host
    except ModuleNotFoundError as missing:
        raise _without_packages(missing) from None

    settings = settings_of(target)
    folder = Path(settings[_DATA_DIR])
    if not folder.is_dir() and not target.is_named:
        raise Failure(
            f"there is no data folder {folder}: --data DIR names another (a new one is made), --url URL or "
            "TOOLPULSE_URL an app elsewhere, and `python3 scripts/dev.py run` runs one here",
        )
    running = running_host(folder)
    if running is None:
        return LocalApp(folder, checked_settings(target), out)
    if target.settings:
        raise Failure(f"an app runs on {folder} with settings of its own: stop it first, or leave out --set")
    key = os.environ.get(KEY) or settings.get(_KEYS, "").partition(",")[0].strip()
    management_key = os.environ.get(MANAGEMENT_KEY) or settings.get(_MANAGEMENT_KEY, "")
    return Remote(base_of(running.functions), key, management_key, f"the app at {running.functions}")


def settings_of(target: Local) -> dict[str, str]:
    """Those of the local host: the options win over the environment, over local.settings.json. The data folder is that
    of the checkout, or, of an installed command, the one in the working directory."""
    from scripts.local_host import Refused
    from scripts.local_host.settings import app_settings

    try:
        found, _ = app_settings(app.folder(), _chosen(target), os.environ)
    except Refused as refused:
        raise Failure(str(refused)) from None
    base = app.folder() if app.is_checkout() else Path.cwd()
    folder = str(base / (found.get(_DATA_DIR) or os.environ.get(_DATA_DIR) or DEFAULT_FOLDER))
    return {**os.environ, **found, _DATA_DIR: folder}


def checked_settings(target: Local) -> dict[str, str]:
    """With those of a demo in the folder. Raises Failure for names that are no settings."""
    try:
        from models.errors import WrongSettings
        from scripts import demo
        from scripts.local_host.settings import app_settings
        from services.setting import unknown
        from services.settings import table
    except ModuleNotFoundError as missing:
        raise _without_packages(missing) from None

    settings, chosen = settings_of(target), _chosen(target)
    found, _ = app_settings(app.folder(), chosen, os.environ)
    if problems := unknown(found, table()):
        raise Failure(str(WrongSettings(*problems)))
    return {**settings, **demo.settings_in(Path(settings[_DATA_DIR]), chosen)}


def _chosen(target: Local) -> dict[str, str]:
    folder = {} if target.folder is None else {_DATA_DIR: str(target.folder)}
    return {**target.settings, **folder}


def _without_packages(missing: ModuleNotFoundError) -> Failure:
    return Failure(
        f"the app of a data folder needs packages that are not installed here ({missing.name}): install "
        "toolpulse[local], start this in a checkout as .venv/bin/toolpulse (`python3 scripts/dev.py run` makes it), or "
        "talk to an app with --url URL"
    )


class LocalApp:
    """The app in this process, from entering to leaving. Its event loop runs while a request or its work does."""

    def __init__(self, folder: Path, settings: Mapping[str, str], out: Output) -> None:
        self._path = folder
        self._settings = settings
        self._out = out
        self._runner = asyncio.Runner()
        self._lock: DataFolder | None = None
        self._app: InProcess | None = None
        self._queues: FolderQueues | None = None
        self._shown = logging.StreamHandler()
        self.services: Container | None = None

    def __enter__(self) -> Self:
        from models.errors import ToolpulseError
        from scripts.local_host import Refused

        if not self._path.exists():
            self._out.say(f"{self._path} does not exist: it is made, as an empty data folder")
        try:
            self._lock = _locked(self._path)
            self._log_errors()
            self._runner.run(self._open())
        except (ToolpulseError, Refused) as error:
            self._close()
            raise Failure(str(error)) from None
        except ModuleNotFoundError as missing:
            self._close()
            raise _without_packages(missing) from None
        except BaseException:
            self._close()
            raise
        return self

    def _log_errors(self) -> None:
        """Shows errors of the app. The command itself reports failed fetches."""
        self._shown.setLevel(logging.ERROR)
        self._shown.addFilter(lambda line: getattr(line, "event", None) != "feed_fetch_failed")
        logging.getLogger().addHandler(self._shown)

    async def _open(self) -> None:
        from scripts.local_host.inprocess import InProcess
        from services import container
        from toolpulse.local_queues import FolderQueues

        assert self._lock is not None
        self._app = InProcess(app.folder(), self._lock, self._settings)
        self._queues = FolderQueues(self._app.queues, is_base64=True)
        self.services = await container.build(self._settings, queues=self._queues)
        container.adopt(self.services)

    def client(self) -> Client:
        name = f"the app of {self._path}"
        remote = Remote(base_of("http://127.0.0.1"), management_key=self._settings.get(_MANAGEMENT_KEY, ""), name=name)
        return Client(remote, _Dispatch(self), pause=self.pause)

    def request(self, request: httpx.Request) -> httpx.Response:
        assert self._app is not None
        raw_path = request.url.raw_path.decode("ascii")
        headers = [(name, value) for name, value in request.headers.items()]
        reply = self._runner.run(
            self._app.request(request.method, str(request.url), raw_path, headers, request.read())
        )  # fmt: skip
        return httpx.Response(reply.status, headers=reply.headers, content=reply.body)

    def pause(self, seconds: float) -> None:
        """Works off the queues instead of waiting. Raises Failure if there is nothing to wait for."""
        assert self._app is not None
        if self._app.waiting():
            self._runner.run(self._app.work(seconds))
        elif self._app.failed:
            raise self._failed()
        else:
            time.sleep(seconds)

    def finish(self) -> None:
        """Does the work that the requests began. What fails stays in the store: the app does it when it runs."""
        assert self._app is not None
        assert self._queues is not None
        if not self._queues.sent:
            return
        progress, most = Progress("messages worked off"), 1
        try:
            while not self._runner.run(self._app.work(_STEP_SECONDS)):
                left = self._app.waiting()
                most = max(most, left)
                progress.update(most - left, (most - left) / most)
        finally:
            progress.close()
        if self._app.failed:
            raise self._failed()

    def _failed(self) -> Failure:
        assert self._app is not None
        text = f"{self._app.failed} messages of this command failed five times: see `toolpulse queues list`"
        return Failure(text, FAILED)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        try:
            self._runner.run(self._ended())
        finally:
            self._runner.close()
            if self._lock is not None:
                self._lock.close()
            logging.getLogger().removeHandler(self._shown)

    async def _ended(self) -> None:
        if self._app is not None:
            await self._app.close()
        if self.services is not None:
            from services import container

            await container.close()
            await self.services.close()


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


def with_services(target: Local, work: Callable[[Container], Awaitable[Result]], *, migrate: bool = True) -> Result:
    """The result of work with the app's services, beside an app that runs on the folder or without one. Without
    `migrate` the store is opened as it is."""
    app.on_path()
    try:
        from models.errors import ToolpulseError
    except ModuleNotFoundError as missing:
        raise _without_packages(missing) from None
    try:
        return asyncio.run(_beside(checked_settings(target), work, migrate=migrate))
    except ToolpulseError as error:
        raise Failure(str(error)) from None


def copied(target: Local, work: Callable[[Any, Path], Result]) -> Result:
    """The result of work with the module that copies data folders, on that of the target."""
    app.on_path()
    try:
        from scripts import backup
        from scripts.local_host import Refused
    except ModuleNotFoundError as missing:
        raise _without_packages(missing) from None
    try:
        return work(backup, folder_of(target))
    except Refused as refused:
        raise Failure(str(refused)) from None


def folder_of(target: Local) -> Path:
    return Path(settings_of(target)[_DATA_DIR])


async def _beside(
    settings: Mapping[str, str], work: Callable[[Container], Awaitable[Result]], *, migrate: bool
) -> Result:
    from services import container

    built = await container.build(settings, migrate=migrate)
    try:
        return await work(built)
    finally:
        await built.close()


class _Dispatch(httpx.BaseTransport):
    def __init__(self, local: LocalApp) -> None:
        self._local = local

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._local.request(request)
