"""Streamed replies, for every vendor: their calls, their end, and the errors of a connection that breaks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from types import MappingProxyType
from typing import Any, TypeVar

from bobcat.errors import IncompleteReply
from bobcat.model.deltas import CallDelta, Delta, TextDelta, ThinkingDelta
from bobcat.text.display import safe_text

T = TypeVar("T")

NO_ARGUMENTS: Mapping[int, str] = MappingProxyType({})
"""The streamed arguments of a reply that was not streamed."""

_BROKEN = frozenset({"TransportError", "APIConnectionError", "MidStreamFallbackError"})
"""Base classes of the errors of a broken stream: those of httpx and its successors, of the SDKs, and of LiteLLM."""


class StreamedCall:
    """A call of a streamed reply; `text` is the part of its arguments that has arrived."""

    __slots__ = ("_parts", "call_id", "tool")

    def __init__(self, call_id: str, tool: str) -> None:
        self.call_id = call_id
        self.tool = tool
        self._parts: list[str] = []

    @property
    def text(self) -> str:
        """The arguments, as JSON."""
        return "".join(self._parts)

    def add(self, part: str) -> CallDelta:
        """Add a part of the arguments; return its delta."""
        self._parts.append(part)
        return CallDelta(self.call_id, self.tool, part)


class StreamCutOff(IncompleteReply):
    """A stream that ends early: the connection broke, or the server gave up."""


def cut_off(detail: str = "") -> StreamCutOff:
    """The error of a stream that ends early."""
    text = "the stream of the model's reply ended before the reply was complete"
    return StreamCutOff(f"{text}: {detail}" if detail else text, "reply_cut_off")


@contextmanager
def reading() -> Iterator[None]:
    """Turn the error of a connection that breaks amid a reply into `IncompleteReply`."""
    try:
        yield
    except Exception as error:
        if _BROKEN.isdisjoint(base.__name__ for base in type(error).__mro__):
            raise
        raise cut_off(safe_text(f"{type(error).__name__}: {error}")) from error


@asynccontextmanager
async def closing(stream: Any) -> AsyncIterator[Any]:  # Any: a stream of whatever SDK
    """A stream that is closed at the end, where it can be."""
    try:
        yield stream
    finally:
        close = getattr(stream, "close", None) or getattr(stream, "aclose", None)
        closed = None if close is None else close()
        if isinstance(closed, Awaitable):
            await closed


async def last_of(items: AsyncIterator[Delta | T]) -> T:
    """The reply at the end of a stream, which is read to its end. Raises `IncompleteReply` without one."""
    replies = [item async for item in items if not isinstance(item, (TextDelta, ThinkingDelta, CallDelta))]
    if not replies:
        raise cut_off()
    return replies[-1]
