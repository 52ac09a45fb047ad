"""How well and how fast articles are understood, and how well near-duplicates and stories are recognised. It prints.

    python3 -m benchmarks.answers [DATA] [--unseen FOLDER] [--verbose]

What is said about each tool is judged on the third of our labelled headlines that no training has seen, beside VADER
and beside the judgement of the whole text, in the same run. DATA has the sets of others: SEntFiN's headlines are judged
in cross-validation, the general sets each by a table that was trained without it. `--unseen` judges the general sets of
another folder with the shipped table.

Near-duplicates and stories are measured on articles that were written for it, on made news, and on headlines in DATA; a
simple rule is measured on the same articles. benchmarks/size.py measures the cost of grouping.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.quality import general, languages, names, near_duplicates, per_tool, stories
from scripts.sentiment.corpus import DATA


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="?", type=Path, default=DATA)
    parser.add_argument("--unseen", type=Path)
    parser.add_argument("--verbose", action="store_true", help="list the pairs that are judged wrongly")
    arguments = parser.parse_args()
    per_tool.show()
    print()
    names.report()
    print()
    languages.report()
    near_duplicates.show(arguments.data, verbose=arguments.verbose)
    stories.show(arguments.data)
    if arguments.data.exists():
        per_tool.show_cross_validation(arguments.data)
        general.show(arguments.data, arguments.unseen)
    else:
        print(f"\n{arguments.data} is not there: the sets of others are left out")


if __name__ == "__main__":
    main()
