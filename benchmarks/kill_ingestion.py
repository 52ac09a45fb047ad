"""kill -9 at random moments of an ingestion of 200 feeds, restarted until it is through; then everything is counted.

`python -m benchmarks.kill_ingestion [--feeds 200] [--entries 60] [--kills 20] [--seed N]`. Exits 1 if anything is
missing, doubled or counted wrong. The test suite does the same with fewer feeds.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.functional.articles.killing import Plan, kill_until_done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feeds", type=int, default=200)
    parser.add_argument("--entries", type=int, default=60)
    parser.add_argument("--shared", type=int, default=10)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest-life", type=float, default=2.0, help="seconds until a kill")
    plan = Plan(**vars(parser.parse_args()))
    with tempfile.TemporaryDirectory() as folder:
        outcome = asyncio.run(kill_until_done(Path(folder) / "data", plan))
    print(outcome)
    right = outcome.is_right_for(plan)
    print("right" if right else f"WRONG: expected {plan}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
