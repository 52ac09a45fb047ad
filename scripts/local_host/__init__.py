"""A local Functions host: runs what the decorators of a Python app declare, for development and tests.

It stands where `func start` stands and behaves as the real host does; README.md lists where it does not. It knows no
app: a launcher that does passes the app's own parts to command.Command.
"""

from __future__ import annotations


class Refused(Exception):
    """The host does not start. The message says what is wrong, for the person who started it."""
