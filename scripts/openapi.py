"""Writes the contract of the API, as `GET /api/openapi.json` serves it: to a file, or to stdout."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def text() -> str:
    sys.path.insert(0, str(ROOT))
    import function_app  # noqa: F401 - its modules declare the endpoints
    from triggers.contract import contract
    from triggers.declared import of_app

    return json.dumps(contract(of_app(), reads_are_open=False), ensure_ascii=False, indent=2) + "\n"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip())
    parser.add_argument("file", nargs="?", type=Path, help="where to write it; stdout if absent")
    path = parser.parse_args(argv).file
    if path is None:
        sys.stdout.write(text())
    else:
        path.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
