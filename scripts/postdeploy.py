#!/usr/bin/env python3
"""What follows each publish: the smoke test, the comparison of the containers, and the migrations.

    python3 scripts/postdeploy.py <url of the app> <COSMOS_ENDPOINT> <COSMOS_DATABASE>

azure.yaml runs this after `azd deploy`, with the identity of `azd auth login` or `az login`, which needs the operator's
role on the database. A new role takes up to ten minutes to reach Cosmos DB, so a step that gets no answer or is refused
is tried again for that long. Each step may run twice. Standard library only; the first run makes the virtual
environment.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.dev import say, set_up  # noqa: E402

ROLE_ARRIVES_WITHIN_SECONDS = 600.0
NO_ANSWER = 2
"""The exit code of a step whose store did not answer or refused the sign-in. Time mends no other failure."""
PAUSE_SECONDS = 20.0

Execute = Callable[[Sequence[str], Mapping[str, str]], int]


def execute(command: Sequence[str], environment: Mapping[str, str]) -> int:
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=False).returncode


def follow_up(
    python: str,
    url: str,
    endpoint: str,
    database: str,
    run: Execute = execute,
    pause: Callable[[float], None] = time.sleep,
) -> int:
    """Runs the steps in order, and returns the exit code of the first that fails."""
    if code := run([python, "scripts/smoke.py", url], {}):
        return code
    # A local.settings.json of this machine must not name another store.
    store = {"STORE": "cosmos", "COSMOS_ENDPOINT": endpoint, "COSMOS_DATABASE": database, "COSMOS_KEY": ""}
    waited = 0.0
    for script in ("create_cache_container.py", "migrate.py"):
        while code := run([python, f"scripts/{script}"], store):
            if code != NO_ANSWER or waited >= ROLE_ARRIVES_WITHIN_SECONDS:
                return code
            say(f"{script} had no answer; a new role takes up to ten minutes to reach Cosmos DB. Trying again ...")
            pause(PAUSE_SECONDS)
            waited += PAUSE_SECONDS
    return 0


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("url", help="URL of the app, without /api")
    parser.add_argument("endpoint", help="COSMOS_ENDPOINT of the deployment")
    parser.add_argument("database", help="COSMOS_DATABASE of the deployment")
    given = parser.parse_args(argv)
    return follow_up(str(set_up(development=False)), given.url, given.endpoint, given.database)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
