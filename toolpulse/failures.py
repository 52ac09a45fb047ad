"""What can go wrong for a person, and the exit code that says it to a script."""

from __future__ import annotations

DONE = 0
FAILED = 1
WRONG_USAGE = 2
UNREACHABLE = 3
NO_KEY = 4
NOT_FOUND = 5
CONFLICT = 6
INTERRUPTED = 130
READER_ENDED = 141
"""What a shell reports for a program that SIGPIPE ended."""

MEANINGS = (
    (DONE, "done"),
    (FAILED, "refused or failed; `ingest`: every fetch failed; `audit`: differences; `health`: unhealthy"),
    (WRONG_USAGE, "the command line is wrong"),
    (UNREACHABLE, "the app cannot be reached, or cannot work now (503)"),
    (NO_KEY, "a key is missing or wrong"),
    (NOT_FOUND, "nothing has this name or id"),
    (CONFLICT, "the state of what is there does not allow it, or it was changed meanwhile (409, 412)"),
    (INTERRUPTED, "interrupted"),
    (READER_ENDED, "the reader of the output ended first, as in `toolpulse feeds list | head`"),
)


class Failure(Exception):
    """Ends a command: the text says what is wrong and what to do next."""

    def __init__(self, text: str, code: int = FAILED) -> None:
        super().__init__(text)
        self.code = code


class Problem(Failure):
    """A response of the app that is an error. `status` is that of the response, `field` what it names."""

    def __init__(self, text: str, code: int, status: int, field: str = "") -> None:
        super().__init__(text, code)
        self.status = status
        self.field = field
