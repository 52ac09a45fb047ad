"""The result of one check of the app's health."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["healthy", "degraded", "unhealthy"]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check: a status, the reason as text, and figures."""

    status: Status
    detail: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def shown(self) -> dict[str, Any]:
        return {"status": self.status, "detail": self.detail, **self.facts}
