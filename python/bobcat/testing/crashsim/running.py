"""The simulated worker that is taking a step."""

from __future__ import annotations

import asyncio

from bobcat.testing.crashsim.errors import SimulationError
from bobcat.testing.crashsim.loop import SimLoop


def here() -> SimLoop:
    """Its loop. Raises `SimulationError` outside of one, and `Died` when it is dead."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, SimLoop):
        raise SimulationError("a simulated store is used outside of its simulation")
    loop.check_alive()
    return loop
