"""Adapters: the bytes that a source answered with, to raw items. No I/O, no clock: others fetch, and know the time."""
