"""How well near-duplicates and stories are recognised. Not a test: it prints.

    python3 -m benchmarks.stories [DATA] [--verbose]

Measured on articles that were written for it, on made news, and on headlines that lie beside the project (DATA); a
simple rule is measured on the same articles. benchmarks/size.py measures the cost of grouping.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.quality import near_duplicates, stories
from scripts.sentiment.corpus import DATA


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="?", type=Path, default=DATA)
    parser.add_argument("--verbose", action="store_true", help="list the pairs that are judged wrongly")
    arguments = parser.parse_args()
    near_duplicates.show(arguments.data, verbose=arguments.verbose)
    stories.show(arguments.data)
    if not arguments.data.exists():
        print(f"\n{arguments.data} is not there: real headlines are left out")


if __name__ == "__main__":
    main()
