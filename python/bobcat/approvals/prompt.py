"""One line of standard input, awaited without a thread.

A thread in `input()` cannot be ended: after a timeout it continues, consumes the next answer and keeps the process from
exiting. Here the event loop watches the descriptor, and a cancelled wait stops watching. Bytes are read one at a time
up to the line's end, so that nothing of a later answer is consumed.

Where `input()` is replaced (a notebook, a test), the replacement is called: standard input is unusable there.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import io
import os
import sys
import threading
from collections.abc import Callable
from typing import TextIO

MAX_LINE_BYTES = 4096
"""Maximum length of a line, where it is cut; a longer line is not a valid answer."""

_INPUT = builtins.input


class InputClosed(Exception):
    """No answer is possible: the input is at its end, or cannot be waited for."""


async def read_line(prompt: str) -> str:
    """Show `prompt` and wait for one line of standard input. Raises `InputClosed` when no line can come."""
    if builtins.input is not _INPUT:
        return await _ask(builtins.input, prompt)
    stream = sys.stdin
    print(prompt, end="", flush=True)
    if stream is None or stream.closed:
        raise InputClosed("standard input is closed")
    try:
        descriptor = stream.fileno()
    except (OSError, io.UnsupportedOperation):
        return _ended(_read(stream))  # a stream in memory: it never blocks
    _drop_typed_ahead(stream, descriptor)
    return _ended(await _watch_descriptor(descriptor))


async def _ask(read: Callable[[str], str], prompt: str) -> str:
    """Await a blocking function in a daemon thread. A late answer is dropped."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[str] = loop.create_future()

    def settle(answer: str, problem: str) -> None:
        if done.done():
            return
        if problem:
            done.set_exception(InputClosed(problem))
        else:
            done.set_result(answer)

    def ask() -> None:
        answer, problem = "", ""
        try:
            answer = str(read(prompt))
        except EOFError:
            problem = "no answer: standard input is at its end"
        except BaseException as error:  # nothing else reports the exception of a thread
            problem = f"no answer: `input()` raised {type(error).__name__}: {error}"
        with contextlib.suppress(RuntimeError):  # the loop is closed: no waiter is left
            loop.call_soon_threadsafe(settle, answer, problem)

    threading.Thread(target=ask, name="bobcat-prompt", daemon=True).start()
    return await done


async def _watch_descriptor(descriptor: int) -> str:
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
    """Discard input typed before the question was shown: it cannot be an answer to it."""
    if stream.isatty():
        import termios  # only on systems with terminals

        termios.tcflush(descriptor, termios.TCIFLUSH)


def _read(stream: TextIO) -> str:
    try:
        return stream.readline()
    except OSError as error:
        raise InputClosed(f"standard input cannot be read: {error}") from error


def _ended(line: str) -> str:
    if not line:
        raise InputClosed("no answer: standard input is at its end")
    return line
