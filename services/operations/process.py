"""What this process takes of its machine, and how it is told to go about that."""

from __future__ import annotations

import gc
import os
import resource
import sys
from pathlib import Path

_STATM = Path("/proc/self/statm")


def collect_garbage_seldom() -> None:
    """Documents are trees, and gone with their last reference; looking for cycles after every 700 new objects, as
    Python does by itself, was a tenth of what ingestion costs."""
    gc.set_threshold(20_000, 20, 50)


def resident_bytes() -> int:
    """Resident memory; where the system does not say, the most it ever was."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
