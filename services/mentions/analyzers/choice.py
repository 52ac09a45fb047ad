"""The analyzers that this app can use, by name. Each is made when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator

from models.errors import InvalidInput
from models.request import Request
from models.values import Flag

if TYPE_CHECKING:
    from services.mentions.analyzers.port import Analyzer


class Analyzers:
    """The analyzers by name. `present_name` is the one that scores articles."""

    def __init__(self, present_name: str, makers: Mapping[str, Callable[[], Analyzer]]) -> None:
        self.present_name = present_name
        self._makers = makers
        self._made: dict[str, Analyzer] = {}

    @property
    def present(self) -> Analyzer:
        return self.get(self.present_name)

    def get(self, name: str) -> Analyzer:
        """Raises InvalidInput for another name, and for an analyzer that lacks something."""
        if name not in self._makers:
            raise InvalidInput("analyzer", f"must be one of {', '.join(sorted(self._makers))}")
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    async def close(self) -> None:
        """Releases everything. Calling it again does nothing."""
        made, self._made = self._made, {}
        for analyzer in made.values():
            await analyzer.close()


class Reanalysis(
    Request,
    examples={"apply": {}, "compare": {"apply": False, "analyzer": "embedded"}},
    rules={
        "anyOf": [
            {"required": ["apply"], "properties": {"apply": {"const": False}}},
            {"properties": {"analyzer": {"type": "null"}}},
        ]
    },
):
    """Scores all mentions of the tool again, or compares only."""

    apply: Flag = Field(
        default=True, description="True if absent: the new scores are stored. False: they are only compared."
    )
    analyzer: Annotated[str, Field(json_schema_extra={"format": "analyzer"})] | None = Field(
        default=None,
        description="With `apply: false`: `embedded`, the shipped table; `azure-language`, which sends every passage "
        "to that service; or `candidate`, the table in `SENTIMENT_CANDIDATE_FILE`. The present analyzer if absent.",
    )

    @model_validator(mode="after")
    def _joined(self) -> Self:
        if self.apply and self.analyzer is not None:
            raise ValueError("analyzer: needs apply: false; only the scores of the present analyzer are stored")
        return self

    def compared_with(self, analyzers: Analyzers) -> str | None:
        """The name of the analyzer to compare with; None if the new scores are to be applied. Raises InvalidInput."""
        if self.apply:
            return None
        name = analyzers.present_name if self.analyzer is None else self.analyzer
        analyzers.get(name)
        return name
