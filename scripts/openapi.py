"""Writes the contract of the API, as `GET /api/openapi.json` serves it: to a file, or to stdout. With `--commands`,
what the command line needs of it, to toolpulse/contract.json."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = ROOT / "toolpulse" / "contract.json"


def document() -> dict[str, Any]:
    sys.path.insert(0, str(ROOT))
    import function_app  # noqa: F401 - its modules declare the endpoints
    from triggers.contract import contract, of_app

    return contract(of_app(), reads_are_open=False)


def of_commands() -> dict[str, Any]:
    """What toolpulse/declare.py reads: paths, parameters and fields, with their texts and the values allowed."""
    whole = document()
    endpoints, bodies = {}, {}
    for path, methods in whole["paths"].items():
        for method, operation in methods.items():
            parameters = operation.get("parameters", [])
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            name = None if body is None else body["$ref"].rpartition("/")[2]
            endpoints[operation["operationId"]] = {
                "method": method.upper(),
                "path": path.removeprefix("/api/v1").removeprefix("/"),
                "about": " ".join(filter(None, (f"{operation['summary']}.", operation.get("description")))),
                "parts": {each["name"]: each["description"] for each in parameters if each["in"] == "path"},
                "query": {each["name"]: _said(each, each["schema"]) for each in parameters if each["in"] == "query"},
                "body": name,
            }
            if name is not None:
                schema = whole["components"]["schemas"][name]
                bodies[name] = {
                    field: {
                        **_said(each, next(iter(each.get("anyOf", [each])))),
                        "required": field in schema.get("required", ()),
                    }
                    for field, each in schema["properties"].items()
                    if not each.get("readOnly")
                }
    return {"endpoints": endpoints, "bodies": bodies}


def _said(described: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    kind = "time" if schema.get("format") == "date-time" else schema.get("type", "object")
    return {
        "about": described.get("description", ""),
        "type": kind,
        **({"enum": [str(each) for each in schema["enum"]]} if "enum" in schema else {}),
    }


def text(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip())
    parser.add_argument("file", nargs="?", type=Path, help="where to write it; stdout if absent")
    parser.add_argument("--commands", action="store_true", help="write toolpulse/contract.json")
    given = parser.parse_args(argv)
    path = COMMANDS if given.commands else given.file
    written = text(of_commands() if given.commands else document())
    if path is None:
        sys.stdout.write(written)
    else:
        path.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
