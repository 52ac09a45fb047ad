"""How well and how fast articles are understood, from data that the project may hold. Not a test: it prints.

    python3 -m benchmarks.answers [DATA] [--unseen FOLDER]

What is said about each tool is judged on the third of our labelled headlines that no training has seen, beside VADER
and beside the judgement of the whole text, in the same run. DATA has the sets of others: SEntFiN's headlines are judged
in cross-validation, the general sets each by a table that was trained without it. `--unseen` judges the general sets of
another folder with the shipped table.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.quality import general, languages, names, per_tool
from scripts.sentiment.corpus import DATA


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="?", type=Path, default=DATA)
    parser.add_argument("--unseen", type=Path)
    arguments = parser.parse_args()
    per_tool.show()
    print()
    names.report()
    print()
    languages.report()
    if arguments.data.exists():
        per_tool.show_cross_validation(arguments.data)
        general.show(arguments.data, arguments.unseen)
    else:
        print(f"\n{arguments.data} is not there: the sets of others are left out")


if __name__ == "__main__":
    main()
