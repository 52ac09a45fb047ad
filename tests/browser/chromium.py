"""The browser of the tests: Chromium of the system, driven by Playwright, which downloads none; and axe-core from npm.

TOOLPULSE_CHROMIUM names another browser of this family. Without one the browser tests are not collected, as pytest's
header says; TOOLPULSE_REQUIRE_BROWSER=1 makes that an error.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
AXE = FOLDER / "node_modules" / "axe-core" / "axe.min.js"
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "microsoft-edge")
# In a container without user namespaces Chromium has no sandbox; the tests open pages of this machine only.
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking", "--force-color-profile=srgb"]


def executable() -> str | None:
    named = os.environ.get("TOOLPULSE_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


def lacking() -> list[str]:
    """What is to be installed before the tests can run, and how."""
    found = []
    if executable() is None:
        found.append("Chromium (on Debian and Ubuntu: apt install chromium)")
    if not AXE.exists():
        found.append("axe-core (`npm ci` in tests/browser, which scripts/dev.py does if there is npm)")
    if importlib.util.find_spec("playwright") is None:
        found.append("Playwright (pip install -r requirements-dev.txt)")
    return found


def available() -> bool:
    missing = lacking()
    if missing and os.environ.get("TOOLPULSE_REQUIRE_BROWSER") == "1":
        raise RuntimeError(f"TOOLPULSE_REQUIRE_BROWSER=1, but these are missing: {'; '.join(missing)}")
    return not missing


def notice() -> str:
    if not available():
        return f"browser: its tests are left out without {'; '.join(lacking())}"
    return f"browser: {executable()}"
