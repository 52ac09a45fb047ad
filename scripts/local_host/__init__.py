"""A local Functions host: runs what the decorators of a Python app declare, for development and tests.

It takes the place of `func start` and behaves as the real host does; README.md lists the differences. It knows no app:
a launcher that knows one passes the app's own parts to command.Command.
"""

from __future__ import annotations


class Refused(Exception):
    """The host does not start. The message is for the person who started it, and names the fault."""
