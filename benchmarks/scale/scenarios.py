"""How often each step happens in a scenario, and what that adds up to in a month. Pure.

The steps are measured. Everything else is an assumption: a field of Assumptions or of Scenario.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.scale import steps
from benchmarks.scale.steps import TOOLS_OF_BUDGETS as TOOLS
from benchmarks.scale.steps import Step
from services.feeds.claims import MAX_FEEDS, TICK_SECONDS
from services.figures.refresh import PLACE_SECONDS, PLACES, paced
from services.settings import Settings
from services.store.counting import FLUSHED_EVERY_SECONDS
from services.topology import CLEAN_UP, QUEUES, REFRESH_SENTIMENT_CACHE
from services.work.backlog import KEPT_SECONDS

SECONDS = 30 * 86_400
GB = 1e9
DASHBOARD_SECONDS = 30
"""The overview of an open dashboard asks so often (triggers/page/dashboard/lib/questions.js)."""
_RECOUNT = f"recount an hour of {steps.RECOUNTED[1][1]} mentions, after {steps.RECOUNTED[1][0]} hours"
REFRESH_SECONDS = REFRESH_SENTIMENT_CACHE.every.total_seconds()


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Prices are US dollars by list, for one region. See the pricing pages of your region."""

    million_units: float = 0.25
    """Cosmos DB serverless."""
    autoscale_100_units_hour: float = 0.012
    peak_second: float = 3.0
    """The busiest second of an hour over the hour's average, as benchmarks/flow.py measures it: autoscale bills it."""
    autoscale_least_maximum: float = 1_000
    """Of the database, and of a container with a maximum of its own."""
    stored_gb_month: float = 0.25
    million_executions: float = 0.40
    gb_second: float = 0.000026
    million_queue_transactions: float = 0.40
    logged_gb: float = 2.30
    alerts_month: float = 3 * 0.50 + 0.10
    """Log alerts every 15 minutes, and the metric alert on refused requests (infra/bicep/modules/alerts.bicep)."""
    leases_second: float = 0.75
    """Requests for leases of the hosts' locks in blob storage; they cost as much as those of queues."""
    web_test: float = 0.0005
    always_ready_gb_second: float = 0.000004
    backup_gb_month: float = 0.20
    request_log_gb: float = 1e-6
    free_executions: float = 250_000
    free_gb_seconds: float = 100_000

    polls_per_feed_hour: float = Settings().fetch_budget_per_feed_hour
    new_per_feed_day: float = 10.0
    joined_share: float = 0.25
    """The share of articles new to a feed that another feed had before."""
    mentions_per_article: float = 0.5
    hottest_tool_share: float = 0.05
    peak: float = 3.0
    """The busiest hour, as a multiple of the average."""
    read_from_memory: float = 0.2
    read_computed: float = 0.002
    index_share: float = 0.3
    """The size of the index, as a share of the stored documents."""
    log_envelope_bytes: float = 800.0
    """Bytes around the text of a log line, as a sink received them around a span."""
    execution_bytes: float = 1_200.0
    """The record that the host makes of each execution: an envelope, the name, URL and outcome."""
    span_bytes: float = 980.0
    """Of each request to the store, fetch and execution in a sampled trace, as a sink received them."""
    sampled: float = Settings().telemetry_sample_ratio
    metric_bytes_hour: float = 12 * 20 * 552
    """Of one worker: points of 552 bytes every 300 s. A sink received 16 (quiet) to 28 (busy), and 18 of clean_up."""

    message_seconds: float = 2.0
    """How long the slowest feed of a message takes. Azure bills it for the instance, however much else runs there."""
    claims_per_second: float = 500.0
    articles_per_instance_second: float = 50.0
    grouped_per_instance_second: float = 100.0
    tools_per_instance_second: float = 50.0
    reads_per_instance_second: float = 200.0
    shortest_execution: float = 1.0
    instance_gb: float = 0.5
    """The smallest instance of Flex Consumption."""
    queue_polling_seconds: float = 5.0
    """The maxPollingInterval of host.json."""
    polls_after_message: float = 4.0
    """Those that the host adds after each message, until it waits so long again."""
    dashboard_hours_day: float = 2.0
    """How long the overview is open and visible; it asks every DASHBOARD_SECONDS."""
    refreshed_after_seconds: float = 2.0
    """How long a tool with new mentions waits for its refresh: mentions of this time are counted together."""


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    feeds: int
    tools: int
    reads_per_second: float


SCENARIOS = (
    Scenario("50 feeds, 20 tools", 50, 20, 0.1),
    Scenario("1,000 feeds, 200 tools", 1_000, 200, 1),
    Scenario("10,000 feeds, 2,000 tools", 10_000, 2_000, 10),
    Scenario("100,000 feeds, 10,000 tools", 100_000, 10_000, 100),
)


@dataclass(slots=True)
class Load:
    """Per second on average, unless its name says otherwise."""

    units_of: dict[str, float] = field(default_factory=dict)
    units_at: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    bytes_stored: dict[str, float] = field(default_factory=dict)
    messages: float = 0.0
    executions: float = 0.0
    busy_instances: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    log_bytes: float = 0.0
    requests: float = 0.0
    polls: float = 0.0
    hot_mentions: float = 0.0
    refresh_units: float = 0.0
    """Of one refresh of all tools, which takes a minute."""
    batch_units: float = 0.0
    """Of one batch of a refresh, most of which falls in one second."""

    @property
    def units(self) -> float:
        return sum(self.units_of.values())


class Model:
    def __init__(self, measured: Mapping[str, Step], assumed: Assumptions) -> None:
        self.measured = {**measured, **steps.budgeted()}
        self.assumed = assumed

    def load(self, scenario: Scenario) -> Load:
        load, a = Load(), self.assumed
        load.polls = scenario.feeds * a.polls_per_feed_hour / 3600
        news = scenario.feeds * a.new_per_feed_day / 86_400
        joined = news * a.joined_share
        articles = news - joined
        mentions = articles * a.mentions_per_article
        load.hot_mentions = mentions * a.hottest_tool_share
        self._ingest(load, articles, joined)
        self._analyse(load, scenario, articles, mentions)
        self._refresh(load, scenario, mentions)
        self._read(load, scenario)
        self._keep(load, articles, joined, mentions, scenario)
        return load

    def _add(self, load: Load, what: str, step: Step, rate: float, less: Step | None = None) -> None:
        """Adds the step, less the step `less`, `rate` times a second."""
        load.units_of[what] = load.units_of.get(what, 0.0) + rate * (step.units - (less.units if less else 0.0))
        for name, units in step.units_at.items():
            load.units_at[name] += rate * (units - (less.units_at.get(name, 0.0) if less else 0.0))
        lines = step.log_lines - (less.log_lines if less else 0.0)
        text = step.log_bytes - (less.log_bytes if less else 0.0)
        requests = step.requests - (less.requests if less else 0.0)
        load.requests += rate * requests
        load.log_bytes += rate * (text + lines * self.assumed.log_envelope_bytes + requests * self._span_bytes)

    @property
    def _span_bytes(self) -> float:
        return self.assumed.span_bytes * self.assumed.sampled

    def _run(self, load: Load, name: str, rate: float, seconds: float, shortest: float | None = None) -> None:
        """Adds executions of a function. Each keeps an instance busy for `seconds`, if executions share the instance.

        Each is billed for at least `shortest` seconds, but an instance once for a time in which several run: executions
        begin at random.
        """
        load.executions += rate
        billed = self.assumed.shortest_execution if shortest is None else shortest
        load.busy_instances[name] += max(rate * seconds, 1 - math.exp(-rate * billed))
        load.log_bytes += rate * (self.assumed.execution_bytes + self._span_bytes)

    def _ingest(self, load: Load, articles: float, joined: float) -> None:
        a, m = self.assumed, self.measured
        poll = m["poll a feed: 304"]
        self._add(load, "claiming", m["tick: claim a feed that is due"], load.polls)
        self._add(load, "claiming", m["a tick, nothing is due"], 1 / TICK_SECONDS)
        self._add(load, "polling", poll, load.polls)
        self._add(load, "new articles", m[f"poll a feed: {steps.NEW} new articles"], articles / steps.NEW, poll)
        self._add(load, "new articles", m["poll a feed: an article that another feed had"], joined, poll)
        batches = load.polls / min(MAX_FEEDS, max(1.0, load.polls * TICK_SECONDS))
        load.messages += batches
        self._run(load, "ingest_due_feeds", 1 / TICK_SECONDS, load.polls * TICK_SECONDS / a.claims_per_second)
        load.log_bytes += load.polls * self._span_bytes
        at_once = Settings().max_concurrent_requests / MAX_FEEDS
        self._run(load, "ingest_feeds", batches, a.message_seconds / at_once, a.message_seconds)
        flushes = min(batches, math.ceil(load.busy_instances["ingest_feeds"]) / FLUSHED_EVERY_SECONDS)
        self._add(load, "counters", m["add what was counted"], flushes / 2)  # one document, of the two of reads

    def _analyse(self, load: Load, scenario: Scenario, articles: float, mentions: float) -> None:
        a, m = self.assumed, self.measured
        none, one, three = (m[f"analyse an article that names {n} tools"] for n in (0, 1, 3))
        self._add(load, "analysis", none, articles)
        naming = min(1.0, a.mentions_per_article)
        self._add(load, "analysis", one, articles * naming, none)
        self._add(load, "analysis", three, (mentions - articles * naming) / 2, one)
        messages = min(articles, load.messages)
        load.messages += messages
        self._run(load, "analyze_articles", messages, articles / messages / a.articles_per_instance_second)
        instances = math.ceil(articles / a.articles_per_instance_second)
        self._add(load, "analysis", m["read all tools again: each tool"], scenario.tools * instances / 60)
        self._group(load, articles)

    def _group(self, load: Load, articles: float) -> None:
        settings = Settings()
        self._add(load, "grouping", self.measured[steps.GROUP], articles)
        latest = articles / settings.grouping_threshold_articles
        messages = min(articles, max(latest, 1 / (60 * settings.grouping_interval_minutes)))
        load.messages += 2 * messages
        seconds = articles / messages / self.assumed.grouped_per_instance_second
        self._run(load, "group_headlines", messages, seconds)
        self._run(load, "generate_ideas", messages, seconds)

    def _refresh(self, load: Load, scenario: Scenario, mentions: float) -> None:
        a, m = self.assumed, self.measured
        before = load.units
        batch = m[f"refresh of all: the batches of {steps.TOOLS} tools, nothing new"]
        batches = len([*paced(f"tool-{number}" for number in range(scenario.tools))])
        each = 1 / REFRESH_SECONDS
        self._add(load, "refresh", m["refresh of all: begin, each tool"], scenario.tools * each)
        self._add(load, "refresh", batch, scenario.tools / steps.TOOLS * each)
        self._add(load, "refresh", m[steps.GATHERED], scenario.tools * 23 / 24 / 3600)
        self._add(load, "refresh", m[steps.OF_NEW_DAY], scenario.tools / 24 / 3600)
        load.refresh_units = (load.units - before) * REFRESH_SECONDS
        load.batch_units = batch.units * scenario.tools / batches / steps.TOOLS
        waiting = mentions * a.refreshed_after_seconds / scenario.tools
        refreshes = scenario.tools * (1 - math.exp(-waiting)) / a.refreshed_after_seconds
        self._add(load, "recounts", m[steps.ANNOUNCED], refreshes)
        more = refreshes * (self.recount(mentions * 3600 / scenario.tools) - m[_RECOUNT].units)
        load.units_of["recounts"] += more
        load.units_at["mentions"] += more
        load.messages += refreshes
        self._run(load, "refresh_tools", refreshes, 1 / a.tools_per_instance_second)
        load.messages += batches * each
        self._run(load, "refresh_tools", batches * each, scenario.tools / batches / a.tools_per_instance_second)

    def recount(self, mentions: float) -> float:
        """Request units of recounting an hour with so many mentions, in a full timeline."""
        (hours, few), (_, many) = steps.RECOUNTED[1:]
        least, most = self.measured[_RECOUNT], self.measured[f"recount an hour of {many} mentions, after {hours} hours"]
        return least.units + (most.units - least.units) / (many - few) * max(0.0, mentions - few)

    def _read(self, load: Load, scenario: Scenario) -> None:
        a, m, rate = self.assumed, self.measured, scenario.reads_per_second
        stored = rate * (1 - a.read_from_memory - a.read_computed)
        instances = max(1, math.ceil(rate * a.peak / a.reads_per_instance_second))
        first, next_one = m["GET sentiment, a hit in the store"], m["GET sentiment, the next hit in the store"]
        self._add(load, "reads", next_one, stored)
        self._add(load, "reads", first, min(stored, instances / KEPT_SECONDS), next_one)
        self._add(load, "reads", m["GET sentiment, a miss"], rate * a.read_computed)
        views = a.dashboard_hours_day / 24 / DASHBOARD_SECONDS
        self._add(load, "dashboard", m[steps.OVERVIEW], views * scenario.tools / TOOLS)
        self._run(load, "http", rate + views, 1 / a.reads_per_instance_second)
        self._add(load, "counters", m["add what was counted"], instances * min(rate, 1 / FLUSHED_EVERY_SECONDS))
        self._add(load, "clean_up", m["clean_up, nothing is overdue"], 1 / CLEAN_UP.every.total_seconds())
        self._run(load, "clean_up", 1 / CLEAN_UP.every.total_seconds(), 1)

    def _keep(self, load: Load, articles: float, joined: float, mentions: float, scenario: Scenario) -> None:
        """What is stored, once as much expires as is written."""
        m, day = self.measured, 86_400
        new, again = m[f"poll a feed: {steps.NEW} new articles"], m["poll a feed: an article that another feed had"]
        poll, three = m["poll a feed: 304"], m["analyse an article that names 3 tools"]
        hour = m[_RECOUNT]
        grown = articles * new.stored["articles"] / steps.NEW + joined * again.stored["articles"]
        located = articles * new.stored["locators"] / steps.NEW + joined * again.stored["locators"]
        grouped = m[steps.GROUP].stored
        load.bytes_stored = {
            "stories": articles * grouped["stories"] * 30 * day,
            "articles": grown * 30 * day,
            "locators": (located + articles * grouped["locators"]) * 30 * day,
            "mentions": mentions * three.stored["mentions"] / 3 * 45 * day,
            "runs": load.polls * poll.stored["runs"] * 14 * day,
            "catalog": scenario.tools * hour.bytes_written,
            "feeds": scenario.feeds * (m["tick: claim a feed that is due"].bytes_written + 8 * 4 * steps.ENTRIES),
        }


@dataclass(frozen=True, slots=True)
class Month:
    """What a scenario needs in a month. Dollars are by list price."""

    units_average: float
    units_peak: float
    hottest_container: str
    hottest_container_units: float
    instances: float
    executions: float
    requests: float
    gb_seconds: float
    stored_gb: float
    queue_transactions: float
    logged_gb: float
    serverless: float
    autoscale: float
    functions: float
    storage: float
    monitoring: float

    @classmethod
    def of(cls, model: Model, scenario: Scenario) -> Month:
        a, load = model.assumed, model.load(scenario)
        steady = load.units - load.units_of["refresh"]
        containers = {name: units for name, units in load.units_at.items() if "/" not in name}
        hottest = max(containers, key=containers.__getitem__)
        stored = sum(load.bytes_stored.values()) * (1 + a.index_share) / GB
        executions = load.executions * SECONDS
        instances = sum(load.busy_instances.values())
        gb_seconds = instances * a.instance_gb * SECONDS
        # Each message is sent, received and deleted; an idle queue is polled all the time.
        polls = len(QUEUES) / a.queue_polling_seconds + load.messages * a.polls_after_message
        transactions = (3 * load.messages + polls + a.leases_second) * SECONDS
        # Each function scales on its own, and is called often enough to keep a worker alive.
        workers = sum(map(math.ceil, load.busy_instances.values()))
        logged = (load.log_bytes + workers * a.metric_bytes_hour / 3600) * SECONDS / GB
        paid = max(0.0, executions - a.free_executions) / 1e6 * a.million_executions
        paid += max(0.0, gb_seconds - a.free_gb_seconds) * a.gb_second
        storage = transactions / 1e6 * a.million_queue_transactions
        return cls(
            units_average=load.units,
            units_peak=steady * a.peak * a.peak_second + load.refresh_units / (PLACES * PLACE_SECONDS),
            hottest_container=hottest,
            hottest_container_units=containers[hottest],
            instances=instances,
            executions=executions,
            requests=load.requests * SECONDS,
            gb_seconds=gb_seconds,
            stored_gb=stored,
            queue_transactions=transactions,
            logged_gb=logged,
            serverless=load.units * SECONDS / 1e6 * a.million_units,
            autoscale=_autoscale(a, load, model.measured[steps.OVERVIEW].units * scenario.tools / TOOLS),
            functions=paid,
            storage=storage + stored * a.stored_gb_month,
            monitoring=a.alerts_month + logged * a.logged_gb,
        )


def _autoscale(assumed: Assumptions, load: Load, view: float) -> float:
    """The price of a month of autoscale, which bills the busiest second of each hour: that of a batch of a refresh, or
    of a view of the dashboard, if there is one."""
    units = load.units
    maximum = max(units * assumed.peak * assumed.peak_second, assumed.autoscale_least_maximum)
    usual = max(maximum / 10, units * assumed.peak_second, units + load.batch_units)
    viewed = assumed.dashboard_hours_day / 24
    billed = viewed * min(maximum, max(usual, units + view)) + (1 - viewed) * usual
    return billed / 100 * assumed.autoscale_100_units_hour * SECONDS / 3600
