"""The count of steps depends on nothing but the work."""

import gc

from tests.steps import steps

SIZE = 3000


def test_a_collection_of_garbage_takes_no_steps() -> None:
    def listens(phase: str, info: object) -> None:
        phase.upper()

    before = gc.get_threshold()
    gc.callbacks.append(listens)
    try:
        counted = []
        for threshold in (before[0], 1):  # 1: with almost every object
            gc.set_threshold(threshold, *before[1:])
            counted.append(steps(lambda: [[each] for each in range(SIZE)]))
    finally:
        gc.callbacks.remove(listens)
        gc.set_threshold(*before)
    assert counted[0] == counted[1]
    assert gc.isenabled()
