"""Where a program begins: the collections of the API."""

from __future__ import annotations

from pydantic import Field

from models.resources.base import Shape
from models.values import Text


class CollectionsResource(Shape):
    """The endpoints that a request without an id can read."""

    version: Text = Field(description="The version of the app.")
    links: dict[str, str] = Field(description="The paths, by name.")
