"""Fetching over HTTP: pure rules, and one adapter (transport) that connects."""

import sys

# httpx imports its command line where it finds click and rich, as dev.py run installs them: 80 modules, 5 MB.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
