"""One client of the HTTP front: its session, and the streams of events on which its messages go out."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator

from bobcat.proxy.message import Id, Message
from bobcat.proxy.notes import note
from bobcat.proxy.session import Session, Settings
from bobcat.proxy.sse import event, priming

KEPT_EVENTS = 1_000
KEPT_BYTES = 16 * 1024 * 1024
"""Events that a client can get again after a lost connection, for all streams of a session together."""
KEEPALIVE_SECONDS = 15.0
STANDALONE = 0
"""Number of the stream that belongs to no request."""
_COMMENT = b": keep\n\n"


class Stream:
    """The events of one stream that wait to be sent; None is its end."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.queue: asyncio.Queue[tuple[str, bytes] | None] = asyncio.Queue(KEPT_EVENTS)
        self.count = 0


class HttpClient:
    """A session over HTTP. `owner` is the `Authorization` header that began it, which all its requests must have."""

    def __init__(self, settings: Settings, owner: str | None) -> None:
        self.session = Session(settings, self._deliver, self._end)
        self.owner = owner
        self.used = time.monotonic()
        self.over: str | None = None
        """The reason why the session has ended, if it has."""
        self._standalone = Stream(STANDALONE)
        self._streams: dict[Id, Stream] = {}
        self._live: dict[int, Stream] = {STANDALONE: self._standalone}
        self._reading: set[int] = set()
        self._sent: deque[tuple[int, int, bytes]] = deque()
        self._bytes = 0
        self._number = STANDALONE

    def expects(self, id: Id) -> bool:
        """Return true if a request of this id is being answered."""
        return id in self._streams

    def open(self, id: Id) -> Stream:
        """The stream of a new request."""
        self._number += 1
        stream = self._streams[id] = self._live[self._number] = Stream(self._number)
        return stream

    def standalone(self) -> Stream | None:
        """The stream that belongs to no request; None while another connection reads it."""
        return None if STANDALONE in self._reading else self._standalone

    def continued(self, last: str) -> tuple[list[bytes], Stream | None] | None:
        """The events after `last`, and the stream if it goes on. None for an id that is no event of this session."""
        stream, dash, count = last.partition("-")
        if not dash or not (stream.isdecimal() and count.isdecimal()) or len(last) > 40:
            return None
        number, after = int(stream), int(count)
        if number > self._number:
            return None
        events = [event(data, f"{number}-{at}") for each, at, data in self._sent if each == number and at > after]
        return events, self._live.get(number)

    async def answer(self, stream: Stream) -> Message:
        """The answer on the stream of a request, for a client that takes no events."""
        found: tuple[str, bytes] | None = None
        while (item := await stream.queue.get()) is not None:
            found = item
        self._live.pop(stream.number, None)
        assert found is not None
        return Message.parse(found[1])

    async def events(self, stream: Stream | None, before: list[bytes], *, primed: bool) -> AsyncIterator[bytes]:
        """The text of the events of a stream, until it ends."""
        for text in before:
            yield text
        if stream is None:
            return
        if primed:
            yield priming(f"{stream.number}-{stream.count}")
        self._reading.add(stream.number)
        try:
            while True:
                try:
                    async with asyncio.timeout(KEEPALIVE_SECONDS):
                        item = await stream.queue.get()
                except TimeoutError:
                    self.used = time.monotonic()
                    yield _COMMENT
                    continue
                if item is None:
                    self._live.pop(stream.number, None)
                    return
                yield event(item[1], item[0])
        finally:
            self._reading.discard(stream.number)

    async def aclose(self) -> None:
        """End the session and its streams."""
        self.over = self.over or "the session was ended"
        await self.session.aclose()
        for stream in list(self._live.values()):
            _put(stream, None)

    async def _deliver(self, message: Message, related: Id | None) -> None:
        is_answer = message.method is None
        stream = self._streams.pop(related, None) if is_answer and related is not None else None
        if stream is None:
            stream = self._streams.get(related, self._standalone) if related is not None else self._standalone
        stream.count += 1
        data = message.encode()
        self._keep(stream.number, stream.count, data)
        _put(stream, (f"{stream.number}-{stream.count}", data))
        if is_answer and stream is not self._standalone:
            _put(stream, None)

    def _keep(self, number: int, count: int, data: bytes) -> None:
        self._sent.append((number, count, data))
        self._bytes += len(data)
        while len(self._sent) > KEPT_EVENTS or self._bytes > KEPT_BYTES:
            self._bytes -= len(self._sent.popleft()[2])

    def _end(self, reason: str) -> None:
        self.over = reason


def _put(stream: Stream, item: tuple[str, bytes] | None) -> None:
    """Queue an event. Of a stream without a reader the oldest one is dropped."""
    if stream.queue.full():
        stream.queue.get_nowait()
        note(f"stream {stream.number} is not read; an event was dropped")
    stream.queue.put_nowait(item)
