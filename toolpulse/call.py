"""One call of a command: its app, opened when the first request needs it, and where its output goes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

from toolpulse.client import Client, part
from toolpulse.failures import FAILED, WRONG_USAGE, Failure
from toolpulse.output import Output, progress
from toolpulse.targets import Given, Local, Remote, target

if TYPE_CHECKING:
    from toolpulse.names import Names

LISTED = 50
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
_ENDED = ("SUCCEEDED", "PARTIAL", "FAILED")


class Call:
    """`view` is the parameter of the API that asks for internal fields, or None."""

    def __init__(self, given: Given, output: Output, *, full: bool = False) -> None:
        self._given = given
        self._resources = ExitStack()
        self.out = output
        self.view = "full" if full else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._resources.__exit__(kind, error, trace)

    # -- the app

    @cached_property
    def target(self) -> Remote | Local:
        return target(self._given, os.environ)

    @cached_property
    def client(self) -> Client:
        found = self.target
        if isinstance(found, Remote):
            if found.sends_keys_in_the_clear:
                self.out.say(f"warning: {found.site} gets the key without TLS: everybody on the way can read it")
            return self._resources.enter_context(closing(Client(found)))
        from toolpulse import local

        running = local.running(found)
        if running is None:
            return self._resources.enter_context(local.in_process(found, self.out))
        return self._resources.enter_context(closing(Client(running, starting_seconds=local.STARTING_SECONDS)))

    def let_go(self) -> None:
        """Closes the app. Of an app in this process, the work that the requests began is done then, and another process
        may use the data folder. The next request opens the app again."""
        self._resources.close()
        for name in ("client", "names"):
            self.__dict__.pop(name, None)

    @cached_property
    def names(self) -> Names:
        from toolpulse.names import Names

        return Names(self.client)

    def data_folder(self, what: str) -> Local:
        """The data folder for work that is done beside the app, not over HTTP."""
        if isinstance(self.target, Remote):
            text = f"{what} works on the store itself, not over HTTP: run it where the app is, with --data DIR"
            raise Failure(text, WRONG_USAGE)
        return self.target

    # -- lists

    def listed(self, path: str, limit: int | None, **query: Any) -> list[Any]:
        """Up to `limit` items of a list. Says if there are more, and if some cannot be read."""
        items: list[Any] = []
        more = None
        for page in self.client.pages(path, limit, **query):
            items += page["items"]
            more = page.get("next")
            for each in page.get("unreadable", ()):
                self.out.say(f"cannot be read: {each}")
        if more is not None and limit is not None:
            self.out.say(f"There are more than {limit}: see --limit; 0 is all.")
        return items

    # -- runs

    def finished(self, run_id: str | None, *, wait: bool = True) -> int:
        """Waits for the run, and returns the exit code. Without `wait`, only says which run it is."""
        if run_id is None:
            return 0
        if not wait:
            self.out.say(f"run {run_id} does the work: `toolpulse runs wait {run_id}`")
            return 0
        run = self.waited(run_id)
        counts = ", ".join(f"{count} {name}" for name, count in (run["metrics"] or {}).items() if _is_count(count))
        self.out.say(f"{run['workflow_name']} {run['status']}: {counts}")
        for error in run["errors"]:
            self.out.say(f"  {error}")
        return 0 if run["status"] == "SUCCEEDED" else FAILED

    def waited(self, run_id: str) -> dict[str, Any]:
        """The run, when it has ended."""
        pause = _SHORTEST_PAUSE
        with progress("done") as show:
            while True:
                run: dict[str, Any] = self.client.get(f"runs/{part(run_id)}")
                if run["status"] in _ENDED:
                    return run
                show(run["progress"] or 0, None)
                self.client.pause(pause)
                pause = min(_LONGEST_PAUSE, pause * 1.5)


def _is_count(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def most(limit: int) -> int | None:
    """The value of --limit: 0 is all."""
    if limit < 0:
        raise Failure("--limit: must be 0 for all, or more", WRONG_USAGE)
    return limit or None


def content_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}", FAILED) from None


@contextmanager
def complete(file: Path) -> Iterator[TextIO]:
    """A text file that appears when it is complete."""
    unfinished = writable(file).with_name(file.name + ".part")
    with unfinished.open("w", encoding="utf-8") as out:
        yield out
    unfinished.replace(file)


def writable(file: Path) -> Path:
    if file.is_dir() or not file.absolute().parent.is_dir():
        raise Failure(f"{file}: must be a file in an existing folder", FAILED)
    return file


def without_nothing(**fields: Any) -> dict[str, Any]:
    """The fields that were given."""
    return {name: value for name, value in fields.items() if value is not None and value not in ([], ())}
