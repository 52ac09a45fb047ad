"""kill -9 at random moments of an ingestion of many feeds, restarted until it is through; then everything is counted.

`python -m benchmarks.kill_ingestion [--feeds 200] [--entries 60] [--kills 20] [--seed N]` kills processes that only
ingest, and compares the stored documents with the plan.
`python -m benchmarks.kill_ingestion --hosts N [--feeds 50] [--entries 100] [--rounds 5] [--store cosmos]` kills whole
hosts, N of them on one store (`cosmos`: npm's Cosmos-compatible server), and measures the time from the last restart
until all figures are complete: 15 s at most.

Exits 1 if anything is missing, doubled or counted wrong. The test suite does the same with fewer feeds.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.contract import cosmos_server
from tests.functional.app import recovery
from tests.functional.articles.killing import Plan, kill_until_done

PATIENCE_SECONDS = 180


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=0, help="kill whole hosts: so many on one store")
    parser.add_argument("--store", choices=("sqlite", "cosmos"), default="sqlite", help="with --hosts: npm's server")
    parser.add_argument("--rounds", type=int, default=5, help="with --hosts: how often, each with another seed")
    parser.add_argument("--feeds", type=int)
    parser.add_argument("--entries", type=int)
    parser.add_argument("--shared", type=int, default=10, help="without --hosts: entries that the next feed has too")
    parser.add_argument("--kills", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest-life", type=float, help="seconds until a kill")
    given = parser.parse_args()
    return _hosts(given) if given.hosts else _ingestion(given)


def _ingestion(given: argparse.Namespace) -> int:
    plan = Plan(
        feeds=given.feeds or 200,
        entries=given.entries or 60,
        shared=given.shared,
        kills=given.kills or 20,
        seed=given.seed,
        longest_life=given.longest_life or 2.0,
    )
    with tempfile.TemporaryDirectory() as folder:
        outcome = asyncio.run(kill_until_done(Path(folder) / "data", plan))
    print(outcome)
    right = outcome.is_right_for(plan)
    print("right" if right else f"WRONG: expected {plan}")
    return 0 if right else 1


@contextmanager
def _store(name: str) -> Iterator[dict[str, str]]:
    """The settings of the store."""
    if name == "sqlite":
        yield {}
        return
    with cosmos_server.running() as server:
        yield {
            "STORE": "cosmos",
            "COSMOS_ENDPOINT": server.endpoint,
            "COSMOS_KEY": server.key,
            "COSMOS_DATABASE": f"kills-{uuid.uuid4().hex[:8]}",
        }


def _hosts(given: argparse.Namespace) -> int:
    plan = recovery.Plan(
        feeds=given.feeds or 50,
        entries=given.entries or 100,
        kills=given.kills or 3,
        seed=given.seed,
        hosts=given.hosts,
        longest_life=given.longest_life or 6.0,
    )
    wrong = 0
    print(f"{plan.feeds * plan.entries} articles of {plan.feeds} feeds, {plan.hosts} hosts, {plan.kills} kills a round")
    for number in range(given.rounds):
        planned = replace(plan, seed=plan.seed + number)
        with tempfile.TemporaryDirectory() as folder, _store(given.store) as settings:
            found = asyncio.run(recovery.recover(Path(folder), planned, PATIENCE_SECONDS, settings))
        right = found.is_right_for(planned)
        wrong += not right
        lives = ", ".join(f"{life:.1f}" for life in found.lives)
        print(
            f"killed after {lives} s; complete {found.restarted:.1f} s after the restart, with {found.cpu:.1f} s of "
            f"processor time{'' if right else f': WRONG, {found}'}",
            flush=True,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
