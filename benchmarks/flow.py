"""The whole app under pressure: several workers on a Cosmos DB server that refuses what exceeds a limit.

    python benchmarks/flow.py [--feeds 1000] [--entries 3] [--limit 1000] [--workers 4]

A first import of all feeds, which have one story in common; then a tick with as many feeds due as are in a steady
state. Needs the server of tests/cosmos_server. Prints what each part took and cost, by the wire. Fails if an article is
not stored once, analysed and counted in the figures, if an invocation times out, or if a message is poisoned.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.scale.scenarios import Assumptions
from services.feeds.claims import TICK_SECONDS
from tests.contract import cosmos_server
from tests.functional.flow.scenario import Report, Scenario, playing

NEW_EVERY = 20
"""Of so many polls, about one finds a new article."""


async def play(options: argparse.Namespace) -> None:
    with cosmos_server.running() as server, tempfile.TemporaryDirectory() as folder:
        async with playing(
            server, Path(folder), "flow", workers=options.workers, function_timeout=options.timeout
        ) as scenario:
            await scenario.add(options.feeds, options.entries, story="Widget1x was bought by its greatest competitor")
            scenario.proxy.limit = options.limit
            imported = await scenario.import_all(options.most_seconds)
            scenario.proxy.limit = None
            show("first import", imported)
            require_no_timeout(imported)
            await show_complete(scenario, options.feeds * options.entries + 1)
            due = round(options.feeds * Assumptions().polls_per_feed_hour * TICK_SECONDS / 3600)
            steady = await scenario.steady(400, NEW_EVERY, due)
            show(f"steady state, {due} feeds due", steady)
            require_no_timeout(steady)
            print(f"busiest second: {steady.peak(TICK_SECONDS):.1f} times the average of the tick")


def show(what: str, report: Report) -> None:
    spent, invocations = report.spent, report.invocations
    refused, requests = sum(spent.refused.values()), sum(spent.requests.values())
    print(f"{what}: {report.seconds:.0f} s, {spent.total:,.0f} RU, {requests:,} requests, {refused:,} refused")
    print(f"  invocations: {dict(invocations.done)}, timed out: {dict(invocations.timed_out)}")
    print(f"  delivered again: {dict(invocations.failed)}")
    print(f"  longest, in seconds: { {name: round(seconds, 1) for name, seconds in invocations.longest.items()} }")
    print(f"  everything was done: {report.is_idle}")


async def show_complete(scenario: Scenario, articles: int) -> None:
    stored, analysed = await scenario.articles(), await scenario.articles("analyzed")
    counted = await scenario.figures()
    print(f"  articles stored, analysed and in the figures: {stored:,}, {analysed:,}, {counted:,} of {articles:,}")
    assert stored == analysed == counted == articles
    assert not scenario.app.queues.poison


def require_no_timeout(report: Report) -> None:
    assert not any(report.invocations.timed_out.values()), report.invocations.timed_out


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--feeds", type=int, default=1000)
    parser.add_argument("--entries", type=int, default=3, help="of each feed, besides the story")
    parser.add_argument("--limit", type=float, default=1000.0, help="RU/s of each container")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--timeout", type=float, default=60.0, help="the function timeout in seconds")
    parser.add_argument("--most-seconds", type=float, default=1800.0, help="of the import")
    asyncio.run(play(parser.parse_args()))


if __name__ == "__main__":
    main()
