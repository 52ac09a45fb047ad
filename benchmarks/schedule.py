"""How much sooner the adaptive schedule finds articles than fixed polling that makes the same number of fetches.

    python benchmarks/schedule.py [TRACES] [--budget N ...]

TRACES has a line per publisher: name, first publication in Unix seconds, comma-separated gaps to the next ones. A
policy learns of an article only by the fetch that finds it. The delay of an article is the time from its publication to
that fetch. Fixed polling fetches all feeds at one interval, with starts spread over it. This is no test: it prints
figures.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from models.feed import Feed
from services.feeds.schedule import Policy, corrected_price_factor, next_fetch, observe

DAY, HOUR = 86400.0, 3600.0
LEAST, MOST = 60.0, 900.0
TRACES = Path(__file__).resolve().parents[2] / "shared" / "data" / "publish_traces.tsv"

Traces = dict[str, list[int]]
_START = datetime(2026, 1, 1, tzinfo=UTC)
_FEED = Feed(
    created_at=_START,
    feed_id="f",
    feed_url="https://a.example/",
    source_name="A",
    next_fetch_time=_START,
)


class Poller:
    """One feed under one policy: `after` takes what a fetch found, and returns the seconds until the next fetch."""

    def after(self, now: float, elapsed: float, found: Sequence[int]) -> float:
        raise NotImplementedError


@dataclass
class Adaptive(Poller):
    """services/feeds/schedule.py as ingestion calls it."""

    policy: Policy
    feed: Feed = field(default_factory=lambda: _FEED)

    def after(self, now: float, elapsed: float, found: Sequence[int]) -> float:
        moment = _utc(now)
        changes = observe(self.feed, len(found), [_utc(time) for time in found], moment)
        self.feed = self.feed.model_copy(update={**changes, "last_successful_fetch": moment})
        return (next_fetch(self.feed, moment, self.policy) - moment).total_seconds()


@dataclass
class Formula(Poller):
    """The specification's pseudocode as written: it takes a rate per fetch for a rate per hour."""

    rate: float = 0.0
    hours: list[int] = field(default_factory=lambda: [0] * 24)

    def after(self, now: float, elapsed: float, found: Sequence[int]) -> float:
        hour = _utc(now).hour
        if elapsed:
            self.rate = 0.9 * self.rate + 0.1 * len(found)
            self.hours[hour] += len(found)
        if self.rate == 0:
            return MOST
        interval = min(max(5 / self.rate * HOUR, LEAST), MOST)
        total = sum(self.hours)
        return interval * 0.7 if total and self.hours[hour] * 24 / total > 1.5 else interval


@dataclass
class Fixed(Poller):
    interval: float

    def after(self, now: float, elapsed: float, found: Sequence[int]) -> float:
        return self.interval


@dataclass
class Replay:
    """What one policy did: the time of every fetch, and (publication, delay) of every article, by feed."""

    fetches: dict[str, list[float]]
    delays: dict[str, list[tuple[int, float]]]

    def part(self, names: Iterable[str], start: float, end: float) -> Part:
        names = list(names)
        fetches = sum(start <= time < end for name in names for time in self.fetches[name])
        delays = sorted(delay for name in names for time, delay in self.delays[name] if start <= time < end)
        return Part(fetches, fetches * HOUR / (len(names) * (end - start)), delays)


@dataclass(frozen=True)
class Part:
    fetches: int
    per_feed_hour: float
    delays: list[float]

    @property
    def mean(self) -> float:
        return fmean(self.delays)

    def row(self, label: str, fixed: Part) -> str:
        gain = 100 * (1 - self.mean / fixed.mean)
        p95 = self.delays[int(0.95 * (len(self.delays) - 1))]
        return (
            f"  {label:34} {self.fetches:9,} {self.per_feed_hour:7.2f}"
            f" {self.mean:8.0f} {median(self.delays):8.0f} {p95:8.0f} {gain:+8.1f} %"
        )


def replay(
    traces: Traces, start: float, end: float, poller: Callable[[str], Poller], daily: Callable[[], None] = lambda: None
) -> Replay:
    """All feeds from `start` to `end`, day by day, so that `daily` may look at what was learned so far."""
    feeds = {name: poller(name) for name in traces}
    result = Replay({name: [] for name in traces}, {name: [] for name in traces})
    # Starts are spread, or all feeds would be fetched in step.
    due = {name: start + MOST * (index + 0.5) / len(traces) for index, name in enumerate(sorted(traces))}
    last = dict.fromkeys(traces, 0.0)
    known = {name: bisect_right(times, start) for name, times in traces.items()}
    day = start
    while day < end:
        day = min(day + DAY, end)
        for name, times in traces.items():
            now, seen = due[name], known[name]
            while now < day:
                upto = bisect_right(times, now, seen)
                found, seen = times[seen:upto], upto
                result.fetches[name].append(now)
                result.delays[name] += [(time, now - time) for time in found]
                wait = feeds[name].after(now, now - last[name] if last[name] else 0.0, found)
                last[name], now = now, now + wait
            due[name], known[name] = now, seen
        daily()
    # Articles that no fetch had found at the end are found by the next fetch.
    for name, times in traces.items():
        result.delays[name] += [(time, due[name] - time) for time in times[known[name] :] if time < end]
    return result


def replay_adaptive(traces: Traces, start: float, end: float, policy: Policy) -> Replay:
    pollers: dict[str, Adaptive] = {}

    def poller(name: str) -> Poller:
        pollers[name] = Adaptive(policy)
        return pollers[name]

    def correct() -> None:
        rates = [each.feed.fetches_per_hour for each in pollers.values()]
        factor = corrected_price_factor(next(iter(pollers.values())).policy, rates)
        for each in pollers.values():
            each.policy = replace(policy, price_factor=factor)

    return replay(traces, start, end, poller, correct)


def same_number(traces: Traces, start: float, end: float, part: Part, names: Sequence[str]) -> Part:
    """Fixed polling of these feeds that makes as many fetches as `part` counts."""
    interval = len(names) * (end - start) / max(part.fetches, 1)
    chosen = {name: traces[name] for name in names}
    # Three phases: one alone is a matter of luck with so few articles.
    delays = [
        delay
        for phase in range(3)
        for delay in replay(chosen, start - interval * phase / 3, end, lambda _name: Fixed(interval))
        .part(names, start, end)
        .delays
    ]
    return Part(part.fetches, part.per_feed_hour, sorted(delays))


def read_traces(path: Path) -> Traces:
    traces: Traces = {}
    for line in path.read_text().splitlines():
        name, first, gaps = line.split("\t")
        times = [int(first)]
        for gap in filter(None, gaps.split(",")):
            times.append(times[-1] + int(gap))
        traces[name] = times
    return traces


def synthetic(kind: str, feeds: int = 24, days: int = 10) -> Traces:
    """Synthetic arrivals, the same in every run; feeds' mean rates are spread over a factor of ten or more."""
    start, traces = 1_400_000_400, {}
    for index in range(feeds):
        chance = random.Random(f"{kind} {index}")
        rate = math.exp(chance.gauss(math.log(0.4), 1.0))
        phase = chance.uniform(0, 24)
        end = start + days * DAY
        times: list[float] = []
        now = start + chance.uniform(0, HOUR)
        while now < end:
            if kind == "poisson":
                now += chance.expovariate(rate / HOUR)
                times.append(now)
            elif kind == "office hours":
                now += chance.expovariate(4 * rate / HOUR)
                working = (now / HOUR + phase) % 24 < 8 and int(now // DAY + 4) % 7 not in (0, 6)
                if chance.random() < (1.0 if working else 0.03):
                    times.append(now)
            elif kind == "bursts":
                now += chance.expovariate(rate / 3 / HOUR)
                times += [now + after for after in _cluster(chance)]
            elif kind == "daily digest":
                now = (now // DAY + 1) * DAY + phase * HOUR + chance.gauss(0, 600)
                times += [now + second for second in range(chance.randint(3, 12))]
            elif kind == "falls silent":
                now += chance.expovariate(2 * rate / HOUR)
                if now < start + days * DAY / 3:
                    times.append(now)
            elif kind == "one in ten speaks":
                now += chance.expovariate((2.0 if index % 10 == 0 else 0.004) / HOUR)
                times.append(now)
        traces[f"{kind} {index}"] = sorted(int(time) for time in times if time < end)
    return traces


def _cluster(chance: random.Random) -> list[float]:
    """Seconds after the first of a burst in which each article brings on 0.6 more within about 40 minutes."""
    todo, found = [0.0], []
    while todo:
        time = todo.pop()
        found.append(time)
        while chance.random() < 0.6 / 1.6:
            todo.append(time + chance.expovariate(1 / 2400))
    return found


def _utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _heading(text: str) -> None:
    print(f"\n{text}\n  {'':34} {'fetches':>9} {'/feed-h':>7} {'mean s':>8} {'median':>8} {'p95':>8} {'gain':>10}")


def report(traces: Traces, budget: float) -> None:
    start = min(times[0] for times in traces.values()) - HOUR
    end = max(times[-1] for times in traces.values()) + 1.0
    middle = start + (end - start) / 2
    names = sorted(traces)
    # Alternating in the order of names, so that the halves do not differ otherwise.
    tuned, held = names[::2], names[1::2]
    ours = replay_adaptive(traces, start, end, Policy(fetches_per_feed_hour=budget))
    whole = ours.part(names, start, end)
    fixed = same_number(traces, start, end, whole, names)
    _heading(f"budget {budget:g} fetches per feed-hour: {len(names)} publishers, {(end - start) / DAY:.1f} days")
    print(whole.row("adaptive", fixed))
    print(fixed.row("fixed polling, as many fetches", fixed))
    for label, chosen, since, until in (
        ("adaptive, tuned on (half, 1st week)", tuned, start, middle),
        ("adaptive, other half, 2nd week", held, middle, end),
        ("adaptive, other half, all", held, start, end),
    ):
        part = ours.part(chosen, since, until)
        print(part.row(label, same_number(traces, since, until, part, chosen)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="?", type=Path, default=TRACES)
    parser.add_argument("--budget", nargs="*", type=float, default=[6.0, 8.0, 12.0])
    options = parser.parse_args()
    traces = read_traces(options.traces)
    names = list(traces)
    start, end = min(t[0] for t in traces.values()) - HOUR, max(t[-1] for t in traces.values()) + 1.0
    written = replay(traces, start, end, lambda _name: Formula()).part(names, start, end)
    _heading("the specification's formula as written")
    print(written.row("formula as written", same_number(traces, start, end, written, names)))
    for budget in options.budget:
        report(traces, budget)
    _heading("made-up arrivals, 24 feeds of a kind, 10 days, budget 8")
    for kind in ("poisson", "office hours", "bursts", "daily digest", "falls silent", "one in ten speaks"):
        made = synthetic(kind)
        first, last = 1_400_000_400.0, 1_400_000_400.0 + 10 * DAY
        part = replay_adaptive(made, first, last, Policy()).part(made, first, last)
        print(part.row(kind, same_number(made, first, last, part, list(made))))


if __name__ == "__main__":
    main()
