"""Changes to stored documents: one module for each, m<number>_<name>.py, and one entry in runner.MIGRATIONS.

A migration is `async def run(store, now)`. It may be stopped at any point and is then run again from the start, so that
a second run must do no harm. A number is never used twice, and a released migration is never changed.
"""
