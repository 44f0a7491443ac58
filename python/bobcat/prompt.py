"""One line of standard input, awaited without a thread.

A thread in `input()` cannot be ended: after a timeout it lives on, eats the next answer and keeps the process from
exiting. Here the event loop watches the descriptor, and a cancelled wait just stops watching. Bytes are read one at a
time up to the line's end, so that nothing of a later answer is consumed.
"""

from __future__ import annotations

import asyncio
import io
import os
import sys
from typing import TextIO

MAX_LINE_BYTES = 4096
"""A longer line is no answer; it is cut there."""


class InputClosed(Exception):
    """There is no answer to be had: the input is at its end, or cannot be waited for."""


async def read_line(prompt: str) -> str:
    """Show `prompt` and wait for one line of standard input. Raises `InputClosed` when none will come."""
    stream = sys.stdin
    print(prompt, end="", flush=True)
    if stream is None or stream.closed:
        raise InputClosed("standard input is closed")
    try:
        descriptor = stream.fileno()
    except (OSError, io.UnsupportedOperation):
        return _ended(stream.readline())  # a stream in memory: it never blocks
    _drop_typed_ahead(stream, descriptor)
    return _ended(await _watch(descriptor))


async def _watch(descriptor: int) -> str:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[bytes] = loop.create_future()
    line = bytearray()

    def on_readable() -> None:
        try:
            byte = os.read(descriptor, 1)
        except BlockingIOError:
            return
        except OSError:
            byte = b""
        line.extend(byte)
        if (byte in (b"", b"\n") or len(line) >= MAX_LINE_BYTES) and not done.done():
            done.set_result(bytes(line))

    try:
        loop.add_reader(descriptor, on_readable)
    except PermissionError:  # a regular file cannot be watched, and never blocks
        while not done.done():
            on_readable()
        return done.result().decode(errors="replace")
    except NotImplementedError:
        raise InputClosed("this event loop cannot wait for standard input") from None
    try:
        return (await done).decode(errors="replace")
    finally:
        loop.remove_reader(descriptor)


def _drop_typed_ahead(stream: TextIO, descriptor: int) -> None:
    """Forget what was typed before the question was shown: it cannot be an answer to it."""
    if stream.isatty():
        import termios  # only where there are terminals

        termios.tcflush(descriptor, termios.TCIFLUSH)


def _ended(line: str) -> str:
    if not line:
        raise InputClosed("no answer: standard input is at its end")
    return line
