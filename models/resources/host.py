"""A host as the API shows it: what requests to it have cost, what they brought, and whether it fails now."""

from __future__ import annotations

from pydantic import Field

from models.resources.base import Resource, Shape
from models.values import Amount, Count, Day, Share, Text, Time


class RobotsDecisions(Shape):
    """What robots.txt said about pages of full texts. Feeds are fetched without asking."""

    allowed: Count = Field(default=0, description="Pages that may be fetched.")
    disallowed: Count = Field(default=0, description="Pages that must not be fetched.")
    unreachable: Count = Field(default=0, description="Pages that wait, since the host could not be asked.")


class DiscoveryDelay(Shape):
    """First seen minus published. The quantiles are within 10 percent."""

    articles: Count = Field(
        default=0,
        description="Articles that were published after the first fetch of their feed, and whose date is "
        "neither missing nor in the future; not of batches that were released from quarantine.",
    )
    p50_seconds: Amount | None = Field(default=None, description="The median; null without articles.")
    p95_seconds: Amount | None = Field(default=None, description="The 95th percentile; null without articles.")


class HostFailure(Shape):
    """The failures of a host in a row at present."""

    since: Time = Field(description="When the first of them was.")
    failures: Count = Field(description="How many there were.")
    reason: Text = Field(description="The kind of the last one, such as `timeout`.")
    cools_until: Time | None = Field(default=None, description="Until then no feed of the host is fetched.")


class _HostCounts(Resource):
    requests: Count = Field(
        description="Requests that were sent, with every try, redirect and check. A feed's requests are "
        "counted when its attempt is saved: those of a worker that died are not."
    )
    bytes: Count = Field(description="The bytes of bodies, as they were sent (compressed).")
    not_modified: Count = Field(description="Responses 304.")
    not_modified_share: Share | None = Field(
        description="The share of the requests that were answered 304; null without requests."
    )
    rate_limited: Count = Field(description="Responses 429.")
    failed: Count = Field(description="Requests without a usable response, or with a status of 400 or more.")
    robots: RobotsDecisions = Field(
        description="What robots.txt said about pages of full texts. Feeds are fetched without asking."
    )
    discovery_delay: DiscoveryDelay = Field(
        description="First seen minus published. The quantiles are within 10 percent."
    )


class HostOfDay(_HostCounts):
    """The figures of a host on one UTC day."""

    day: Day = Field(description="The UTC day.")


class HostResource(_HostCounts):
    """A host: the figures of some UTC days."""

    host: Text = Field(description="As in the `host` of a feed: with its port, if that is not the usual one.")
    first_day: Day = Field(description="The first day that is counted.")
    last_day: Day = Field(description="The last day that is counted: the present one.")
    failing: HostFailure | None = Field(description="Null for a host that does not fail at present.")
    links: dict[str, str] = Field(description="Paths: the host itself, and its feeds.")


class HostWithDays(HostResource):
    """A host with its days."""

    by_day: tuple[HostOfDay, ...] = Field(description="The days with any figures, the newest first.")
