"""Signals of the process, on every platform: handlers of an event loop, and the end of other processes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

END_SIGNALS = ("SIGTERM", "SIGINT")
"""The signals that ask a service to end."""


def on_signals(names: tuple[str, ...], call: Callable[[str], object]) -> None:
    """Call `call` with the name of each of these signals that arrives, in the running event loop.

    A signal that the platform does not have is left out. Must be called in the main thread.
    """
    loop = asyncio.get_running_loop()
    for name in names:
        number = getattr(signal, name, None)
        if number is None:
            continue
        try:
            loop.add_signal_handler(number, call, name)
        except NotImplementedError:  # Windows: the loop wakes up for a handler of the interpreter
            signal.signal(number, _relayed(loop, call, name))


def _relayed(
    loop: asyncio.AbstractEventLoop, call: Callable[[str], object], name: str
) -> Callable[[int, FrameType | None], None]:
    def relay(_: int, __: FrameType | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nothing is left to end
            loop.call_soon_threadsafe(call, name)

    return relay


def end_group(process: asyncio.subprocess.Process, *, kill: bool) -> None:
    """Ask the process group that `process` leads to end, or kill it. Windows has no groups: the process alone ends."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL if kill else signal.SIGTERM)
        elif kill:
            process.kill()
        else:
            process.terminate()
