"""Hosts that keep failing, as one process sees them: a pause after several failures, and reports for all workers.

The pause spares the other feeds of a message the timeouts of a dead host. What outlives the process is in the store:
services/feeds/hosts.py counts the reports of all workers, and its cool-downs are longer with each failed probe.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_HOSTS = 10_000
THRESHOLD = 5
PAUSE_SECONDS = 60.0
LONGEST_PAUSE_SECONDS = 600.0
ANSWERED_WITHIN_SECONDS = 300.0
"""After an answer of the host, requests without one are not failures of the host for so long: its other feeds must not
wait for the few that hang."""


@dataclass(frozen=True, slots=True)
class HostReport:
    """What requests have shown of a host since the last report: whether one `succeeded`, and the `failures` after the
    last success. `retry_after` is the longest Retry-After of these failures, in seconds."""

    succeeded: bool = False
    failures: int = 0
    reason: str = ""
    retry_after: float = 0.0


@dataclass(slots=True)
class _Failing:
    failures: int = 0
    pause_until: float = 0.0


class Breaker:
    """After `threshold` failures in a row, requests to the host are refused for a pause. The first failure after the
    pause begins another. Times are seconds, all of the same clock."""

    def __init__(self, threshold: int = THRESHOLD) -> None:
        self._threshold = threshold
        self._failing: dict[str, _Failing] = {}
        self._answered: dict[str, float] = {}
        self._reports: dict[str, HostReport] = {}

    def pause(self, host: str, now: float) -> float | None:
        """The seconds until a request may be sent; None if it may be sent now."""
        failing = self._failing.get(host)
        return failing.pause_until - now if failing is not None and now < failing.pause_until else None

    def succeeded(self, host: str, now: float) -> None:
        self._failing.pop(host, None)
        self._answered.pop(host, None)
        self._answered[host] = now
        if len(self._answered) > MOST_HOSTS:
            del self._answered[next(iter(self._answered))]
        self._report(host, HostReport(succeeded=True))

    def unanswered(self, host: str, now: float, reason: str) -> None:
        """A request without an answer, which may be the fault of its URL: a failure of the host, unless the host has
        answered another request within ANSWERED_WITHIN_SECONDS."""
        answered = self._answered.get(host)
        if answered is None or now - answered >= ANSWERED_WITHIN_SECONDS:
            self.failed(host, now, reason)

    def failed(self, host: str, now: float, reason: str, retry_after: float = 0.0) -> None:
        """`retry_after` is the host's own Retry-After in seconds."""
        failing = self._failing.setdefault(host, _Failing())
        failing.failures += 1
        if failing.failures >= self._threshold and now >= failing.pause_until:
            failing.pause_until = now + min(max(PAUSE_SECONDS, retry_after), LONGEST_PAUSE_SECONDS)
        if len(self._failing) > MOST_HOSTS:
            del self._failing[next(iter(self._failing))]
        before = self._reports.get(host, HostReport())
        wait = max(before.retry_after, retry_after)
        self._report(host, HostReport(before.succeeded, before.failures + 1, reason, wait))

    def take_reports(self) -> dict[str, HostReport]:
        """The reports since the last call, by host."""
        taken, self._reports = self._reports, {}
        return taken

    def _report(self, host: str, report: HostReport) -> None:
        self._reports[host] = report
        if len(self._reports) > MOST_HOSTS:
            del self._reports[next(iter(self._reports))]
