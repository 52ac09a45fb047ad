"""Presets, and what came of lists, bulk actions and requests for work, as the API shows it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from models.resources.base import Shape
from models.values import Text


class PresetValue(Shape):
    """A value that a preset takes."""

    name: str = Field(description="Its name.")
    about: str = Field(description="What it is.")
    pattern: str = Field(description="A regular expression of all that is allowed.")
    example: str = Field(description="An example.")


class Preset(Shape):
    """A template for the feeds that a service has."""

    preset: str = Field(description="Its name.")
    about: str = Field(description="What its feeds have.")
    url: str = Field(description="The URL, with the values in braces.")
    source_name: str = Field(description="The name of the source, with the values in braces.")
    values: tuple[PresetValue, ...] = Field(description="The values that it takes.")


class NamedFeed(Shape):
    """A feed with its name."""

    feed_id: str = Field(description="The feed.")
    source_name: str = Field(description="Its name.")


class RefusedOutline(Shape):
    """An entry of a list that is no feed."""

    line: int | None = Field(description="The line in the document.")
    url: str | None = Field(description="Its URL.")
    source_name: str | None = Field(description="Its name.")
    reason: str = Field(description="Why it was refused.")


class FeedImport(Shape):
    """The result of importing an OPML document."""

    added: tuple[NamedFeed, ...] = Field(description="The new feeds.")
    known: tuple[NamedFeed, ...] = Field(description="Feeds that were there, which stay as they are.")
    refused: tuple[RefusedOutline, ...] = Field(description="Outlines that are no feeds.")


class FeedsApplied(FeedImport):
    """The result of applying a list of feeds."""

    added: tuple[NamedFeed, ...] = Field(description="The new feeds.")
    changed: tuple[NamedFeed, ...] = Field(description="Feeds that were there, and are as the list has them now.")
    known: tuple[NamedFeed, ...] = Field(description="Feeds that were so already.")
    refused: tuple[RefusedOutline, ...] = Field(description="Entries that were not applied.")
    runs: tuple[str, ...] = Field(description="The runs that do what follows from the changes.")


class NamedTool(Shape):
    """A tool with its name."""

    tool_id: str = Field(description="The tool.")
    name: str = Field(description="Its name.")


class RefusedTool(Shape):
    """An entry of a list that is no tool."""

    line: int | None = Field(description="The line in the document.")
    name: str | None = Field(description="Its name.")
    reason: str = Field(description="Why it was refused.")


class ToolsApplied(Shape):
    """The result of applying a list of tools."""

    added: tuple[NamedTool, ...] = Field(description="The new tools.")
    changed: tuple[NamedTool, ...] = Field(description="Tools that were there, and are as the list has them now.")
    known: tuple[NamedTool, ...] = Field(description="Tools that were so already.")
    refused: tuple[RefusedTool, ...] = Field(description="Entries that were not applied.")
    runs: tuple[str, ...] = Field(description="The runs that do what follows from the changes.")


class BulkResult(Shape):
    """The result of a bulk action for one feed."""

    feed_id: str = Field(description="The feed.")
    outcome: Literal["changed", "unchanged", "refused"] = Field(
        description="`changed`; `unchanged`: the feed is so already, or `run_id` is about to fetch it."
    )
    reason: str | None = Field(description="Why it was refused.")
    run_id: str | None = Field(description="The run that fetches it.")


class BulkFacts(Shape):
    """The action of a bulk request."""

    action: Literal["enable", "disable", "tag", "untag", "fetch"] = Field(description="The action.")
    dry_run: bool = Field(description="True: nothing was changed.")


class RunStarted(Shape):
    """The run that does what was asked for."""

    run_id: str = Field(description="The run: `GET /api/v1/runs/{run_id}` shows its progress.")


class MergeStarted(RunStarted):
    """The run of a merge."""

    undo: str = Field(description="How to undo the merge.")


class CollectionsResource(Shape):
    """The endpoints that a request without an id can read."""

    version: Text = Field(description="The version of the app.")
    links: dict[str, str] = Field(description="The paths, by name.")
