"""The entries that the demo's outlets have published: a function of a seed and the clock, so a restart changes nothing.

Stories are numbered by time. One outlet is the first to publish a story; others follow, with other endings to the
headline. Every other story has their own headlines: it becomes several articles. Some stories are edited afterwards.
"""

from __future__ import annotations

import functools
import random
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

SEED = 20260221
STORY_EVERY = timedelta(seconds=15)
SHOWN = 30
RETOLD = ("Report: {}", "{}: what we know so far", "{}, say early reports")
"""The headlines of outlets that tell a story in words of their own."""
_EPOCH = datetime.fromtimestamp(0, UTC)
_LOOKED_BACK = timedelta(hours=4)
_EDITED_AFTER = timedelta(minutes=4)


@dataclass(frozen=True, slots=True)
class Product:
    name: str
    maker: str
    topic: str
    ticker: str | None = None


PRODUCTS = (
    Product("Quorvia", "Quorvia Labs", "databases", "QRVA"),
    Product("Tarnwick DB", "Tarnwick", "databases", "TRNW"),
    Product("Lumenfold", "Ashmere Systems", "observability", "ASHM"),
    Product("Corvane", "Corvane Foundation", "languages"),
    Product("Pebblegrid", "Hexwharf", "cloud", "HXWF"),
    Product("Hexwharf Registry", "Hexwharf", "containers", "HXWF"),
    Product("Nimbry", "Nimbry Cloud", "cloud", "NMBY"),
    Product("Drossel CI", "Drossel Works", "ci"),
    Product("Ostrelle", "Ostrelle Project", "frontend"),
    Product("Velquist", "Velquist Security", "security", "VLQS"),
    Product("Brambleform", "Ashmere Systems", "infrastructure", "ASHM"),
    Product("Kestrune", "Kestrune Project", "languages"),
    Product("Moorlight", "Moorlight AI", "ai", "MRLT"),
    Product("Sablewire", "Sablewire Networks", "networking", "SBLW"),
    Product("Fenwickjs", "Fenwick Collective", "frontend"),
    Product("Tolliver Queue", "Tolliver", "messaging"),
)


@dataclass(frozen=True, slots=True)
class _Plot:
    """A kind of story: its headline and its text."""

    tag: str
    headline: str
    summary: str
    for_listed_only: bool = False


_PLOTS = (
    _Plot("release", "{name} {version} ships with {pct}% faster cold starts",
          "{maker} calls the release its most stable yet. Early users praise the smooth upgrade and the clear notes."),
    _Plot("release", "{name} {version} lands with a rewritten scheduler",
          "The new scheduler halves tail latency in the project's own tests. The old one stays available for a year."),
    _Plot("release", "{name} {version} is out: what changed and what broke",
          "Most of it is welcome, but a renamed flag breaks existing pipelines and the migration guide is thin."),
    _Plot("outage", "{name} suffers {n}-minute outage after a faulty rollout",
          "Customers lost writes and are angry about the silent status page. {maker} apologised and owes a report."),
    _Plot("outage", "{name} restores service after {n} minutes of errors in two regions",
          "The fix held overnight. Engineers traced the failure to an expired certificate that no alarm watched."),
    _Plot("security", "Critical flaw in {name} {version} lets attackers read other tenants' data",
          "{maker} urges everybody to patch at once. Researchers found {n} exposed instances within an hour."),
    _Plot("security", "{name} passes independent audit with {n} minor findings",
          "Auditors commend the careful design. All findings are fixed in {version}, the maintainers say."),
    _Plot("benchmark", "{name} beats {other} by {pct}% in reproducible benchmark",
          "The scripts are public and the results hold on three clouds. {other}'s maintainers accept the numbers."),
    _Plot("benchmark", "Benchmark finds {name} {pct}% slower than {other} under load",
          "The gap grows with concurrency. Users complain that the regression has been open for {n} weeks."),
    _Plot("pricing", "{name} raises prices by {pct}% and users are not happy",
          "Teams on the smallest plan are hit hardest; several say that they will move to {other}."),
    _Plot("pricing", "{name} makes its team plan free for up to {n} seats",
          "A generous step, say small teams. Paid plans keep support and audit logs."),
    _Plot("community", "{n} maintainers join {name} as the project moves to a foundation",
          "The move is welcomed across the community. Governance is open from today on."),
    _Plot("community", "How a team of {n} moved from {other} to {name} in a month",
          "A calm account with the numbers, the two bad days, and what they would do again."),
    _Plot("deprecation", "{name} drops support for {version} and earlier in {n} days",
          "Users of old releases are given little time. {maker} points to an automated upgrade."),
    _Plot("earnings", "{maker} beats revenue estimates by {pct}% on strong {name} growth",
          "Shares rise after the best quarter in company history. Guidance for next year is raised.", True),
    _Plot("earnings", "{maker} misses estimates as {name} growth slows to {pct}%",
          "Shares fall in late trading. Management blames long sales cycles and weak renewals.", True),
    _Plot("funding", "{maker} to buy rival {other}'s hosting arm for ${n} million",
          "Analysts call the price fair. Both teams stay in place, and regulators have yet to agree.", True),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outlet:
    """`ending` follows its headlines. `repeats` is its share of the stories that others publish first."""

    id: str
    name: str
    ending: str
    form: str
    topics: tuple[str, ...] = ()
    repeats: float = 0.0
    priority: float = 1.0
    source_priority: int = 999
    behaviour: str = "well"
    """well, no_validators, slow, failing, gone, not_a_feed, page"""

    def covers(self, product: Product) -> bool:
        return not self.topics or product.topic in self.topics


OUTLETS = (
    Outlet("demo-dev-wire", "The Dev Wire", " - The Dev Wire", "rss", repeats=0.5, priority=2.0, source_priority=1),
    Outlet("demo-tickerline", "Tickerline", " | Tickerline", "rss", repeats=0.4, priority=1.5, source_priority=2),
    Outlet("demo-build-ledger", "The Build Ledger", "", "atom", repeats=0.4, source_priority=3),
    Outlet(
        "demo-rootcause", "Rootcause Report", " \u2013 Rootcause Report", "json", ("cloud", "observability", "ci"), 0.5
    ),
    Outlet("demo-cloudmast", "Cloudmast", " | Cloudmast", "atom", ("cloud", "networking", "infrastructure"), 0.5),
    Outlet("demo-schema-daily", "Schema Daily", "", "rdf", ("databases", "messaging"), 0.6),
    Outlet("demo-patchnotes", "Patchnotes Club", "", "rss", ("languages", "frontend"), 0.5, behaviour="no_validators"),
    Outlet("demo-hardened", "Hardened Weekly", " - Hardened Weekly", "json", ("security", "containers"), 0.6),
    Outlet("demo-frontier", "Frontier Models", "", "atom", ("ai",), 0.6, behaviour="page"),
    Outlet("demo-slow-press", "The Slow Press", " - The Slow Press", "rss", repeats=0.2, behaviour="slow"),
    Outlet("demo-flaky-times", "Flaky Times", "", "rss", repeats=0.3, behaviour="failing"),
    Outlet("demo-last-post", "The Last Post", "", "rss", repeats=0.2, behaviour="gone"),
    Outlet("demo-brochure", "Brochureware", "", "rss", behaviour="not_a_feed"),
)
_PUBLISHING = tuple(each for each in OUTLETS if each.behaviour != "not_a_feed")


@dataclass(frozen=True, slots=True)
class Story:
    """`reports` are the outlets that carry it, first the one where it broke, with the delay of each."""

    number: int
    at: datetime
    product: Product
    tag: str
    headline: str
    summary: str
    reports: tuple[tuple[str, timedelta], ...]
    is_edited: bool

    @property
    def slug(self) -> str:
        words = re.sub(r"[^a-z0-9]+", "-", self.headline.lower()).strip("-")
        return f"{words[:60].rstrip('-')}-{self.number}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A story as one outlet has it at some moment."""

    story: Story
    outlet: Outlet
    published: datetime
    updated: datetime
    headline: str
    summary: str


@functools.lru_cache(maxsize=4096)
def story(number: int, seed: int = SEED) -> Story:
    """The story of that number, always the same."""
    chance = random.Random(f"{seed}:{number}")  # noqa: S311
    product = chance.choice(PRODUCTS)
    plot = chance.choice([each for each in _PLOTS if product.ticker or not each.for_listed_only])
    other = chance.choice([each for each in PRODUCTS if each.maker != product.maker])
    words = {
        "name": product.name,
        "maker": product.maker,
        "other": other.name,
        "version": f"{chance.randint(1, 9)}.{chance.randint(0, 30)}",
        "pct": chance.randint(4, 64),
        "n": chance.randint(6, 96),
    }
    at = _EPOCH + number * STORY_EVERY
    covering = [each for each in _PUBLISHING if each.covers(product)]
    first = chance.choice(covering)
    reports = [(first.id, timedelta())]
    for outlet in covering:
        if outlet is not first and chance.random() < outlet.repeats:
            reports.append((outlet.id, timedelta(seconds=chance.randint(20, 300))))
    return Story(
        number,
        at,
        product,
        plot.tag,
        plot.headline.format(**words),
        plot.summary.format(**words),
        tuple(reports),
        chance.random() < 0.12,
    )


def entries(outlet: Outlet, now: datetime, seed: int = SEED) -> list[Entry]:
    """The entries of the outlet at that moment, newest first."""
    newest = int((now - _EPOCH) / STORY_EVERY)
    found: list[Entry] = []
    for number in range(newest, newest - int(_LOOKED_BACK / STORY_EVERY), -1):
        entry = _entry(story(number, seed), outlet, now)
        if entry is not None:
            found.append(entry)
        if len(found) == SHOWN:
            break
    return sorted(found, key=lambda each: (each.published, each.story.number), reverse=True)


def entry_of(outlet: Outlet, number: int, now: datetime, seed: int = SEED) -> Entry | None:
    """The outlet's entry for that story at that moment, if there is one."""
    if number > (now - _EPOCH) / STORY_EVERY:
        return None
    return _entry(story(number, seed), outlet, now)


def _entry(story: Story, outlet: Outlet, now: datetime) -> Entry | None:
    place, delay = next(
        ((n, delay) for n, (outlet_id, delay) in enumerate(story.reports) if outlet_id == outlet.id), (0, None)
    )
    if delay is None or story.at + delay > now:
        return None
    published = story.at + delay
    told = RETOLD[place % len(RETOLD)].format(story.headline) if place and story.number % 2 else story.headline
    headline, summary, updated = told + outlet.ending, story.summary, published
    if story.is_edited and published + _EDITED_AFTER <= now:
        updated = published + _EDITED_AFTER
        summary = f"{story.summary} Update: {story.product.maker} has confirmed the report."
    return Entry(story, outlet, published, updated, headline, summary)


def is_failing(now: datetime) -> bool:
    """Whether the failing outlet fails at that moment: two minutes of every six."""
    return int(now.timestamp()) // 120 % 3 == 0


def outlet_of(outlet_id: str) -> Outlet | None:
    return next((each for each in OUTLETS if each.id == outlet_id), None)
