"""LiteLLM: a proxy that decides and runs no tool: the case table has no mode for it.

`test_litellm.py` runs the real proxy.
"""

from __future__ import annotations

from collections.abc import Sequence

from doors.adapter import Observed, Setup

PREFIX = ""
INTERRUPTS = False
MODES: Sequence[tuple[str, str]] = []


async def run(setup: Setup) -> Observed:
    """Fail: the client of a proxy runs the tools."""
    raise NotImplementedError


def run_sync(setup: Setup) -> Observed:
    """Fail likewise."""
    raise NotImplementedError
