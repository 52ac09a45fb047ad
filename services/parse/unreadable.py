"""The one way in which a body has no items: it is not what its source should have answered with."""

from __future__ import annotations

from models.errors import InvalidInput


class Unreadable(InvalidInput):
    """`kind` is for counting and for deciding ("empty", "html", "not_a_feed", "not_json", "refused", …).

    The text is for a person, and quotes no more of the body than a provider's own error message.
    """

    def __init__(self, kind: str, explanation: str) -> None:
        super().__init__("body", explanation)
        self.kind = kind
