"""What a simulation raises."""

from __future__ import annotations


class Died(BaseException):
    """The worker is dead. Raised in what is left of it, when it tries to do something."""


class SimulationError(Exception):
    """A scenario cannot be simulated: it is not deterministic, or never ends, or needs the world outside."""


class Unsupported(BaseException):
    """The scenario needs a socket, a process or a thread. No `except Exception` stops it on its way."""
