"""How well near-duplicates and stories are recognised, and what that costs. Not a test: it prints.

    python3 -m benchmarks.stories [DATA] [--verbose] [--stored 10000 1000000] [--only quality|cost]

Quality is measured on articles that were written for it, on made news, and on headlines that lie beside the project
(DATA); a simple rule is measured on the same articles. Cost is the grouping of new articles beside few and beside many
stored ones: a million take about ten minutes to write, and 6 GB of disk.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.quality import near_duplicates, stories, stories_cost
from scripts.sentiment.corpus import DATA


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="?", type=Path, default=DATA)
    parser.add_argument("--only", choices=("quality", "cost"))
    parser.add_argument("--stored", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--verbose", action="store_true", help="list the pairs that are judged wrongly")
    arguments = parser.parse_args()
    if arguments.only != "cost":
        near_duplicates.show(arguments.data, verbose=arguments.verbose)
        stories.show(arguments.data)
        if not arguments.data.exists():
            print(f"\n{arguments.data} is not there: real headlines are left out")
    if arguments.only != "quality":
        stories_cost.show(arguments.stored)


if __name__ == "__main__":
    main()
