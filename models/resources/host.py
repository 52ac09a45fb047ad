"""A host as the API shows it: what requests to it have cost, what they brought, and whether it fails now."""

from __future__ import annotations

from models.values import Amount, Count, Day, Share, Text, Time, Value


class RobotsDecisions(Value):
    """What robots.txt said about pages of full texts; `unreachable`: the host could not be asked."""

    allowed: Count = 0
    disallowed: Count = 0
    unreachable: Count = 0


class DiscoveryDelay(Value):
    """First seen minus published, of `articles` articles; null without any. The quantiles are within 10 percent."""

    articles: Count = 0
    p50_seconds: Amount | None = None
    p95_seconds: Amount | None = None


class HostFailure(Value):
    """The failures in a row at present. Until `cools_until`, if that is set, no feed of the host is fetched."""

    since: Time
    failures: Count
    reason: Text
    cools_until: Time | None = None


class HostCounts(Value):
    """`not_modified_share` is null without requests."""

    requests: Count = 0
    bytes: Count = 0
    not_modified: Count = 0
    not_modified_share: Share | None = None
    rate_limited: Count = 0
    failed: Count = 0
    robots: RobotsDecisions = RobotsDecisions()
    discovery_delay: DiscoveryDelay = DiscoveryDelay()


class HostOfDay(HostCounts):
    """The same of one UTC day."""

    day: Day


class HostResource(HostCounts):
    """The counts of the UTC days from `first_day` to `last_day`. `failing` is null for a host that does not fail."""

    host: Text
    first_day: Day
    last_day: Day
    failing: HostFailure | None = None
    links: dict[str, str]


class HostWithDays(HostResource):
    """`by_day` has the days with requests, the newest first."""

    by_day: tuple[HostOfDay, ...] = ()
