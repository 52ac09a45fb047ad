"""A host whose requests fail, for all workers; an outage, when most hosts do. Hosts that do not fail have no state."""

from __future__ import annotations

import hashlib
from typing import ClassVar, Literal

from pydantic import Field

from models.stored import StoredDocument
from models.values import Count, Flag, Text, Time, UnixSeconds, lives


class HostState(StoredDocument):
    """The failures of one host (name and port) in a row, counted over all workers; the first success deletes it.

    `open_until` is when the last cool-down ends or ended; `openings` is how many cool-downs there were. All hosts are
    in one partition, so that one cheap query lists them.
    `answers`: the host answers, but with an error or a page instead of a feed that it had before. One such host is its
    feeds' own matter; if most begin at once, a proxy or a page to log in to answers for them.
    """

    CONTAINER: ClassVar[str] = "catalog"
    PARTITION: ClassVar[str] = "HOSTS"

    entity_type: Literal["HostState"] = "HostState"
    ttl_timestamp: UnixSeconds | None = lives(days=1)
    host: Text
    failures: Count
    openings: Count = 0
    open_until: Time | None = None
    reason: Text
    answers: Flag = False

    @property
    def id(self) -> str:
        return f"{'wrong:' if self.answers else ''}{host_id(self.host)}"


def host_id(host: str) -> str:
    """Hashed, since the name of a host may have characters that ids must not have."""
    return hashlib.sha256(host.encode()).hexdigest()[:32]


class Outage(StoredDocument):
    """The last time at which this installation could not reach the web, as services/feeds/outages.py decides.

    Of the hosts that were tried lately, `failing` failed and `answering` did not; `reasons` counts the failures by
    kind. `until` is null while it lasts; `updated_at` is when the evidence was last counted.
    """

    CONTAINER: ClassVar[str] = "catalog"
    PARTITION: ClassVar[str] = HostState.PARTITION
    ID: ClassVar[str] = "web"

    entity_type: Literal["Outage"] = "Outage"
    ttl_timestamp: UnixSeconds | None = lives(days=1)
    since: Time
    until: Time | None = None
    failing: Count
    answering: Count
    reasons: dict[str, Count] = Field(default_factory=dict)

    @property
    def lasts(self) -> bool:
        return self.until is None
