"""All errors. Each class exists because some caller handles it differently; in brackets, the HTTP status.

    ToolpulseError
    ├── InvalidInput        a value breaks a rule: names the field and what is allowed (400)
    ├── NotAllowed          the caller lacks a key (401)
    ├── NotFound            the named document does not exist (404)
    ├── Conflict            a document with this identity exists already (409)
    ├── ChangedMeanwhile    another writer was first: read again and decide again (412)
    ├── InvalidTransition   a state machine does not allow this step (409)
    ├── WrongSettings       a setting of the app breaks a rule: no request can be served until it is changed (503)
    └── Unavailable         the store, a queue or a provider did not answer: try again (503)
        ├── Contended       other workers were in the way, and no service is out of order (503)
        └── Unusable        the store's file cannot be used until a person acts (503)
            └── Damaged     what is stored is damaged: trying again does not help (503)

Reading a document that does not exist is not an error: `find` returns None. UnreadableDocument is no ToolpulseError:
the fault is in the store, not in a request, so callers that are not prepared for it treat it as an unexpected error.
"""

from __future__ import annotations


class ToolpulseError(Exception):
    """An error that toolpulse raises itself. Its text may be shown to the caller."""


class InvalidInput(ToolpulseError):
    """An input is not allowed: `field` breaks a rule, which `allowed` describes."""

    def __init__(self, field: str, allowed: str) -> None:
        super().__init__(f"{field}: {allowed}")
        self.field = field
        self.allowed = allowed


class NotAllowed(ToolpulseError):
    """The caller lacks a key."""


class NotFound(ToolpulseError):
    """The named document does not exist."""


class Conflict(ToolpulseError):
    """A document with this identity exists already. `operation` is the index of the failed operation of a batch."""

    def __init__(self, message: str, operation: int | None = None) -> None:
        super().__init__(message)
        self.operation = operation


class ChangedMeanwhile(ToolpulseError):
    """The document is gone or has another ETag: read again and decide again. `operation` is as in Conflict."""

    def __init__(self, message: str, operation: int | None = None) -> None:
        super().__init__(message)
        self.operation = operation


class InvalidTransition(ToolpulseError):
    """A transition is not allowed: `machine` does not allow the step from `current` to `wanted`."""

    def __init__(self, machine: str, current: str, wanted: str) -> None:
        super().__init__(f"{machine}: {current} cannot become {wanted}")
        self.machine = machine
        self.current = current
        self.wanted = wanted


class WrongSettings(ToolpulseError):
    """Settings of the app break a rule. `problems` are sentences that name a setting and never quote its value."""

    def __init__(self, *problems: str) -> None:
        super().__init__(f"the settings of this app are wrong: {'; '.join(problems)}")
        self.problems = problems


class Unavailable(ToolpulseError):
    """A service did not answer. `retry_after` is the wait in seconds, if the service gave one."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Contended(Unavailable):
    """Other workers were in the way: another try may succeed at once."""


class Unusable(Unavailable):
    """The store's file cannot be used until a person does what the message says. It names the file."""


class Damaged(Unusable):
    """What is stored is damaged: the store's file, or an object of the archive. A person must restore a backup."""


class UnreadableDocument(ValueError):
    """The document stored under `key` breaks a rule of its `kind`. Lists leave it out, and name it."""

    def __init__(self, kind: str, key: str, why: str) -> None:
        super().__init__(f"{kind} {key}: the stored document cannot be read: {why}")
        self.kind = kind
        self.key = key
        self.why = why
