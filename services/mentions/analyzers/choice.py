"""The analyzers that this app can use, by name. Each is made when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from models.errors import InvalidInput

if TYPE_CHECKING:
    from services.mentions.analyzers.port import Analyzer


class Analyzers:
    """`present_name` is the analyzer that scores articles. `missing` says what other analyzers lack, by name."""

    def __init__(
        self,
        present_name: str,
        makers: Mapping[str, Callable[[], Analyzer]],
        missing: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.present_name = present_name
        self._makers = makers
        self._missing = missing
        self._made: dict[str, Analyzer] = {}

    @property
    def present(self) -> Analyzer:
        return self.get(self.present_name)

    def get(self, name: str) -> Analyzer:
        """Raises InvalidInput for another name, and for an analyzer that lacks something."""
        if name in self._missing:
            raise InvalidInput("analyzer", f"{name} needs {self._missing[name]}")
        if name not in self._makers:
            names = ", ".join(sorted({*self._makers, *self._missing}))
            raise InvalidInput("analyzer", f"must be one of {names}")
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    async def close(self) -> None:
        """Releases everything. Calling it again does nothing."""
        made, self._made = self._made, {}
        for analyzer in made.values():
            await analyzer.close()


def compared_with(body: Mapping[str, Any], analyzers: Analyzers) -> str | None:
    """The name of the analyzer to compare with, by the body of a request; None if the new scores are to be applied.
    Raises InvalidInput."""
    apply, name = body.get("apply", True), body.get("analyzer")
    if not isinstance(apply, bool):
        raise InvalidInput("apply", "must be true or false")
    if name is not None and not isinstance(name, str):
        raise InvalidInput("analyzer", "must be the name of an analyzer")
    if apply:
        if name is not None:
            raise InvalidInput("analyzer", "needs apply: false; only the scores of the present analyzer are stored")
        return None
    name = analyzers.present_name if name is None else name
    analyzers.get(name)
    return name
