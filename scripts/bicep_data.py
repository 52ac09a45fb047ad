#!/usr/bin/env python3
"""Writes the containers, queues and timers of the code as JSON files, which Bicep loads.

    python3 scripts/bicep_data.py     write infra/bicep/containers.json and infra/bicep/topology.json

The definitions in services/ are the only ones: a test compares the files with them. Standard library only.
"""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from services.store.containers import CONTAINERS, DEFAULT_TTL, Container  # noqa: E402
from services.topology import ARCHIVE_CONTAINER, QUEUES, TIMERS, Timer  # noqa: E402

BICEP = ROOT / "infra" / "bicep"

LEAST_WINDOW = timedelta(minutes=15)
"""The time between two evaluations of a log alert, by default."""

LOGS_ARRIVE_WITHIN = timedelta(minutes=5)


def container(each: Container) -> dict[str, Any]:
    return {
        "id": each.name,
        "partitionKey": {"paths": [f"/{each.partition_key}"], "kind": "Hash", "version": 2},
        "defaultTtl": DEFAULT_TTL,
        "indexingPolicy": each.indexing_policy(),
    }


def timer(each: Timer) -> dict[str, Any]:
    """`silentAfterMinutes` is what an alert looks back over, which fires if two runs in a row did not succeed."""
    patience = max(LEAST_WINDOW, 2 * each.every + LOGS_ARRIVE_WITHIN)
    return {"name": each.name, "schedule": each.schedule, "silentAfterMinutes": patience // timedelta(minutes=1)}


def files() -> dict[str, str]:
    """The texts of the files by name."""
    timers = [timer(each) for each in TIMERS]
    topology = {"archive": ARCHIVE_CONTAINER, "queues": list(QUEUES), "timers": timers}
    contents: dict[str, Any] = {
        "containers.json": [container(each) for each in CONTAINERS.values()],
        "topology.json": topology,
    }
    return {name: json.dumps(content, indent=2) + "\n" for name, content in contents.items()}


if __name__ == "__main__":
    for name, text in files().items():
        (BICEP / name).write_text(text)
