#!/usr/bin/env python3
"""Waits until the app's new roles have reached its storage account, since the upload of the package needs them.

    python3 scripts/wait_for_roles.py <STORAGE_ROLES_CREATED_ON of the deployment>

azure.yaml runs this before `azd deploy`. Azure takes some minutes to apply a new role, and refuses the upload with 403
until then. Only the first deployment waits. Standard library only.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta

ROLES_ARRIVE_WITHIN = timedelta(minutes=5)


def still_to_wait(created_on: str, now: datetime) -> timedelta:
    """Nothing for a deployment that does not say when its roles were created."""
    if not created_on:
        return timedelta()
    created = datetime.fromisoformat(created_on)
    return min(max(created + ROLES_ARRIVE_WITHIN - now, timedelta()), ROLES_ARRIVE_WITHIN)


def main(argv: list[str]) -> int:
    seconds = still_to_wait("".join(argv[:1]), datetime.now(UTC)).total_seconds()
    if seconds:
        print(f"Waiting {seconds:.0f} s for the app's new roles to reach its storage account ...", flush=True)
        time.sleep(seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
