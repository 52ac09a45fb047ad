"""Changes to what is stored, one module each, named m<number>_<what>.py.

A module has a docstring and `async def run(store, now)`. It may be stopped at any point and run again from the start:
a second run must do no harm, and do nothing where the first one had come to an end. A number is never used twice, and
what has been released is never changed.
"""
