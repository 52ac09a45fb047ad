"""What the design costs on Azure, from fifty feeds to a hundred thousand, by measured operations of each step.

    python benchmarks/scale_model.py [--write] [--set NAME=VALUE ...]

Runs the real services on SQLite and counts their operations, converts operations into request units by Microsoft's
published rules (benchmarks/scale/charges.py), and multiplies by scenarios. This is a model: the metrics of an account
have the real figures. `--set` changes an assumption: a price, a rate, a share. `--write` records the measurements and
writes the tables into docs/scaling.md.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.scale import report
from benchmarks.scale.scenarios import Assumptions
from benchmarks.scale.steps import measured


def assumptions(changes: list[str]) -> Assumptions:
    """Raises ValueError for an unknown assumption, or a value that is no number."""
    known = {field.name for field in dataclasses.fields(Assumptions)}
    given = dict(change.partition("=")[::2] for change in changes)
    if unknown := given.keys() - known:
        raise ValueError(f"{', '.join(sorted(unknown))}: there are {', '.join(sorted(known))}")
    return Assumptions(**{name: float(value) for name, value in given.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--write", action="store_true", help="record the measurements, and write the tables into docs/scaling.md"
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an assumption; repeatable")
    chosen = parser.parse_args()
    try:
        assumed = assumptions(chosen.set)
    except ValueError as error:
        parser.error(str(error))
    if chosen.write and chosen.set:
        parser.error("--write and --set exclude each other: docs/scaling.md has the default assumptions")
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measured(Path(folder)))
    tables = report.tables(found, assumed)
    if chosen.write:
        report.record(found)
        report.DOCUMENT.write_text(report.written(report.DOCUMENT.read_text(), tables))
    print("\n".join(tables.values()))


if __name__ == "__main__":
    main()
