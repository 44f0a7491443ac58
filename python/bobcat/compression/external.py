"""A compressor that pipes a text through another program."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from math import isfinite

from bobcat.aio.signals import end_group
from bobcat.compression.protocol import Compressor
from bobcat.logs import logger
from bobcat.model.decision import ActionRequest
from bobcat.model.run import ActionResult, ToolDef

log = logger("compression")


def external_filter_compressor(argv: Sequence[str], *, timeout_seconds: float = 10.0) -> Compressor:
    """Create a compressor that runs `argv` with the text as its input, and takes its output.

    The text stays as it is when the program is missing, fails, takes longer than `timeout_seconds`, or gives no shorter
    text; a warning is logged for the first three. The program has a process group of its own, which ends with it.
    Raises `ValueError` for an empty command line and for a timeout that is not positive.
    """
    if isinstance(argv, str):
        raise TypeError(f"argv must be a sequence of strings, got the string {argv!r}")
    if not argv:
        raise ValueError("argv must be non-empty")
    if not (timeout_seconds > 0 and isfinite(timeout_seconds)):
        raise ValueError(f"timeout_seconds must be positive and finite, got {timeout_seconds!r}")
    command = tuple(argv)

    async def compressor(result: ActionResult, request: ActionRequest, tool: ToolDef) -> ActionResult:
        text = result.value
        if not result.ok or not isinstance(text, str) or not text:
            return result
        output = await _filtered(command, text, timeout_seconds)
        return result if output is None or len(output) >= len(text) else replace(result, value=output)

    return compressor


async def _filtered(command: tuple[str, ...], text: str, seconds: float) -> str | None:
    try:
        started = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=asyncio.subprocess.DEVNULL, start_new_session=True
        )
    except (OSError, ValueError) as error:
        log.warning("the filter %s cannot start: %s", command[0], error)
        return None
    limit = len(text.encode("utf-8", "replace"))
    try:
        async with asyncio.timeout(seconds):
            output = await _exchange(started, text, limit)
            code = await started.wait() if output is not None else None
    except TimeoutError:
        log.warning("the filter %s took longer than %ss", command[0], seconds)
        return None
    finally:
        await _end(started)
    if output is None:
        return None
    if code != 0:
        log.warning("the filter %s failed with the code %s", command[0], code)
        return None
    return output.decode(errors="replace")


async def _exchange(process: Process, text: str, limit: int) -> bytes | None:
    """Write the text and read the output meanwhile; None for an output above `limit` bytes, which is no shorter."""
    assert process.stdin is not None
    assert process.stdout is not None
    writing = asyncio.create_task(_write(process.stdin, text.encode("utf-8", "replace")))
    output = bytearray()
    try:
        while part := await process.stdout.read(65536):
            output += part
            if len(output) > limit:
                return None
    finally:
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing
    return bytes(output)


async def _write(stream: asyncio.StreamWriter, data: bytes) -> None:
    with suppress(ConnectionError):  # a filter need not read all its input
        stream.write(data)
        await stream.drain()
    stream.close()


async def _end(process: Process) -> None:
    """Kill the process group, and reap the program."""
    end_group(process, kill=True)
    if process.returncode is None:
        await asyncio.shield(process.wait())
