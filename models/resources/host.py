"""A host as the API shows it: its feeds, and whether it fails now."""

from __future__ import annotations

from pydantic import Field

from models.resources.base import Resource, Shape
from models.values import Count, Text, Time


class HostFailure(Shape):
    """The failures of a host in a row at present."""

    since: Time = Field(description="When the first of them was.")
    failures: Count = Field(description="How many there were.")
    reason: Text = Field(description="The kind of the last one, such as `timeout`.")
    cools_until: Time | None = Field(default=None, description="Until then no feed of the host is fetched.")


class HostResource(Resource):
    """A host that feeds are fetched from."""

    host: Text = Field(description="As in the `host` of a feed: with its port, if that is not the usual one.")
    feeds: Count = Field(description="Its feeds.")
    enabled_feeds: Count = Field(description="Those of its feeds that are enabled.")
    failing_feeds: Count = Field(description="Those of its feeds whose last fetch failed.")
    next_fetch_time: Time | None = Field(description="When the first of its enabled feeds is due; null without one.")
    last_successful_fetch: Time | None = Field(description="When one of its feeds was fetched last; null: never.")
    failing: HostFailure | None = Field(description="Null for a host that does not fail at present.")
    links: dict[str, str] = Field(description="Paths: the host itself, and its feeds.")
