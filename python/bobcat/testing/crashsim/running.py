"""The simulated worker that is executing a step."""

from __future__ import annotations

import asyncio

from bobcat.testing.crashsim.errors import SimulationError
from bobcat.testing.crashsim.loop import SimLoop


def here() -> SimLoop:
    """Return its loop. Raises `SimulationError` outside of a simulation, and `Died` if the worker is dead."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, SimLoop):
        raise SimulationError("a simulated store is used outside of its simulation")
    loop.check_alive()
    return loop
