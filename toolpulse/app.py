"""Where the app's own packages are: beside this one in a checkout, inside of it in a wheel.

Their names (models, services, triggers) are those of the app. They are put on the path, before packages of others with
such a name, when a command needs the app itself, and never by a command that talks to a URL.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
PACKED = _HERE / "_app"


def folder() -> Path:
    return PACKED if PACKED.is_dir() else _HERE.parent


def is_checkout() -> bool:
    return not PACKED.is_dir()


def on_path() -> Path:
    """Makes the app's packages importable. Returns their folder."""
    found = folder()
    if str(found) not in sys.path:
        sys.path.insert(0, str(found))
    return found


def version() -> str:
    """Of the app, read from its source: an import would load the app's packages."""
    text = (folder() / "models" / "version.py").read_text(encoding="utf-8")
    found = re.search(r'^VERSION\b.*?"([^"]+)"', text, re.MULTILINE)
    return found[1] if found else "unknown"
