"""Server-sent events, read and written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from bobcat.proxy.message import MAX_BYTES


@dataclass(frozen=True, slots=True)
class SentEvent:
    """One event. `id` is the last one that the stream has named, `retry` the milliseconds before a new connection."""

    data: bytes
    id: str = ""
    retry: int | None = None


async def read_events(chunks: AsyncIterator[bytes]) -> AsyncIterator[SentEvent]:
    """The events of a stream. Raises `ValueError` for an event of more than `MAX_BYTES` bytes."""
    data: list[bytes] = []
    size, id, retry = 0, "", None
    async for line in _lines(chunks):
        if not line:
            if data or retry is not None or id:
                yield SentEvent(b"\n".join(data), id, retry)
            data, size, retry = [], 0, None
            continue
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            size += len(value)
            if size > MAX_BYTES:
                raise ValueError(f"an event has more than {MAX_BYTES} bytes")
            data.append(value)
        elif name == b"id" and b"\0" not in value:
            id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 10:
            retry = int(value)


def event(data: bytes, id: str) -> bytes:
    """The text of an event whose data has no line breaks."""
    return b"id: %s\nevent: message\ndata: %s\n\n" % (id.encode(), data)


def priming(id: str) -> bytes:
    """The text of an event without data, which names a place to continue from."""
    return b"id: %s\ndata:\n\n" % id.encode()


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Lines that end with CR LF, LF or CR."""
    rest = bytearray()
    skip = False
    async for chunk in chunks:
        if skip and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        skip = chunk.endswith(b"\r")
        rest += chunk
        if len(rest) > MAX_BYTES + 16:
            raise ValueError(f"a line has more than {MAX_BYTES} bytes")
        if b"\n" not in chunk and b"\r" not in chunk:
            continue
        *lines, last = bytes(rest).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        rest = bytearray(last)
        for line in lines:
            yield line
