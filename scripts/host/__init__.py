"""A local Functions host: runs what the decorators of a Python app declare, for development and tests.

It stands where `func start` stands and behaves as the real host does; docs/adr/0002-local-host.md lists where it does
not. Nothing in services/, triggers/ or models/ knows of it.
"""

from __future__ import annotations


class Refused(Exception):
    """The host does not start: what is wrong, for the person who started it."""
