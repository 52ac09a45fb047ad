"""robots.txt of a host, as it was fetched last."""

from __future__ import annotations

import hashlib
from typing import ClassVar, Literal

from models.stored import StoredDocument
from models.values import Text

RobotsOutcome = Literal["RULES", "NONE", "UNREACHABLE"]


class RobotsFile(StoredDocument):
    """NONE: the host has no such file, and allows everything. UNREACHABLE: the host did not answer, and allows nothing
    until then."""

    CONTAINER: ClassVar[str] = "catalog"
    ID: ClassVar[str] = "robots"

    entity_type: Literal["RobotsFile"] = "RobotsFile"
    origin: Text
    outcome: RobotsOutcome
    text: str | None = None

    @staticmethod
    def partition_of(origin: str) -> str:
        return "ROBOTS:" + hashlib.sha256(origin.encode()).hexdigest()[:32]

    @property
    def partition(self) -> str:
        return self.partition_of(self.origin)
