"""Bridge between a crew's threads and the run loop: threads submit tool calls and wait, the run loop answers them.

Independent of CrewAI. One `CrewBridge` belongs to one run of one crew.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from bobcat.adapters.content_parts import with_text_only
from bobcat.adapters.transcript import AssistantTurn, ToolTurn
from bobcat.model.run import FinalAnswer, Message, ToolCall
from bobcat.text.json_text import json_text

ENDED = "the run has ended; the tool was not run"


class BridgeHandle:
    """Connects the tools of one call of `crewai_tools` to the run of their crew."""

    def __init__(self) -> None:
        self.bridge: CrewBridge | None = None

    def attach(self, bridge: CrewBridge) -> None:
        """Send the calls to `bridge` from now on. Raises `ValueError` while another run uses the tools."""
        if self.bridge is not None and self.bridge is not bridge and self.bridge.is_running():
            raise ValueError("the crew's tools are in use by another run; create separate tools for each crew")
        self.bridge = bridge

    # Any: arguments are JSON.
    def call(self, tool: str, args: dict[str, Any]) -> str:
        """Submit a tool call; blocks until there is an answer. Raises `RuntimeError` without a run."""
        if self.bridge is None:
            raise RuntimeError("no CrewAIAgent runs this crew; the tool was not run")
        return self.bridge.call(tool, args)


class CrewBridge:
    """The pending calls, the calls that wait for their answer, and the end of the crew."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._new: list[ToolCall] = []
        self._waiting: dict[str, Future[str]] = {}
        self._recorded: dict[str, list[str]] = {}
        self._end: FinalAnswer | BaseException | None = None
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()

    def is_running(self) -> bool:
        """Return true while a run takes calls from here, or has not ended."""
        return self._loop is not None and not self._closed and self._end is None

    def remember(self, conversation: Sequence[Message]) -> None:
        """Load the answers of an earlier attempt of this run: a repeated call gets its answer without execution."""
        calls: dict[str, str] = {}
        for turn in with_text_only(conversation, "CrewAIAgent"):
            if isinstance(turn, AssistantTurn):
                self._calls += len(turn.calls)
                calls.update((call.call_id, _key(call.tool, call.args)) for call in turn.calls)
            elif isinstance(turn, ToolTurn):
                for answer in turn.answers:
                    key = calls.get(answer.call_id)
                    if key is not None:
                        self._recorded.setdefault(key, []).append(answer.text)

    def call(self, tool: str, args: dict[str, Any]) -> str:
        """Called in a thread of the crew: submit a tool call, and wait for its answer."""
        with self._lock:
            if self._closed:
                raise RuntimeError(ENDED)
            recorded = self._recorded.get(_key(tool, args))
            if recorded:
                return recorded.pop(0)
            call = ToolCall(tool, args, f"crew_{self._calls}")
            self._calls += 1
            self._new.append(call)
            waiting = self._waiting[call.call_id] = Future()
            self._wake_loop()
        return waiting.result()

    def finish(self, end: FinalAnswer | BaseException) -> None:
        """Called in the crew's own thread: record its end."""
        with self._lock:
            self._end = end
            self._wake_loop()

    async def next(self, conversation: Sequence[Message]) -> FinalAnswer | tuple[ToolCall, ...]:
        """Called by the run loop: deliver the answers in `conversation`, and wait for new calls or the end."""
        self._loop = asyncio.get_running_loop()
        self._deliver(conversation)
        try:
            while True:
                with self._lock:
                    self._changed.clear()
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
                await self._changed.wait()
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
            self._wake_loop()
        for one in waiting:
            one.set_exception(RuntimeError(ENDED))

    def _deliver(self, conversation: Sequence[Message]) -> None:
        for message in reversed(conversation):
            if message.role != "tool":
                break
            with self._lock:
                waiting = self._waiting.pop(message.tool_call_id or "", None)
            if waiting is not None:
                waiting.set_result(message.content)

    def _wake_loop(self) -> None:
        """Wake the run loop, if it still exists."""
        if self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._changed.set)


def _key(tool: str, args: dict[str, Any]) -> str:
    return json_text([tool, args])
