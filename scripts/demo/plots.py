"""What the demo's usual stories say: headlines with a lead, and sentences that follow it, good news and bad."""

from __future__ import annotations

import random
from dataclasses import dataclass

from scripts.demo.cast import PRODUCTS, Product


@dataclass(frozen=True, slots=True)
class Plot:
    """A kind of story. `mood` is 1 for good news, -1 for bad, 0 for neither."""

    tag: str
    mood: int
    headline: str
    lead: str
    for_listed_only: bool = False


PLOTS = (
    Plot("release", 1, "{name} {version} ships with {pct}% faster cold starts",
         "{maker} calls {name} {version} its most stable release yet, and early users agree."),
    Plot("release", 1, "{name} {version} lands with a rewritten {part}",
         "The new {part} of {name} halves tail latency in tests of {n} teams."),
    Plot("release", 0, "{name} {version} is out: what changes in the {part}",
         "{name} {version} renames {n} options of the {part} and moves two of them."),
    Plot("release", -1, "{name} {version} breaks the {part} of existing projects",
         "A renamed flag in {name} {version} breaks builds, and the migration guide is thin."),
    Plot("outage", -1, "{name} suffers {n}-minute outage after a faulty rollout of the {part}",
         "Customers of {name} lost writes and are angry about a silent status page."),
    Plot("outage", -1, "Expired certificate takes {name} down in {place}",
         "{name} failed for {n} minutes because nobody had renewed a certificate of its {part}."),
    Plot("security", -1, "Critical flaw in {name} {version} exposes data of other tenants",
         "Attackers abuse the {part} of {name}. Researchers found {n} exposed machines."),
    Plot("security", 1, "{name} passes independent audit of its {part}",
         "Auditors commend the careful design of {name} and report {n} minor findings, all fixed."),
    Plot("benchmark", 1, "{name} beats {other} by {pct}% in reproducible benchmark",
         "{name} was faster on three clouds, and the scripts are public."),
    Plot("benchmark", -1, "Benchmark finds {name} {pct}% slower than {other} under load",
         "The gap grows with concurrency; the regression in {name} has been open for {n} weeks."),
    Plot("pricing", -1, "{name} raises prices by {pct}% and users are not happy",
         "Teams on the smallest plan of {name} are hit hardest; several say that they will leave."),
    Plot("pricing", 1, "{name} makes its team plan free for up to {n} seats",
         "A generous step, say small teams that love {name}. Support stays with the paid plans."),
    Plot("community", 1, "{n} maintainers join {name} after its summit in {place}",
         "The community of {name} welcomes them: reviews are quick and newcomers feel at home."),
    Plot("community", -1, "Lead maintainer of the {part} leaves {name} in frustration",
         "The maintainer blames {maker} for ignored reviews and {n} broken promises."),
    Plot("community", 1, "How a team in {place} moved from {other} to {name} in a month",
         "The team is delighted: {name} cut its build times by {pct}%, with two bad days."),
    Plot("community", 0, "{name} schedules its {part} workshop in {place}",
         "The workshop on {name} has {n} seats. The programme follows next week."),
    Plot("deprecation", -1, "{name} drops support for {version} and earlier in {n} days",
         "Users of old releases of {name} are given little time and complain loudly."),
    Plot("documentation", 1, "{name} wins praise for a new guide to its {part}",
         "Readers call the guide of {name} clear, friendly and complete."),
    Plot("documentation", -1, "Users lost as {name} removes the manual of its {part}",
         "Pages of {name} vanished without notice; {n} links in the forum are dead."),
    Plot("integration", 0, "{name} adds a connector for the {part} of {other}",
         "The connector is in beta for {n} customers of {maker}."),
    Plot("earnings", 1, "{maker} beats revenue estimates by {pct}% on strong {name} growth",
         "Shares of {maker} rise after an excellent quarter for {name}.", True),
    Plot("earnings", -1, "{maker} misses estimates as {name} growth slows to {pct}%",
         "Shares of {maker} fall; management blames weak renewals of {name}.", True),
    Plot("hiring", 0, "{maker} opens an office for {name} in {place}",
         "{n} engineers will work on the {part} of {name} there."),
)  # fmt: skip

_PARTS = (
    *("scheduler", "query planner", "command line", "editor plugin", "web console", "plugin system", "package cache"),
    *("access control", "event log", "backup service", "mobile client", "import wizard", "test runner", "type checker"),
    *("gateway", "dashboard", "billing page", "replication layer", "installer", "search index"),
)
_PLACES = (
    *("Valmere", "Ostenbridge", "Port Calder", "Lindhaven", "Marrowick", "Eastfold", "Tessaly Bay", "Corran Vale"),
    *("North Alder", "Grauburg", "Sankt Ellin", "Villa Ondara"),
)
_FOLLOWING = {
    1: (
        "One engineer calls it the best week of the year.",
        "Support answered within minutes, says a customer in {place}.",
        "The upgrade was smooth for all {n} services, reports a reader.",
        "Reviewers are impressed by the attention to the {part}.",
        "It simply works, writes a consultant who runs it for {n} clients.",
    ),
    0: (
        "The notes list {n} changes in all.",
        "A recording will be published in {place}.",
        "The date was moved once before.",
        "The {part} is not affected.",
        "More is expected within {n} days.",
    ),
    -1: (
        "One customer in {place} calls it unacceptable.",
        "The support desk took {n} hours to answer, users complain.",
        "The workaround fails for anybody who uses the {part}.",
        "It is a mess, writes a consultant who is stuck with it.",
        "Nobody at the company would say when it will be fixed.",
    ),
}


@dataclass(frozen=True, slots=True)
class Told:
    tag: str
    headline: str
    summary: str


def told(chance: random.Random, product: Product, is_good: float) -> Told:
    """A story about the product; `is_good` is the probability of good news."""
    possible = [each for each in PLOTS if product.ticker or not each.for_listed_only]
    draw = chance.random()
    mood = 0 if draw < 0.12 else 1 if chance.random() < is_good else -1
    plot = chance.choice([each for each in possible if each.mood == mood])
    other = chance.choice([each for each in PRODUCTS if each.maker != product.maker])
    words = {
        "name": product.name,
        "maker": product.maker,
        "other": other.name,
        "version": f"{chance.randint(1, 9)}.{chance.randint(0, 30)}",
        "pct": chance.randint(4, 64),
        "n": chance.randint(6, 96),
        "part": chance.choice(_PARTS),
        "place": chance.choice(_PLACES),
    }
    sentences = (plot.lead, *chance.sample(_FOLLOWING[mood], 2))
    return Told(plot.tag, plot.headline.format(**words), " ".join(sentences).format(**words))
