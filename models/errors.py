"""The one error tree. A class exists only because somebody acts differently on it.

    ToolpulseError
    ├── InvalidInput        what was handed in breaks a rule: names the field and what is allowed (400)
    ├── NotAllowed          the caller has not shown the key that this takes (401)
    ├── NotFound            the thing that was named is not there (404)
    ├── Conflict            a thing of that identity is there already (409)
    ├── ChangedMeanwhile    somebody wrote between our read and our write: read again, decide again (412)
    ├── InvalidTransition   a state machine does not allow that step (409)
    └── Unavailable         could not ask: the store, a queue or a provider did not answer (503, try again)

"Absent" is never an error of reading (`find` answers None) and never the same as Unavailable. UnreadableDocument stands
apart: it is a fault on our side, so that whoever is ready for the unforeseen is ready for it.
"""

from __future__ import annotations


class ToolpulseError(Exception):
    """Anything that toolpulse itself says is wrong. The text is fit to be shown to the caller."""


class InvalidInput(ToolpulseError):
    """`field` breaks a rule; `allowed` says, for a person, what would pass."""

    def __init__(self, field: str, allowed: str) -> None:
        super().__init__(f"{field}: {allowed}")
        self.field = field
        self.allowed = allowed


class NotAllowed(ToolpulseError):
    """The caller has not shown the key that this takes."""


class NotFound(ToolpulseError):
    """What was named is not there."""


class Conflict(ToolpulseError):
    """A thing of that identity is there already. `operation` is the index of the operation of a batch that met it."""

    def __init__(self, message: str, operation: int | None = None) -> None:
        super().__init__(message)
        self.operation = operation


class ChangedMeanwhile(ToolpulseError):
    """The ETag no longer matches, or the item is gone: read again and decide again. `operation` as for Conflict."""

    def __init__(self, message: str, operation: int | None = None) -> None:
        super().__init__(message)
        self.operation = operation


class InvalidTransition(ToolpulseError):
    """`machine` does not allow the step from `current` to `wanted`."""

    def __init__(self, machine: str, current: str, wanted: str) -> None:
        super().__init__(f"{machine}: {current} cannot become {wanted}")
        self.machine = machine
        self.current = current
        self.wanted = wanted


class Unavailable(ToolpulseError):
    """Could not ask. `retry_after` is in seconds where the other side said so."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class UnreadableDocument(ValueError):
    """What is stored under `key` breaks the rules of its `kind`. Lists leave it out and say so; alone it is a 500."""

    def __init__(self, kind: str, key: str, why: str) -> None:
        super().__init__(f"{kind} {key}: what is stored cannot be read: {why}")
        self.kind = kind
        self.key = key
        self.why = why
