"""Counts the steps that a function takes: the same on every machine, unlike its time."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(work: Callable[[], object], *, of_lines: bool = True) -> int:
    """The calls that `work` makes in this thread, also of functions in C, and the lines that it runs.

    What a function in C does is one step. A quadratic expression shows as a test that does not end (see
    `faulthandler_timeout`), if its text is long: with half a million characters, it would take an hour. Garbage is not
    collected meanwhile: when that is due depends on what ran before, and what listens to it (Hypothesis) takes steps.
    """
    counted = 0

    def trace(_: FrameType, event: str, __: Any) -> Any:
        nonlocal counted
        counted += event == "line"
        return trace

    def profile(_: FrameType, event: str, __: Any) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.gettrace(), sys.getprofile()
    was_collecting = gc.isenabled()
    gc.disable()
    if of_lines:
        sys.settrace(trace)
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before[1])
        sys.settrace(before[0])
        if was_collecting:
            gc.enable()
    return counted


def growth(work: Callable[[int], object], size: int) -> float:
    """How many times as many steps a piece of work takes that is twice as large: 2 if they grow with its size, 4 if
    they grow with its square."""
    work(size)  # what is made once and kept does not count
    return steps(lambda: work(2 * size)) / steps(lambda: work(size))
