"""Exceptions of a simulation."""

from __future__ import annotations


class Died(BaseException):
    """The worker is dead. Raised in its remaining code if that tries to act."""


class SimulationError(Exception):
    """The scenario cannot be simulated: it is not deterministic, never ends, or needs the outside world."""


class Unsupported(BaseException):
    """The scenario needs a socket, a process or a thread. `except Exception` does not catch it."""
