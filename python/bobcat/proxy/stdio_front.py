"""The proxy as an MCP server on standard input and output: one message a line, one client."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from bobcat.aio.signals import END_SIGNALS, on_signals
from bobcat.proxy.message import INVALID_REQUEST, MAX_BYTES, PARSE_ERROR, Id, Message, MessageError, error
from bobcat.proxy.notes import note
from bobcat.proxy.session import Session, Settings

Write = Callable[[bytes], Awaitable[None]]


async def serve_stdio(settings: Settings) -> int:
    """Serve until the input ends, a signal, or the end of the server. Returns the exit code.

    Raises `UpstreamError` for a server that cannot be started.
    """
    loop = asyncio.get_running_loop()
    over: asyncio.Future[Any] = loop.create_future()
    in_time = True

    def end(code: int) -> None:
        if not over.done():
            over.set_result(code)

    def signalled(_: str) -> None:
        nonlocal in_time
        in_time = False
        end(0)

    on_signals((*END_SIGNALS, "SIGHUP"), signalled)
    writer: asyncio.Future[Write] = loop.create_future()

    async def deliver(message: Message, _: Id | None) -> None:
        write = await writer
        with contextlib.suppress(OSError):  # a client that has gone closes the input, too
            await write(message.encode() + b"\n")

    session = Session(settings, deliver, lambda _: end(1))
    try:
        await session.start()
        writer.set_result(await _writer())
        reader = await _reader()
        reading: asyncio.Future[Any] = asyncio.create_task(_read(reader, session, deliver))
        await asyncio.wait({over, reading}, return_when=asyncio.FIRST_COMPLETED)
        if not over.done():
            end(0 if reading.exception() is None else 1)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        if in_time:
            await session.settle()
    finally:
        await session.aclose()
    return int(over.result())


async def _read(
    reader: asyncio.StreamReader, session: Session, deliver: Callable[[Message, Id | None], Awaitable[None]]
) -> None:
    while True:
        try:
            line = await reader.readline()
        except ValueError:
            note(f"the client sent a message of more than {MAX_BYTES} bytes")
            raise
        if not line:
            return
        if not line.strip():
            continue
        try:
            message = Message.parse(line)
        except MessageError as problem:
            code = INVALID_REQUEST if line.lstrip().startswith((b"{", b"[")) else PARSE_ERROR
            await deliver(error(None, code, str(problem)), None)
            continue
        await session.receive(message)


async def _reader() -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=MAX_BYTES)
    if sys.platform == "win32":  # whose event loop reads no standard input
        threading.Thread(target=_feed, args=(reader, asyncio.get_running_loop()), daemon=True).start()
        return reader
    try:
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer
        )
    except ValueError:  # a regular file, which never blocks
        reader.feed_data(sys.stdin.buffer.read())
        reader.feed_eof()
    return reader


def _feed(reader: asyncio.StreamReader, loop: asyncio.AbstractEventLoop) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed
        while data := os.read(sys.stdin.fileno(), 65536):
            loop.call_soon_threadsafe(reader.feed_data, data)
        loop.call_soon_threadsafe(reader.feed_eof)


async def _writer() -> Write:
    if sys.platform == "win32":
        return _write_blocking
    loop = asyncio.get_running_loop()
    try:
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout.buffer)
    except ValueError:  # a regular file
        return _write_blocking
    writer = asyncio.StreamWriter(transport, protocol, None, loop)

    async def write(data: bytes) -> None:
        writer.write(data)
        await writer.drain()

    return write


async def _write_blocking(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
