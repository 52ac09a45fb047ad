"""The memory that the C library of Linux keeps when it is freed. Other systems lack these calls, or keep less."""

from __future__ import annotations

import asyncio
import ctypes
import os
from typing import Any

_TRIM_THRESHOLD, _MAP_THRESHOLD, _HEAPS = -1, -3, -8
LARGE_BYTES = 512 * 1024

_LIBRARY: Any = ctypes.CDLL(None) if os.name == "posix" else None


def keep_little() -> None:
    """One heap for all threads, and a mapping of its own for each large block, which ends when it is freed. By default
    each thread has a heap, and the limits grow with the largest block that was freed."""
    if hasattr(_LIBRARY, "mallopt"):
        _LIBRARY.mallopt(_HEAPS, 1)
        _LIBRARY.mallopt(_MAP_THRESHOLD, LARGE_BYTES)
        _LIBRARY.mallopt(_TRIM_THRESHOLD, 8 * LARGE_BYTES)


def give_back_soon() -> None:
    """Returns what is free within the heap. In a thread, since it may take 20 milliseconds. Nobody waits for it."""
    if hasattr(_LIBRARY, "malloc_trim"):
        asyncio.get_running_loop().run_in_executor(None, _LIBRARY.malloc_trim, 0)
