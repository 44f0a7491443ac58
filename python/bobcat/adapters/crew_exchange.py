"""Where a crew's threads meet the run loop: they leave tool calls and wait, it takes them away and brings the answers.

Knows no CrewAI. One `Exchange` belongs to one run of one crew.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from bobcat.adapters.transcript import Answered, Replied, turns
from bobcat.model import FinalAnswer, Message, ToolCall
from bobcat.plain_json import json_text

ENDED = "the run has ended; the tool was not run"


class Link:
    """Ties the tools made by one call of `crewai_tools` to whoever runs their crew."""

    def __init__(self) -> None:
        self.exchange: Exchange | None = None

    def tie(self, exchange: Exchange) -> None:
        """Send the calls to `exchange` from now on. Raises `ValueError` while another run needs them."""
        if self.exchange is not None and self.exchange is not exchange and self.exchange.is_running():
            raise ValueError("the crew's tools are in use by another run; make tools for each crew that runs")
        self.exchange = exchange

    # Any: arguments are what JSON can hold.
    def ask(self, tool: str, args: dict[str, Any]) -> str:
        """Have a tool called; blocks until there is an answer. Raises `RuntimeError` when no run wants to know."""
        if self.exchange is None:
            raise RuntimeError("no CrewAIAgent runs this crew; the tool was not run")
        return self.exchange.ask(tool, args)


class _Waiting:
    """A call whose thread is blocked on `answered`."""

    def __init__(self, call: ToolCall) -> None:
        self.call = call
        self.answered = threading.Event()
        self.answer: str | None = None


class Exchange:
    """The calls that wait to be taken, the calls that wait for their answer, and the end of it all."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._new: list[ToolCall] = []
        self._waiting: dict[str, _Waiting] = {}
        self._recorded: dict[str, list[str]] = {}
        self._end: FinalAnswer | BaseException | None = None
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()

    def is_running(self) -> bool:
        """Whether a run takes calls from here, or has not ended yet."""
        return self._loop is not None and not self._closed and self._end is None

    def remember(self, conversation: Sequence[Message]) -> None:
        """Take the answers of an earlier attempt of this run: a call made again gets them, and is not made again."""
        calls: dict[str, str] = {}
        for turn in turns(conversation):
            if isinstance(turn, Replied):
                self._calls += len(turn.calls)
                calls.update((call.call_id, _key(call.tool, call.args)) for call in turn.calls)
            elif isinstance(turn, Answered):
                for answer in turn.answers:
                    key = calls.get(answer.call_id)
                    if key is not None:
                        self._recorded.setdefault(key, []).append(answer.text)

    def ask(self, tool: str, args: dict[str, Any]) -> str:
        """From a thread of the crew: have a tool called, and wait for its answer."""
        with self._lock:
            if self._closed:
                raise RuntimeError(ENDED)
            recorded = self._recorded.get(_key(tool, args))
            if recorded:
                return recorded.pop(0)
            waiting = _Waiting(ToolCall(tool, args, f"crew_{self._calls}"))
            self._calls += 1
            self._new.append(waiting.call)
            self._waiting[waiting.call.call_id] = waiting
            self._tell()
        waiting.answered.wait()
        if waiting.answer is None:
            raise RuntimeError(ENDED)
        return waiting.answer

    def finish(self, end: FinalAnswer | BaseException) -> None:
        """From the crew's own thread: how it ended."""
        with self._lock:
            self._end = end
            self._tell()

    async def next(self, conversation: Sequence[Message]) -> FinalAnswer | tuple[ToolCall, ...]:
        """From the run loop: bring the answers in `conversation`, and wait for new calls or the end."""
        self._loop = asyncio.get_running_loop()
        self._deliver(conversation)
        try:
            while True:
                with self._lock:
                    self._news.clear()
                    calls, self._new = tuple(self._new), []
                    end = self._end
                    if calls:
                        return calls
                    if self._closed:
                        raise RuntimeError("the agent was closed while its crew was running")
                if isinstance(end, FinalAnswer):
                    return end
                if end is not None:
                    raise (
                        end if isinstance(end, Exception) else RuntimeError(f"the crew ended with {type(end).__name__}")
                    )
                await self._news.wait()
        except asyncio.CancelledError:
            self.close()
            raise

    def close(self) -> None:
        """Refuse every call, waiting ones included."""
        with self._lock:
            self._closed = self._end is None
            waiting = list(self._waiting.values())
            self._waiting.clear()
            self._new.clear()
            self._tell()
        for one in waiting:
            one.answered.set()

    def _deliver(self, conversation: Sequence[Message]) -> None:
        for message in reversed(conversation):
            if message.role != "tool":
                break
            with self._lock:
                waiting = self._waiting.pop(message.tool_call_id or "", None)
            if waiting is not None:
                waiting.answer = message.content
                waiting.answered.set()

    def _tell(self) -> None:
        """Wake the run loop. It may be gone: then nobody needs waking."""
        if self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._news.set)


def _key(tool: str, args: dict[str, Any]) -> str:
    return json_text([tool, args])
