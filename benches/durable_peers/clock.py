"""Counts runs of one side. `beside_dbos.py` starts it in the environment of the side; it prints one JSON object."""

from __future__ import annotations

import asyncio
import json
import resource
import time
from collections.abc import Awaitable, Callable

STEPS = 3


async def count(run: Callable[[str], Awaitable[object]], label: str, *, concurrent: int, seconds: float) -> None:
    """Make runs for so many seconds, so many at a time. The first ones are not counted."""
    for number in range(8):
        await run(f"{label}-warm-{number}")
    taken: list[float] = []
    cpu, started = _cpu(), time.perf_counter()
    until = started + seconds

    async def work(worker: int) -> None:
        number = 0
        while (began := time.perf_counter()) < until:
            await run(f"{label}-{worker}-{number}")
            taken.append(time.perf_counter() - began)
            number += 1

    await asyncio.gather(*(work(worker) for worker in range(concurrent)))
    took = time.perf_counter() - started
    figures = {"runs": len(taken), "warm": 8, "seconds": took, "cpu_seconds": _cpu() - cpu}
    print(json.dumps({**figures, "ms_per_step": sum(taken) / len(taken) / STEPS * 1000}))


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
